// SPDX-License-Identifier: BSD-2-Clause
// Mouse, touch and keys.
import { showRuntime } from "./blame.mjs";
import { actions } from "./keys.mjs";
import { isFolded } from "./runtime.mjs";
import { neighbour } from "./spoken.mjs";

const longTouch = 550;  // ms

export function listen(app) {
  listenToPointer(app, app.stage.element);
  listenToControls(app);
  (app.alone ? window : app.host).addEventListener("keydown", (event) => press(app, event));
  const { element } = app.spoken;
  element.addEventListener("focus", () => app.stage.mark(app.current));
  element.addEventListener("blur", () => app.stage.mark(null));
  listenToWindow(app);
}

function listenToPointer(app, area) {
  let timer = 0, opened = false;
  const stop = () => clearTimeout(timer);
  area.addEventListener("pointerdown", () => { opened = false; });
  area.addEventListener("click", (event) => {
    if (opened) return;  // the end of a long touch
    const box = app.stage.boxAt(event);
    if (!app.alone) app.takeFocus();
    if (box) app.choose(box);
  });
  area.addEventListener("contextmenu", (event) => {
    const box = app.stage.boxAt(event);
    if (!box) return;
    event.preventDefault();
    stop();
    app.openMenu(box, event.clientX, event.clientY);
  });
  area.addEventListener("pointermove", (event) => app.point(event));
  area.addEventListener("pointerleave", () => app.point(null));
  area.addEventListener("touchstart", ({ touches, target }) => {
    stop();
    const { clientX, clientY } = touches[0];
    const box = touches.length === 1 && app.stage.boxAt({ clientX, clientY, target });
    if (box) timer = setTimeout(() => {
      opened = true;
      app.openMenu(box, clientX, clientY);
    }, longTouch);
  }, { passive: true });
  for (const end of ["touchend", "touchmove", "touchcancel"]) area.addEventListener(end, stop, { passive: true });
}

function listenToControls(app) {
  const { controls } = app, { search } = controls;
  let timer = 0;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => app.searchFor(search.value), 150);
  });
  search.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    clearTimeout(timer);
    if (event.key === "Escape") search.value = "";
    app.searchFor(search.value);
    if (event.key === "Escape") app.takeFocus();
    else app.matches.step(event.shiftKey ? -1 : 1);
  });
  const clicks = {
    back: () => app.back(), reset: () => app.change({ zoom: null }), restore: () => app.restore(),
    sameCase: () => app.change({ sameCase: !app.state.sameCase }, { replace: true }),
    previous: () => app.matches.step(-1), next: () => app.matches.step(1),
    table: () => app.toggleTable(), help: () => app.help.show(),
    runtime: () => showRuntime(app, isFolded(app)),
    unknown: () => app.showUnnamed(Boolean(app.state.unknown)),
    leak: () => app.marks.step(1), marks: () => app.marks.toggle(),
  };
  for (const [name, act] of Object.entries(clicks)) controls[name].addEventListener("click", act);
  for (const name of ["measure", "order", "cut", "hits", "blame", "boxes"])
    controls[name].addEventListener("change", () => app.set(name, controls[name].value));
}

function press(app, event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.("input, textarea, select")) return;
  if (event.target.closest?.("button") && (event.key === "Enter" || event.key === " ")) return;
  const next = neighbour(app.rows, app.current, event.key, app.upright);
  const act = next ? () => app.goTo(next) : actions.get(event.key);
  if (!act) return;
  event.preventDefault();
  act(app, app.current, event.key);
}

function listenToWindow(app) {
  window.addEventListener("resize", () => app.show());
  if (!app.alone) return;
  window.addEventListener("scroll", () => app.placeControls(), { passive: true });
  window.addEventListener("popstate", () => app.cameBack());
}
