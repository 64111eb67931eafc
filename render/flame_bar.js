// The line with what is pointed at, the search field and the buttons. It is made of HTML: its parts can
// be reached by keyboard and screen reader, and texts that are too long are cut by the browser.

function makeBar(svg) {
  const element = (name, properties, ...children) => {
    const made = document.createElementNS("http://www.w3.org/1999/xhtml", name);
    Object.assign(made, properties).append(...children);
    return made;
  };
  const info = element("div", { className: "info" });
  const matched = element("div", { className: "matched" });
  for (const said of [info, matched]) said.setAttribute("role", "status");
  const input = element("input", {
    type: "search", placeholder: "Search (regular expression)", spellcheck: false,
    title: "Capital letters make it case-sensitive. Key: /",
  });
  input.setAttribute("aria-label", "search for frames by regular expression");
  const back = element("button", { type: "button", title: "Key: Esc" }, "Back");
  const reset = element("button", { type: "button" }, "Reset zoom");
  const place = document.createElementNS(SVG, "foreignObject");
  place.setAttribute("height", svg.dataset.bar);
  place.append(element("div", { className: "bar" }, info, matched, input, back, reset));
  svg.append(place);

  return {
    input, back, reset,
    move(bottom, width) {
      const height = Number(svg.dataset.bar);
      place.setAttribute("y", Math.max(bottom, height) - height);
      place.setAttribute("width", width);
    },
    tell(name, figures) {
      info.replaceChildren(element("b", {}, name), "  " + figures.join(" · "));
    },
    match(text, wrong) {
      matched.textContent = text;
      input.classList.toggle("wrong", wrong);
    },
  };
}
