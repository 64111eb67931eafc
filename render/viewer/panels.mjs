// What opens beside or above the boxes: the table of functions, help, text to be copied by hand.
import { element } from "./page.mjs";
import { percent } from "./format.mjs";
import { functionsOf, orders } from "./functions.mjs";

function panel(host, className, title, close) {
  const made = element("section", { className: `mf-panel ${className}`, "aria-label": title, hidden: true });
  const button = element("button", { type: "button", title: "Close (Esc)", "aria-label": `close ${title}` }, "✕");
  button.addEventListener("click", close);
  const body = element("div", { className: "mf-body" });
  made.append(element("header", {}, element("h2", {}, title), button), body);
  made.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (event.key !== "Tab") event.stopPropagation();
  });
  host.append(made);
  return { element: made, body, button };
}

const heads = [["name", "Function"], ["own", "Self"], ["total", "Total"]];
const shownRows = 500;

// Functions with their figures; a click on one shows its callers and callees.
export class Table {
  constructor(host, { close, choose }) {
    Object.assign(this, panel(host, "mf-table", "Functions", close));
    this.choose = choose;
    this.order = "total";
    this.filter = element("input", {
      type: "search", placeholder: "Filter", "aria-label": "filter functions", spellcheck: false });
    this.filter.addEventListener("input", () => this.fill());
    this.rows = element("tbody");
    this.heads = new Map(heads.map(([id, text]) => {
      const sort = element("button", { type: "button" }, text);
      sort.addEventListener("click", () => { this.order = id; this.fill(); });
      return [id, element("th", { scope: "col" }, sort)];
    }));
    this.more = element("p", { className: "mf-more" });
    this.body.append(this.filter, element("table", {},
      element("thead", {}, element("tr", {}, ...this.heads.values())), this.rows), this.more);
  }

  show(look) {
    this.look = look;
    this.element.hidden = false;
    this.all = functionsOf(look.tree, look.measure, look.hidden);
    this.fill();
  }

  hide() { this.element.hidden = true; }

  fill() {
    const { tree, measure } = this.look, wanted = this.filter.value.toLowerCase();
    const rows = this.all.filter(({ frame }) => tree.frames.name[frame].toLowerCase().includes(wanted))
      .sort(orders[this.order](tree));
    for (const [id, head] of this.heads)
      head.setAttribute("aria-sort", id !== this.order ? "none" : id === "name" ? "ascending" : "descending");
    const all = measure.total[0], figure = (n) => element("td", {}, measure.brief(n), element("small", {}, ` ${percent(n, all)}`));
    this.rows.replaceChildren(...rows.slice(0, shownRows).map(({ frame, own, total }) => {
      const name = element("button", { type: "button", title: tree.frames.name[frame] }, tree.frames.name[frame] || "(no name)");
      name.addEventListener("click", () => this.choose(frame));
      return element("tr", {}, element("th", { scope: "row" }, name), figure(own), figure(total));
    }));
    this.more.textContent = rows.length > shownRows ? `${shownRows} of ${rows.length} functions; filter to see others` : "";
  }
}

export const keys = [
  ["Click, Enter", "zoom into a box; a caller around it zooms out"],
  ["Right click, long touch, Space", "what else can be done with a box"],
  ["Arrow keys", "go to callers, callees and neighbours"],
  ["Esc", "back one step"], ["0", "show everything"], ["/", "search"], ["n, N", "next and previous match"],
  ["c", "capital letters matter in searches"], ["m", "other figures as widths"],
  ["v", "callers on top: what reaches the last functions of stacks"],
  ["s", "callers and callees of the function"], ["h", "hide the function"], ["f", "only what is below the function"],
  ["r", "restore what was hidden"], ["o", "order by name or by width"], ["i", "turn upside down"],
  ["t", "table of functions"], ["y, Y", "copy the stack, or everything below as folded text"], ["?", "this list"],
];

export class Help {
  constructor(host, close) {
    Object.assign(this, panel(host, "mf-help", "Keys and clicks", close));
    this.body.append(element("dl", {}, ...keys.flatMap(([key, text]) =>
      [element("dt", {}, key), element("dd", {}, text)])));
  }

  show() {
    this.element.hidden = false;
    this.button.focus();
  }

  hide() { this.element.hidden = true; }
}

export class CopyByHand {
  constructor(host, close) {
    Object.assign(this, panel(host, "mf-copy", "Copy with Ctrl+C", close));
    this.text = element("textarea", { readOnly: true, "aria-label": "text to copy" });
    this.body.append(this.text);
  }

  show(text) {
    this.text.value = text;
    this.element.hidden = false;
    this.text.focus();
    this.text.select();
  }

  hide() { this.element.hidden = true; }
}
