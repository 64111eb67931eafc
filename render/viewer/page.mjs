// SPDX-License-Identifier: BSD-2-Clause
// Small helpers for what the page is made of. Texts of the profile are only ever assigned as text.

export const xhtml = "http://www.w3.org/1999/xhtml", svgSpace = "http://www.w3.org/2000/svg";

// Keys with "-", and "role", are set as attributes, others as properties.
export function element(name, properties = {}, ...children) {
  const made = document.createElementNS(xhtml, name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "role" || key.includes("-")) made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children);
  return made;
}

export function svgElement(name, attributes = {}, ...children) {
  const made = document.createElementNS(svgSpace, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// What the reader chose for all pictures. Browsers may keep nothing for files.
export function kept(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function keep(key, text) {
  try {
    localStorage.setItem(key, text);
  } catch {
    // It is for this page only.
  }
}

// A prefix for ids that no other picture in the page has.
export function unusedPrefix() {
  let i = 1;
  while (document.getElementById(`memflame-${i}`)) ++i;
  return `memflame-${i}`;
}

// If scripts may not write to the clipboard, `show` offers the text.
export async function copyText(text, show) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch (error) {
    show(text);
    return false;
  }
}
