// SPDX-License-Identifier: BSD-2-Clause
// What stays when a page gets newer data: the state of the flame graph, where the reader is, what has the focus, what
// is open.
import { fills } from "../viewer/colour.mjs";
import { Marks } from "../viewer/marks.mjs";
import { Matches } from "../viewer/matches.mjs";
import { readState, writeState } from "../viewer/state.mjs";

// Something is open that belongs to boxes of the present tree.
export const hasOpenBoxes = ({ menu, list }) => !menu.element.hidden || !list.element.hidden;

// Shows another tree of the same program in the same state.
export function showOtherTree(app, tree) {
  const texts = [app.state, ...app.trail].map((state) => writeState(state, app.tree)), at = app.current.view?.hash.join();
  app.tree = app.base = tree;
  [app.state, ...app.trail] = texts.map((text) => readState(text, tree));
  Object.assign(app, { zoomed: null, listed: null, matches: new Matches(app), marks: new Marks(app), fill: fills(tree, (box) => app.matches.of(box)) });
  app.forget();
  app.show();
  const box = app.rows.flat().find(({ view }) => view && view.hash.join() === at);
  if (!box || box === app.current) return;
  app.current = box;
  if (document.activeElement === app.spoken.element) app.stage.mark(box);
  app.spoken.show(app.rows, box);
}

const childOf = (host, path) => path.reduce((at, i) => at?.children[i], host);

function pathTo(host, node) {
  const path = [];
  for (let at = node; at !== host; at = at.parentElement) path.unshift(Array.prototype.indexOf.call(at.parentElement.children, at));
  return path;
}

const isLike = (one, other) =>
  one?.localName === other.localName && one.className === other.className && one.getAttribute("aria-label") === other.getAttribute("aria-label");

// The one in the same place, or elsewhere with the same words: newer data may have brought a line before it.
function likeIn(host, path, focused) {
  const there = childOf(host, path);
  if (isLike(there, focused)) return there;
  return [...host.querySelectorAll(focused.localName)].find((one) => isLike(one, focused) && one.textContent === focused.textContent);
}

const openLists = (host) => [...host.querySelectorAll("details[open] > summary")].map((one) => one.textContent);

// Calls make(), which replaces what is in the hosts.
export function keepingPlace(hosts, make) {
  const { scrollX, scrollY } = window, focused = document.activeElement;
  const owner = hosts.find((host) => host !== focused && host.contains(focused)), path = owner && pathTo(owner, focused);
  const open = hosts.map(openLists);
  make();
  hosts.forEach((host, i) => {
    for (const summary of host.querySelectorAll("details > summary")) summary.parentElement.open ||= open[i].includes(summary.textContent);
  });
  if (owner) likeIn(owner, path, focused)?.focus({ preventScroll: true });
  window.scrollTo(scrollX, scrollY);
}

// Replaces the elements that a selector finds, in a page, by those of another page. Those that the page lacks come
// before its script.
export function takeOver(root, fresh, selectors) {
  for (const selector of selectors) {
    const before = root.querySelector(selector), after = fresh.querySelector(selector);
    if (before && after) before.replaceWith(document.adoptNode(after));
    else if (before) before.remove();
    else if (after) root.querySelector("noscript").before(document.adoptNode(after));
  }
}
