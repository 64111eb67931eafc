// Which frames a pattern finds, and how much lies in them.

// {hit: one byte per frame, wrong: true when the pattern is no regular expression}, or null
// without one. What is merged has no names to be found; the root has none either.
export function findFrames(tree, pattern, sameCase) {
  if (!pattern) return null;
  const { name } = tree.frames, hit = new Uint8Array(name.length);
  let expression;
  try {
    expression = new RegExp(pattern, sameCase ? "" : "i");
  } catch (error) {
    return { hit, wrong: true };
  }
  for (let i = 0; i < name.length; ++i) hit[i] = !tree.isMerged(i) && expression.test(name[i]) ? 1 : 0;
  return { hit, wrong: false };
}

// What of a view lies in a frame with a hit: below or above another one it is not counted again.
export function covered(view, hit) {
  for (let around = view; around; around = around.parent)
    if (around.frame >= 0 && hit[around.frame]) return view.total;
  return view.look.flow === "callers" ? coveredAbove(view, hit) : coveredBelow(view, hit);
}

function coveredBelow({ look, nodes }, hit) {
  const { tree, hidden, measure } = look;
  let sum = tree.zero;
  for (const node of nodes)
    for (let n = node + 1; n < tree.end[node];) {
      const found = hit[tree.frame[n]] && !hidden.has(tree.frame[n]);
      if (found) sum += measure.total[n];
      n = found ? tree.end[n] : n + 1;
    }
  return sum;
}

function coveredAbove({ look, nodes, from }, hit) {
  const { tree, hidden, amount } = look;
  const below = new Uint8Array(tree.size);  // in a frame with a hit, itself or one of its callers
  for (let n = 1; n < tree.size; ++n)
    below[n] = below[tree.parent[n]] || (hit[tree.frame[n]] && !hidden.has(tree.frame[n]) ? 1 : 0);
  let sum = tree.zero;
  for (let i = 0; i < nodes.length; ++i) if (below[nodes[i]]) sum += amount[from[i]];
  return sum;
}

// What lies in merged boxes, whose names nobody knows.
export function mergedIn(view) {
  const { tree } = view.look, hit = new Uint8Array(tree.frames.name.length);
  for (let i = 0; i < hit.length; ++i) hit[i] = tree.isMerged(i) ? 1 : 0;
  return covered(view, hit);
}
