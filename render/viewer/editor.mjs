// SPDX-License-Identifier: BSD-2-Clause
// Links to an editor, by a template that the reader sets: "vscode://file/{file}:{line}". Without one there are none.
import { element, keep, kept } from "./page.mjs";

const editorKey = "memflame-editor";
// These would run what is in the template, or show it as a page.
const forbidden = new Set(["javascript:", "data:", "vbscript:", "blob:", "about:", "view-source:", "file:"]);

// The address for a place, or "" if the template is not one.
export function editorLink(template, file, line) {
  if (!/^[a-z][a-z0-9+.-]*:/i.test(template) || !template.includes("{file}")) return "";
  const path = file.split("/").map(encodeURIComponent).join("/");
  try {
    const made = new URL(template.replaceAll("{line}", String(line || 1)).replaceAll("{file}", () => path));
    return forbidden.has(made.protocol) ? "" : made.href;
  } catch {
    return "";
  }
}

export const editorTemplate = () => kept(editorKey) || "";

// The field for the template.
export function editorField() {
  const input = element("input", { type: "text", spellcheck: false, autocomplete: "off", value: editorTemplate(),
    placeholder: "vscode://file/{file}:{line}", title: "An address with {file} and {line}; empty: no links" });
  const state = element("span", { role: "status" });
  input.addEventListener("input", () => {
    const text = input.value.trim(), fits = !text || Boolean(editorLink(text, "/a", 1));
    input.classList.toggle("wrong", !fits);
    input.setAttribute("aria-invalid", String(!fits));
    state.textContent = fits ? "" : " not an address of an editor with {file}";
    if (fits) keep(editorKey, text);
  });
  return element("p", {}, element("label", { className: "mf-pick" }, element("span", {}, "Open in editor:"), input), state);
}
