// SPDX-License-Identifier: BSD-2-Clause
// Colours of boxes.

const hexes = new Map();  // a picture has far fewer colours than boxes

function hex(n) {
  let text = hexes.get(n);
  if (text === undefined) hexes.set(n, (text = "#" + n.toString(16).padStart(6, "0")));
  return text;
}

function between(from, to, share) {
  const channel = (shift) => {
    const a = (from >> shift) & 255, b = (to >> shift) & 255;
    return Math.round(a + (b - a) * share) << shift;
  };
  return channel(16) | channel(8) | channel(0);
}

// Returns a function from boxes to colours. If the picture has `change`, the colours of what has
// shrunk, stayed and grown, a colour tells how much the whole box has changed. hit(box): how much
// of a match it is, as Matches.of() says.
export function fills(tree, hit) {
  const { match, mergedColour } = tree.about, own = colours(tree);
  const some = hex(between(mergedColour, parseInt(match.slice(1), 16), 0.5));
  return (box) => {
    const found = hit(box);
    return found === 1 ? match : found ? some : own(box);
  };
}

function colours(tree) {
  const { change, mergedColour, rootColour, difference, net, shown } = tree.about;
  const changed = (view, share) => hex(between(change[1], change[share < 0 ? 0 : 2], Math.min(1, Math.abs(share))));
  return (box) => {
    const { view } = box;
    if (!view || (view.frame >= 0 && tree.isMerged(view.frame))) return hex(mergedColour);
    if (difference && change) {
      const before = Number(view.look.figure(view, difference.before));
      const after = Number(view.look.figure(view, difference.after));
      const larger = Math.max(Math.abs(before), Math.abs(after));
      return changed(view, larger ? (after - before) / larger : 0);
    }
    if (net && change) {
      const size = Number(view.total), sum = Number(view.look.figure(view, shown));
      return changed(view, size ? sum / size : 0);
    }
    return hex(view.frame < 0 ? rootColour : tree.frames.colour[view.frame]);
  };
}
