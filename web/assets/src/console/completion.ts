// Completes the word before the caret of a text: a list of suggestions below it. The arrows choose, Enter or Tab takes, Esc closes.

import { make } from "../lib/dom";

interface Suggestion {
  text: string;
  label: string;
}

const most = 8;
let lists = 0;

/** Completes a text from the suggestions. */
export function complete(text: HTMLTextAreaElement, suggestions: () => Suggestion[]): void {
  const id = `completion-${String(++lists)}`;
  const list = make("ul", { id, class: "completion", role: "listbox", "aria-label": "Suggestions", hidden: "" });
  text.after(list);
  text.setAttribute("aria-autocomplete", "list");
  text.setAttribute("aria-controls", id);
  let chosen = -1;
  let shown: Suggestion[] = [];
  const word = () => /[\w.]*$/.exec(text.value.slice(0, text.selectionStart))?.[0] ?? "";
  const close = () => {
    list.hidden = true;
    chosen = -1;
    text.removeAttribute("aria-activedescendant");
  };
  const take = (n: number) => {
    const suggestion = shown[n];
    if (!suggestion) return;
    const at = text.selectionStart;
    text.setRangeText(suggestion.text, at - word().length, at, "end");
    close();
    text.dispatchEvent(new Event("input", { bubbles: true }));
    close(); // the input event opened it again
  };
  const choose = (n: number) => {
    chosen = (n + shown.length) % shown.length;
    for (const [i, item] of [...list.children].entries()) item.setAttribute("aria-selected", String(i === chosen));
    text.setAttribute("aria-activedescendant", `${id}-${String(chosen)}`);
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  };
  text.addEventListener("input", () => {
    const start = word().toLowerCase();
    shown = start === "" ? [] : suggestions().filter((s) => s.text.toLowerCase().includes(start) && s.text !== start).slice(0, most);
    if (shown.length === 0) {
      close();
      return;
    }
    list.replaceChildren(...shown.map((s, n) => {
      const item = make("li", { id: `${id}-${String(n)}`, role: "option", "aria-selected": "false" }, make("code", {}, s.text), make("span", { class: "soft" }, s.label));
      item.addEventListener("mousedown", (event) => {
        event.preventDefault(); // the focus stays in the text
        take(n);
      });
      return item;
    }));
    list.hidden = false;
    chosen = -1;
    text.removeAttribute("aria-activedescendant");
  });
  text.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen < 0 ? -1 : chosen - 1);
    else if (event.key === "Escape") close();
    else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) take(chosen);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  text.addEventListener("blur", close);
}
