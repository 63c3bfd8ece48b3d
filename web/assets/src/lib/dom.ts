// Finding and changing what the server rendered. Nothing here makes markup out of text: Trusted Types would stop it.

/** The one element that the selector finds; a page without it is a fault of the page. */
export function find<T extends Element = HTMLElement>(selector: string, within: ParentNode = document): T {
  const found = within.querySelector<T>(selector);
  if (!found) throw new Error(`the page has no ${selector}`);
  return found;
}

/** A data attribute of the element, e.g. data(main, "challenge") for data-challenge. */
export function data(element: HTMLElement, name: string): string {
  return element.dataset[name] ?? "";
}

/** Makes an element with text or children. */
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

/** Says something to screen readers without moving the focus: the element must be a live region. */
export function announce(region: HTMLElement, text: string): void {
  if (region.textContent !== text) region.textContent = text;
}

/** A stretch of text from outside as the service takes it apart (web.Parts). */
export interface Part {
  text?: string;
  mark?: string;
}

/** Shows text from outside, with a mark for each character that cannot be seen. */
export function visible(parts: Part[]): HTMLElement {
  return make("bdi", {}, ...parts.map((p) =>
    p.mark ? make("span", { class: "mark", title: "a character that cannot be seen" }, p.mark) : (p.text ?? ""),
  ));
}
