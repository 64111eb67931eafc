// Figures by function, for the table: [{frame, own, total, calls}] with calls = how many nodes. A
// function that calls itself is counted once in its total.
export function functionsOf(tree, measure, hidden = new Set()) {
  const { own, total } = measure, count = tree.frames.name.length;
  const rows = Array.from({ length: count }, (_, frame) =>
    ({ frame, own: tree.zero, total: tree.zero, places: 0 }));
  const open = new Int32Array(count);  // how many of the callers around are this frame
  const path = [];
  for (let n = 1; n < tree.size; ++n) {
    while (path.length && tree.end[path[path.length - 1]] <= n) --open[tree.frame[path.pop()]];
    const frame = tree.frame[n], row = rows[frame];
    path.push(n);
    row.own += own[n];
    row.places += 1;
    if (open[frame]++ === 0) row.total += total[n];
  }
  return rows.filter((row) => row.total > 0 && !hidden.has(row.frame) && !tree.isMerged(row.frame));
}

export const orders = {
  name: (tree) => (a, b) => a.frame - b.frame,
  own: () => (a, b) => compare(b.own, a.own) || a.frame - b.frame,
  total: () => (a, b) => compare(b.total, a.total) || a.frame - b.frame,
};
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
