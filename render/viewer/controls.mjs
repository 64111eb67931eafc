// SPDX-License-Identifier: BSD-2-Clause
// The search field, buttons and lists of a picture.
import { blameWords } from "./blame.mjs";
import { element } from "./page.mjs";

const button = (text, title, properties = {}) => element("button", { type: "button", title, ...properties }, text);

// A list with its label before it: `made.parentElement`.
function choice(text, title, options) {
  const select = element("select", { title },
    ...options.map(([value, shown, more]) => element("option", { value, title: more ?? "" }, shown)));
  element("label", { className: "mf-pick", hidden: options.length < 2 }, element("span", {}, text), select);
  return select;
}

// tabs, map, crumbs: elements that have a place among the controls.
export function makeControls(host, { measures, inOrderOfTime, blame, boxes, unnamed, runtime, tabs, map, crumbs }) {
  const made = {
    back: button("Back", "Go back one step (Esc)"),
    reset: button("Reset zoom", "Show everything again (0)"),
    restore: button("Restore", "Show what is hidden, leave the focus (r)"),
    leak: button("Go to leak", "Zoom to the next leak (l)"),
    marks: button("Leaks", "Show or hide the marks of leaks (L)", { "aria-pressed": "true" }),
    table: button("Table beside", "Functions and their figures, beside the boxes (t)", { "aria-pressed": "false", className: "mf-beside-switch" }),
    help: button("?", "Keys and clicks (?)", { "aria-label": "help" }),
    search: element("input", {
      type: "search", placeholder: "Search (regular expression)", spellcheck: false,
      title: "Find frames by regular expression (/)", "aria-label": "search for frames by regular expression",
    }),
    sameCase: button("Aa", "Match case (c)", { "aria-label": "match case", "aria-pressed": "false" }),
    previous: button("‹", "Previous match (N)", { "aria-label": "previous match" }),
    next: button("›", "The next match (n)", { "aria-label": "the next match" }),
    matched: element("span", { className: "mf-matched", role: "status" }),
    more: button("Options", "Widths, order, names", { "aria-expanded": "false" }),
    measure: choice("Width", "What widths mean (m)", measures.map(({ id, label }) => [id, label, id])),
    order: choice("Order", "Order of neighbours (o)", inOrderOfTime ? [] : [["name", "by name"], ["width", "by width"]]),
    cut: choice("Names", "Where long names are cut (e)", [["right", "name…"], ["middle", "na…me"], ["left", "…name"]]),
    hits: choice("Matches", "Which match is the next one (x)", [["", "largest first"], ["place", "from the root"]]),
    blame: choice("Blame", "Where the figures of an allocation are (b)", blame ? blameWords : []),
    boxes: choice("Boxes", "What boxes are (B)", ["", ...boxes].map((one) => [one, one || "functions"])),
    unknown: button("Symbols only", "Hide functions without a symbol (u)", { "aria-pressed": "false", className: "mf-option", hidden: !unnamed }),
    runtime: button("Interpreter folded", "Draw what an interpreter does between two functions of its language as one box (p)", { "aria-pressed": "true", className: "mf-option", hidden: !runtime }),
    info: element("div", { className: "mf-info" }),
    live: element("div", { className: "mf-unseen", role: "status" }),
  };
  const { back, reset, restore, leak, marks, table, help, info, live, search, sameCase, previous, next, matched, more, hits, unknown, runtime: folded, ...lists } = made;
  host.append(
    element("div", { className: "mf-line mf-top" }, tabs, map, element("span", { className: "mf-gap" }), back, reset, restore, leak, marks, table, help),
    element("div", { className: "mf-line mf-tools", role: "toolbar", "aria-label": "picture" },
      search, sameCase, previous, next, hits.parentElement, matched, more, ...Object.values(lists).map((list) => list.parentElement), unknown, folded),
    crumbs,
    element("div", { className: "mf-line mf-told" }, info, live));
  more.addEventListener("click", () => more.setAttribute("aria-expanded", String(host.classList.toggle("mf-open"))));
  return made;
}

// Figures first: names may be long.
export function tell(info, name, lines) {
  info.replaceChildren(lines.join(" · ") + (name ? "  " : ""), element("b", {}, name));
}

// A box of text beside the pointer.
export class Tip {
  constructor(host) {
    this.element = element("div", { className: "mf-tip", hidden: true, "aria-hidden": "true" });
    host.append(this.element);
  }

  show(event, name, lines) {
    const { element: tip } = this;
    tip.replaceChildren(element("b", {}, name), ...lines.map((line) => element("div", {}, line)));
    tip.hidden = false;
    const edge = tip.offsetParent?.getBoundingClientRect() || { left: 0, top: 0 };
    const x = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 18 + tip.offsetHeight < window.innerHeight;
    const y = below ? event.clientY + 18 : event.clientY - tip.offsetHeight - 10;
    tip.style.left = `${Math.max(4, x) - edge.left}px`;
    tip.style.top = `${Math.max(4, y) - edge.top}px`;
  }

  hide() { this.element.hidden = true; }
}

// A list of things that can be done with a box: rows of [text, key, action].
export class Menu {
  constructor(host) {
    this.element = element("div", { className: "mf-menu", role: "menu", hidden: true });
    host.append(this.element);
    this.element.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("pointerdown", (event) => {
      if (!this.element.contains(event.target)) this.hide();
    });
  }

  show(x, y, title, rows, leave) {
    this.leave = leave;
    const { element: menu } = this;
    menu.setAttribute("aria-label", title);
    menu.replaceChildren(...rows.map(([text, key, action]) => {
      const row = element("button", { type: "button", role: "menuitem" },
        element("span", {}, text), element("kbd", { "aria-hidden": "true" }, key));
      row.addEventListener("click", () => {
        this.hide();
        action();
      });
      return row;
    }));
    menu.hidden = false;
    const edge = menu.offsetParent?.getBoundingClientRect() || { left: 0, top: 0 };
    menu.style.left = `${Math.max(4, Math.min(x, window.innerWidth - menu.offsetWidth - 8)) - edge.left}px`;
    menu.style.top = `${Math.max(4, Math.min(y, window.innerHeight - menu.offsetHeight - 8)) - edge.top}px`;
    menu.firstChild.focus();
  }

  key(event) {
    const rows = Array.from(this.element.children), at = rows.indexOf(document.activeElement);
    if (event.key === "Escape") this.hide();
    else if (event.key === "ArrowDown") rows[(at + 1) % rows.length].focus();
    else if (event.key === "ArrowUp") rows[(at + rows.length - 1) % rows.length].focus();
    else if (event.key !== "Tab") return event.stopPropagation();
    else this.hide();
    event.preventDefault();
    event.stopPropagation();
  }

  hide() {
    if (this.element.hidden) return;
    this.element.hidden = true;
    this.leave?.();
  }
}
