// Puts boxes and their names where they belong when `zoomed` fills the width.

const SVG = "http://www.w3.org/2000/svg";
const padding = 4;  // between the edges of a box and its text

class Drawing {
  constructor(svg, frames) {
    this.fontSize = Number(svg.getAttribute("font-size"));
    this.margin = Number(svg.dataset.margin);
    this.cell = Drawing.letterWidth(frames);
  }

  // The width of one letter, or 0 when the font is none of fixed width.
  static letterWidth(frames) {
    const probe = document.createElementNS(SVG, "text");
    frames.append(probe);
    const [narrow, wide] = ["i", "M"].map((letter) => {
      probe.textContent = letter.repeat(100);
      return probe.getComputedTextLength() / 100;
    });
    probe.remove();
    return Math.abs(narrow - wide) < 0.001 ? wide : 0;
  }

  draw(rows, zoomed, width) {
    const inner = width - 2 * this.margin, scale = inner / Number(zoomed.size);
    for (const box of rows.flat()) {
      const below = box.depth < zoomed.depth;  // a caller of what is zoomed
      const shown = below ? contains(box, zoomed) : contains(zoomed, box);
      const role = !shown ? "out" : below ? "caller" : "";
      // The page is asked only for what changes: there may be a hundred thousand boxes.
      if (role !== box.role) {
        if (box.role) box.g.classList.remove(box.role);
        if (role) box.g.classList.add(role);
        box.role = role;
      }
      if (!shown) continue;
      if (below) this.place(box, 0, inner);
      else this.place(box, Number(box.from - zoomed.from) * scale, Number(box.size) * scale);
    }
  }

  place(box, left, width) {
    box.rect.setAttribute("x", this.margin + left);
    box.rect.setAttribute("width", width - Math.min(0.8, width / 8));
    const room = width - 2 * padding;
    if (!box.text) {
      if (room < this.cell) return;
      box.text = box.g.appendChild(document.createElementNS(SVG, "text"));
      box.text.setAttribute("y", this.fontSize + 0.5);
    }
    const label = room < 4 ? "" : this.label(box, room);
    if (box.text.textContent !== label) box.text.textContent = label;
    box.text.setAttribute("x", this.margin + left + padding);
  }

  // As much of the name as fits. Letters outside ASCII may come from another font, so those are
  // measured one by one.
  label(box, room) {
    const name = box.name;
    if (this.cell && /^[ -~]*$/.test(name)) {
      const fits = Math.floor(room / this.cell);
      return name.length <= fits ? name : fits >= 3 ? name.slice(0, fits - 1) + "…" : "";
    }
    const fits = (text) => {
      box.text.textContent = text;
      return box.text.getComputedTextLength() <= room;
    };
    if (fits(name)) return name;
    const letters = Array.from(name);
    let some = 0, many = letters.length;  // `some` fit beside "…", `many` do not
    while (many - some > 1) {
      const middle = (some + many) >> 1;
      if (fits(letters.slice(0, middle).join("") + "…")) some = middle;
      else many = middle;
    }
    return some >= 2 ? letters.slice(0, some).join("") + "…" : "";
  }
}
