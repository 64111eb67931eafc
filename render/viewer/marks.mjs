// SPDX-License-Identifier: BSD-2-Clause
// What points out leaks, in any view: stripes along the boxes that lead to a leak, as wide as the
// leak, and a flag at its leaf. render/picture/leak_paths.h does the same for readers without
// scripts.

// [{node, leaf, text, label, flag}]: the verdicts in a picture; those with a flag are pointed out. `node`
// is where the figures of `leaf`, a node of the picture's own tree, are drawn.
export function marksOf(tree) {
  const known = tree.about.marks?.list ?? [];
  return (tree.marks ??= known.filter(({ node }) => Number.isInteger(node) && node > 0 && node < tree.size)
    .map((mark) => ({ ...mark, leaf: mark.leaf ?? mark.node, node: tree.places?.[mark.node] ?? mark.node })));
}

// Whether a view is on the way to a node: one of its own nodes contains it. With callers first and
// without a focus, a path begins at the node.
function leadsTo({ look, nodes, from }, node) {
  if (look.flow === "callers" && look.focus < 0) return from.includes(node);
  const { end } = look.tree;
  return (look.flow === "callers" ? from : nodes).some((n) => n <= node && node < end[n]);
}

const leads = (box, node) => (box.view ? leadsTo(box.view, node) : box.narrow.some((view) => leadsTo(view, node)));

// Lines about a view: verdicts on it, and the leaks that it leads to.
export function verdictsOf(view) {
  const { tree, flow } = view.look;
  return marksOf(tree).flatMap(({ node, text, label, flag }) => {
    if (flow === "callees" && view.nodes.includes(node)) return [text];
    return flag && view.frame >= 0 && leadsTo(view, node) ? [`leads to a leak: ${label}`] : [];
  });
}

// {stripes: [{box, x, width, outlined}], flags: [{box, x, text}]} for rows of boxes; x and width are
// shares of the stage, 0 where the leak is too narrow to be told.
export function layerOf(tree, rows, zoomed) {
  const stripes = [], flags = [], leaked = new Map();
  for (const mark of marksOf(tree).filter(({ flag }) => flag)) {
    const path = rows.map((boxes) => boxes.find((box) => leads(box, mark.node))).filter((box) => box && !isRoot(box));
    const last = path.at(-1);
    if (!last || last.role === "caller") continue;  // what is zoomed to does not lead there
    const { x, width } = placeOf(last, mark, zoomed);
    flags.push({ box: last, x, text: mark.flag });
    // A caller of what is zoomed to is as wide as the stage, whatever else it calls.
    for (const box of path.filter(({ role }) => role !== "caller")) {
      const inside = box.x <= x + 1e-9 && x + width <= box.x + box.width + 1e-9;
      stripes.push({ box, x: inside ? x : box.x, width: Math.min(width, box.width), outlined: false });
      leaked.set(box, (leaked.get(box) ?? 0) + width);
    }
  }
  for (const stripe of stripes) stripe.outlined = Boolean(stripe.box.view) && leaked.get(stripe.box) > stripe.box.width / 2;
  return { stripes, flags };
}

const isRoot = ({ view }) => Boolean(view) && view.frame < 0;

// A frame's own share is at the end of its box.
function placeOf(box, { node, leaf }, zoomed) {
  if (!box.view) return { x: box.x, width: 0 };
  const { look, nodes } = box.view;
  const width = Math.min(box.width, Number(look.measure.innermost.raw[leaf]) / (Number(zoomed.total) || 1));
  const own = look.flow === "callees" && nodes.includes(node) ? Number(box.view.own) / (Number(zoomed.total) || 1) : 0;
  return { x: own ? box.x + box.width - Math.min(own, box.width) : box.x, width };
}

const stripeHeight = 2.5, stripeEdge = 0.5, leastStripe = 3, line = 2;

