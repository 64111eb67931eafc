// SPDX-License-Identifier: BSD-2-Clause
// The panels beside or above the boxes: the table of functions, help, text to be copied by hand.
import { editorField } from "./editor.mjs";
import { element } from "./page.mjs";
import { brief, percent } from "./format.mjs";
import { inOrder } from "./functions.mjs";
import { help } from "./keys.mjs";
import { placeText, placesOf, placesOfFrame } from "./lines.mjs";

function panel(host, className, title, close) {
  const made = element("section", { className: `mf-panel ${className}`, "aria-label": title, hidden: true });
  const button = element("button", { type: "button", title: "Close (Esc)", "aria-label": `close ${title}` }, "✕");
  button.addEventListener("click", close);
  const body = element("div", { className: "mf-body", tabIndex: 0, role: "group", "aria-label": title });
  made.append(element("header", {}, element("h2", {}, title), button), body);
  made.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (event.key !== "Tab") event.stopPropagation();
  });
  host.append(made);
  return { element: made, body, button };
}

const heads = [["name", "Function"], ["own", "Self"], ["total", "Total"], ["change", "Change"]], placeHead = "Where";
const shownRows = 200;

// Functions with their figures. choose(row): one was clicked. sort(order): another order was
// chosen; without it, the table sorts itself.
export class Table {
  constructor(host, title, close, { choose, sort = (order) => this.show(this.look, this.all, order) }) {
    Object.assign(this, panel(host, "mf-table", title, close));
    this.choose = choose;
    this.filter = element("input", {
      type: "search", placeholder: "Filter", "aria-label": "filter functions", spellcheck: false });
    this.filter.addEventListener("input", () => this.fill());
    this.rows = element("tbody");
    this.heads = new Map(heads.map(([id, text]) => {
      const button = element("button", { type: "button", title: "sort; click again to reverse" }, text);
      button.addEventListener("click", () => sort(this.order === id ? `-${id}` : id));
      return [id, element("th", { scope: "col" }, button)];
    }));
    this.where = element("th", { scope: "col", className: "mf-where" }, placeHead);
    this.more = element("p", { className: "mf-more" });
    this.body.append(this.filter, element("table", {},
      element("thead", {}, element("tr", {}, ...this.heads.values(), this.where)), this.rows), this.more);
  }

  // rows: from functions.mjs. gaps: what they leave out, in words.
  show(look, rows, order, gaps = "") {
    const same = this.all === rows && this.order === order && !this.element.hidden;
    Object.assign(this, { look, all: rows, order, gaps });
    this.element.hidden = false;
    if (!same) this.fill();
  }

  hide() { this.element.hidden = true; }

  fill() {
    const { frames } = this.look.tree, wanted = this.filter.value.toLowerCase();
    const rows = inOrder(this.all.filter(({ frame }) => frames.name[frame].toLowerCase().includes(wanted)), this.order);
    this.heads.get("change").hidden = !this.look.tree.about.difference;
    this.where.hidden = !this.look.tree.lines;
    for (const [id, head] of this.heads) head.setAttribute("aria-sort", this.sorted(id));
    this.rows.replaceChildren(...rows.slice(0, shownRows).map((row) => this.row(row)));
    const first = rows.length > shownRows ? `${shownRows} of ${rows.length} functions; filter to see others` : "";
    this.more.textContent = [first, this.gaps].filter(Boolean).join(". ");
  }

  sorted(id) {
    if (this.order === id) return id === "name" ? "ascending" : "descending";
    return this.order !== `-${id}` ? "none" : id === "name" ? "descending" : "ascending";
  }

  row(row) {
    const { measure, tree } = this.look, text = tree.frames.name[row.frame] || "(no name)";
    const name = element("button", { type: "button", title: text }, text);
    name.addEventListener("click", () => this.choose(row));
    const places = row.view ? placesOf(row.view) : placesOfFrame(this.look, row.frame);
    const place = element("small", { className: "mf-place", title: placeText(tree, places, true) }, placeText(tree, places));
    const figure = (n, share) => element("td", {}, n, element("small", {}, ` ${share}`));
    const cells = [row.own, row.total].map((n) => figure(measure.brief(n), percent(n, measure.total[0])));
    if (tree.about.difference) {
      const delta = row.after - row.before, sign = delta > 0 ? "+" : "";
      cells.push(figure(sign + brief(delta, measure.type), row.before > 0 ? sign + percent(delta, row.before) : "new"));
    }
    if (tree.lines) cells.push(element("td", { className: "mf-where" }, ...(places.length ? [place] : [])));
    return element("tr", {}, element("th", { scope: "row" }, name), ...cells);
  }
}

export class Help {
  // lines: source lines are known.
  constructor(host, close, lines) {
    Object.assign(this, panel(host, "mf-help", "Keys and clicks", close));
    this.body.append(element("dl", {}, ...help.flatMap(([key, text]) =>
      [element("dt", {}, key), element("dd", {}, text)])), ...(lines ? [editorField()] : []));
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
