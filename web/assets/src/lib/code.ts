// What readers of code wish for: colours, and a button that copies it.
import { make } from "./dom";

/** Parts of JSON and of shell commands, as far as colours need them. */
const parts = /("(?:[^"\\\n]|\\.)*")(\s*:)?|(^|\s)(#[^\n]*)|(?<![\w.-])(-?\d+(?:\.\d+)?|true|false|null)(?![\w.-])/g;

/** Colours the text below an element. */
export function colour(within: Node): void {
  for (const node of [...within.childNodes]) {
    if (node.nodeType !== Node.TEXT_NODE) {
      colour(node);
      continue;
    }
    const text = node.textContent ?? "";
    const out: Array<string | Node> = [];
    let at = 0;
    for (const m of text.matchAll(parts)) {
      const token = m[1] ?? m[4] ?? m[5] ?? "";
      const start = m.index + m[0].indexOf(token);
      out.push(text.slice(at, start), make("span", { class: m[4] ? "comment" : m[5] ? "number" : m[2] ? "key" : "string" }, token));
      at = start + token.length;
    }
    if (at > 0) (node as ChildNode).replaceWith(...out, text.slice(at));
  }
}

/** Adds a button that copies the text of an element. */
export function copyable(element: HTMLElement): void {
  const button = make("button", { type: "button", class: "button small", "aria-live": "polite" }, "Copy");
  const text = element.textContent ?? "";
  button.addEventListener("click", () => {
    navigator.clipboard.writeText(text).then(() => "Copied", () => "Not copied").then((said) => {
      button.textContent = said;
    });
  });
  const box = make("div", { class: "copied" });
  element.replaceWith(box);
  box.append(element, button);
}
