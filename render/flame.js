// Zoom, search and keys for one picture. Texts of the profile are only ever assigned as text.

const svg = document.currentScript.closest("svg");
const alone = svg === document.documentElement;  // not a part of somebody's page
const { integer, rows, frames, total, root } = readBoxes(svg);
const rest = { width: Number(svg.getAttribute("width")), height: Number(svg.getAttribute("height")) };
const unit = svg.dataset.unit, decimals = Number(svg.dataset.decimals || 0);

if (root) run();
else if (alone) {
  window.addEventListener("resize", fillWindow);
  fillWindow();
}

// Where the picture has a window of its own it fills that. Returns the width.
function fillWindow() {
  if (!alone) return rest.width;
  const width = Math.max(rest.width, svg.clientWidth || window.innerWidth);
  const height = Math.max(rest.height, svg.clientHeight || window.innerHeight);
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  return width;
}

function run() {
  const drawing = new Drawing(svg, frames);
  const bar = makeBar(svg);
  const trail = [];  // what was zoomed before
  let zoomed = root, pattern = "", focused = null;

  function show() {
    const width = fillWindow();
    drawing.draw(rows, zoomed, width);
    moveBar();
    bar.back.hidden = bar.reset.hidden = zoomed === root;
    search();
    tell(null);
  }

  // The bar stays in sight where the picture is higher than the window.
  function moveBar() {
    const seen = alone ? window.scrollY + window.innerHeight : rest.height;
    bar.move(Math.min(rest.height, seen), svg.getAttribute("width"));
  }

  function tell(box) {
    const about = box || (zoomed !== root ? zoomed : null);
    if (!about) {
      bar.tell("", ["Click a box to zoom. Press / to search, Esc to go back."]);
      return;
    }
    const figures = about.figures.slice();
    if (zoomed !== root && about !== zoomed && contains(zoomed, about))
      figures.splice(1, 0, percent(about.size, zoomed.size) + " of zoom");
    bar.tell(about.name, figures);
  }

  // ---- search

  function search() {
    let expression = null, wrong = false;
    try {
      // Letters match both cases unless a capital is asked for.
      if (pattern) expression = new RegExp(pattern, /[A-Z]/.test(pattern) ? "" : "i");
    } catch (error) {
      wrong = true;
    }
    const hits = [];
    for (const box of rows.flat()) {
      const hit = expression !== null && box !== root && !box.merged && expression.test(box.name);
      if (hit !== box.hit) box.g.classList.toggle("hit", hit);
      box.hit = hit;
      if (hit) hits.push(box);
    }
    bar.match(wrong ? "not a regular expression" : expression ? matchText(hits) : "", wrong);
  }

  function matchText(hits) {
    const all = covered(hits, root.from, root.to);
    let text = `matched ${human(all, unit, decimals)}, ${percent(all, total)}`;
    if (zoomed !== root) {
      const part = covered(hits, zoomed.from, zoomed.to);
      text += `; here ${human(part, unit, decimals)}, ${percent(part, zoomed.size)}`;
    }
    // The names in merged boxes are not in the file.
    const merged = rows.flat().filter((box) => box.merged);
    const unknown = covered(hits.concat(merged), root.from, root.to) - all;
    if (unknown > 0) text += `; up to ${percent(unknown, total)} more in merged boxes`;
    return text;
  }

  // ---- zoom and search are also kept in the address, so that they can be passed on

  function record(how) {
    const parts = new URLSearchParams();
    if (zoomed !== root) parts.set("zoom", `${zoomed.depth}.${zoomed.from}`);
    if (pattern) parts.set("search", pattern);
    try {
      if (alone) history[how](null, "", "#" + parts);
    } catch (error) {
      // A page in a sandbox has no history; the picture works without.
    }
  }
  function readAddress() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const [depth, from] = (parts.get("zoom") || "").split(".");
    const row = rows[Number(depth)] || [];
    zoomed = row.find((box) => String(box.from) === from) || root;
    bar.input.value = pattern = parts.get("search") || "";
  }
  function zoomTo(box) {
    if (box === zoomed) return;
    trail.push(zoomed);
    zoomed = box;
    record("pushState");
    show();
  }
  function goBack() {
    if (zoomed === root && trail.length === 0) return;
    zoomed = trail.pop() || root;
    record("pushState");
    show();
  }
  function searchFor(text) {
    bar.input.value = pattern = text;
    record("replaceState");
    search();
  }

  // ---- keys: one box can be reached with Tab, the others from there

  function focusOn(box) {
    if (focused) focused.g.setAttribute("tabindex", "-1");
    focused = box;
    box.g.setAttribute("tabindex", "0");
    box.g.setAttribute("role", "button");
  }
  const visible = (box) => box.role !== "out";
  function neighbour(box, key) {
    const upwards = svg.dataset.root === "bottom" ? 1 : -1;
    const step = { ArrowUp: upwards, ArrowDown: -upwards }[key];
    if (step === -1) return (rows[box.depth - 1] || []).find((other) => contains(other, box));
    if (step === 1)
      return (rows[box.depth + 1] || []).find((other) => contains(box, other) && visible(other));
    const aside = { ArrowLeft: -1, ArrowRight: 1 }[key];
    const row = rows[box.depth].filter(visible);
    return aside && row[row.indexOf(box) + aside];
  }

  const boxAt = (event) => {
    const g = event.target.closest(".row > g");
    return g && g.box;
  };
  frames.addEventListener("click", (event) => boxAt(event) && zoomTo(boxAt(event)));
  frames.addEventListener("mouseover", (event) => tell(boxAt(event)));
  frames.addEventListener("mouseleave", () => tell(null));
  frames.addEventListener("focusin", (event) => tell(boxAt(event)));
  frames.addEventListener("keydown", (event) => {
    const box = boxAt(event), plain = !event.ctrlKey && !event.altKey && !event.metaKey;
    const next = box && plain && neighbour(box, event.key);
    if (next) {
      focusOn(next);
      next.g.focus();
    } else if (box && plain && (event.key === "Enter" || event.key === " ")) {
      zoomTo(box);
    } else {
      return;
    }
    event.preventDefault();
  });

  let timer = 0;
  bar.input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => searchFor(bar.input.value), 120);
  });
  bar.input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Enter" && event.key !== "Escape") return;
    clearTimeout(timer);
    searchFor(event.key === "Enter" ? bar.input.value : "");
    if (event.key === "Escape") bar.input.blur();
  });
  bar.back.addEventListener("click", goBack);
  bar.reset.addEventListener("click", () => zoomTo(root));
  if (alone) {
    window.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.key === "Escape") goBack();
      if (event.key !== "/") return;
      event.preventDefault();
      bar.input.focus();
      bar.input.select();
    });
    window.addEventListener("resize", show);
    window.addEventListener("scroll", moveBar, { passive: true });
    window.addEventListener("popstate", () => {
      readAddress();
      show();
    });
    readAddress();
  }

  svg.classList.add("live");
  frames.setAttribute("role", "group");
  frames.setAttribute("tabindex", "-1");  // listening for focus would make it a stop for Tab
  frames.setAttribute("aria-label", "boxes; arrow keys go to callers, callees and neighbours");
  focusOn(root);
  show();
}
