// SPDX-License-Identifier: BSD-2-Clause
// The boxes for keyboards and screen readers: a tree of elements. Only the part around the current
// box exists, because a picture may have a million boxes.
import { element } from "./page.mjs";

const most = 100;  // siblings and callees that are listed

export class SpokenTree {
  constructor(host, prefix, say) {
    this.prefix = prefix;
    this.say = say;  // box -> text
    this.element = element("div", {
      className: "mf-tree", role: "tree", tabIndex: 0, id: prefix,
      "aria-label": "boxes; arrow keys go to callers, callees and neighbours",
    });
    host.append(this.element);
  }

  // current: the box that keys act on. rows: those of the layout.
  show(rows, current) {
    const around = rows.slice(0, current.row).map((boxes) => boxes.find((box) => holds(box, current))).filter(Boolean);
    const beside = near(rows[current.row], current);
    const inside = near((rows[current.row + 1] || []).filter((box) => holds(current, box)), null);
    let number = 0;
    const item = (box, boxes) => element("div", {
      role: "treeitem", id: `${this.prefix}-${number++}`, "aria-level": box.row + 1,
      "aria-setsize": boxes.length, "aria-posinset": boxes.indexOf(box) + 1,
      "aria-selected": box === current, "aria-label": this.say(box),
      ...(box.view && box.view.callees.length ? { "aria-expanded": box.row < current.row || box === current } : {}),
    });
    const items = around.map((box) => item(box, [box]));
    for (const box of beside) {
      items.push(item(box, beside));
      if (box === current) {
        this.element.setAttribute("aria-activedescendant", items.at(-1).id);
        items.push(...inside.map((one) => item(one, inside)));
      }
    }
    this.element.replaceChildren(...items);
  }
}

const holds = (outer, inner) =>
  outer.x <= inner.x + 1e-12 && inner.x + inner.width <= outer.x + outer.width + 1e-12;

function near(boxes, current) {
  if (boxes.length <= most) return boxes;
  const at = Math.max(0, boxes.indexOf(current)), from = Math.max(0, Math.min(at - most / 2, boxes.length - most));
  return boxes.slice(from, from + most);
}

// The box that an arrow key leads to, or undefined. upwards: the root is at the bottom.
export function neighbour(rows, box, key, upwards) {
  const outwards = upwards ? "ArrowDown" : "ArrowUp", inwards = upwards ? "ArrowUp" : "ArrowDown";
  if (key === outwards) return (rows[box.row - 1] || []).find((other) => holds(other, box));
  if (key === inwards) return (rows[box.row + 1] || []).find((other) => holds(box, other));
  const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
  return step && rows[box.row][rows[box.row].indexOf(box) + step];
}
