// Helpers to find and change elements. None creates markup from text: Trusted Types would block it.

/** Returns the first element that matches; throws if there is none, which is a bug of the page. */
export function find<T extends Element = HTMLElement>(selector: string, within: ParentNode = document): T {
  const found = within.querySelector<T>(selector);
  if (!found) throw new Error(`the page has no ${selector}`);
  return found;
}

/** Returns a data attribute, e.g. data(main, "challenge") for data-challenge; "" if it is missing. */
export function data(element: HTMLElement, name: string): string {
  return element.dataset[name] ?? "";
}

/** Creates an element with attributes and children. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Announces a text to screen readers without moving the focus. The element must be a live region. */
export function announce(region: HTMLElement, text: string): void {
  if (region.textContent !== text) region.textContent = text;
}

/** A part of external text, as web.Parts splits it. */
export interface Part {
  text?: string;
  mark?: string;
}

/** Renders external text, with a mark for each invisible character. */
export function visible(parts: Part[], title = "invisible character"): HTMLElement {
  return make("bdi", {}, ...parts.map((p) =>
    p.mark ? make("span", { class: "mark", title }, p.mark) : (p.text ?? ""),
  ));
}