// The layer as rectangles {x, y, width, height, fill, stroke, line} and texts {text, x, y, size}, in
// px. stage: {width, rowHeight, fontSize, outwards}, and top(row).
export function shapesOf({ stripes, flags }, { colour, edge }, stage) {
  const { width: whole, rowHeight, fontSize, outwards } = stage, shapes = [], outlined = new Set();
  const high = rowHeight - 1, px = (share) => share * whole;
  const rect = (x, y, width, height, paint) => shapes.push({ x, y, width, height, ...paint });
  for (const { box, x, width, outlined: mostly } of stripes) {
    const top = stage.top(box.row), wide = Math.max(leastStripe, px(width)), at = Math.min(px(x), whole - wide);
    if (mostly && !outlined.has(box)) {
      outlined.add(box);
      const left = px(box.x), room = px(box.width), inset = line + 0.5;
      if (room < 4 * inset) {
        rect(left, top, Math.max(room, leastStripe), high, { fill: colour });
      } else {
        rect(left + 1, top + 1, room - line, high - line, { stroke: colour, line });
        rect(left + inset, top + inset, room - 2 * inset, high - 2 * inset, { stroke: edge, line: 1 });
      }
    }
    if (mostly) continue;  // the outline shows it
    rect(at, top + high - stripeHeight - stripeEdge, wide, stripeHeight + stripeEdge, { fill: edge });
    rect(at, top + high - stripeHeight, wide, stripeHeight, { fill: colour });
  }
  for (const { box, x, text } of flags) {
    const top = stage.top(box.row), flagTop = top + outwards * rowHeight, size = fontSize - 1;
    const wide = text.length * size * 0.64 + 12, left = Math.max(0, Math.min(px(x), whole - wide));
    rect(Math.min(px(x), whole - leastStripe), Math.min(top, flagTop), leastStripe, 2 * rowHeight - 1, { fill: colour });
    rect(left, flagTop, wide, high - 1, { fill: colour, stroke: edge, line: 1 });
    shapes.push({ text, x: left + 6, y: flagTop + size + (high - 1 - size) / 2 - 2, size });
  }
  return shapes;
}

// The outermost view that is mostly this one.
export function mostly(leaf) {
  let whole = leaf;
  while (whole.parent?.parent && Number(whole.parent.total) <= 2 * Number(leaf.total)) whole = whole.parent;
  return whole;
}

// The layer in a picture: its switch, and the way to the next leak.
export class Marks {
  constructor(app) {
    this.app = app;
    this.now = -1;
  }

  get leaks() { return marksOf(this.app.tree).filter(({ flag }) => flag); }

  get shown() { return this.leaks.length > 0 && this.app.state.marks !== "off"; }

  // What a stage draws; null: nothing.
  layer() {
    const { app } = this, made = this.shown ? layerOf(app.tree, app.rows, app.zoomed) : null;
    return made?.flags.length ? { ...made, colours: app.tree.about.marks } : null;
  }

  showControls({ leak, marks }) {
    leak.hidden = marks.hidden = !this.leaks.length;
    marks.setAttribute("aria-pressed", String(this.shown));
  }

  toggle() { if (this.leaks.length) this.app.change({ marks: this.shown ? "off" : "" }, { replace: true }); }

  // Zooms to what is mostly this leak, so that its callers stay in sight.
  step(by) {
    const { app, leaks } = this;
    if (!leaks.length) return;
    this.now = this.now < 0 && by < 0 ? leaks.length - 1 : (this.now + by + leaks.length) % leaks.length;
    const leaf = app.look("callees", -1, []).viewOf(leaks[this.now].node, 0), whole = mostly(leaf);
    app.change({ view: "", focus: -1, hidden: [], marks: "", zoom: whole.parent ? whole.hash : null });
    const box = app.rows.flat().find(({ view }) => view === leaf);
    if (box) app.goTo(box);
    app.announce(leaks[this.now].text);
  }
}
