/** A page for tests of components. Import it before React, which looks whether there is one. */

import { JSDOM } from "jsdom";

export const dom = new JSDOM("<!doctype html><body></body>", { url: "http://page.example/" });
const { window } = dom;
Object.assign(globalThis, { window, document: window.document });
Object.defineProperty(globalThis, "navigator", { value: window.navigator, configurable: true });

/** Returns an element of the page whose text is what React renders into it. */
export function newElement(html = ""): HTMLElement {
  const element = window.document.createElement("div");
  element.innerHTML = html;
  window.document.body.append(element);
  return element;
}
