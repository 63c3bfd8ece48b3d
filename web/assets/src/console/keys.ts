// Keyboard shortcuts. They are off while the user types in a field, and none but undo changes anything: they move the focus to
// the button that does.

import { openFinder } from "./finder";
import { selectAlike, toggleMarked } from "./selection";

function writing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input:not([type=checkbox]), textarea, select"));
}

function rows(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("[data-list] [data-row]")];
}

/** Moves the mark and the focus to a neighbouring row of the list. */
function move(step: number): void {
  const list = rows();
  if (list.length === 0) return;
  const at = list.findIndex((row) => row.classList.contains("marked"));
  const to = at < 0 ? (step > 0 ? 0 : list.length - 1) : Math.min(Math.max(at + step, 0), list.length - 1);
  for (const row of list) row.classList.remove("marked");
  const row = list[to];
  row?.classList.add("marked");
  const link = row?.querySelector<HTMLElement>("a");
  link?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: "nearest" });
}

function follow(selector: string): boolean {
  const link = document.querySelector<HTMLAnchorElement>(selector);
  if (!link) return false;
  location.assign(link.href);
  return true;
}

function focus(selector: string): boolean {
  const element = document.querySelector<HTMLElement>(selector);
  if (!element?.checkVisibility() || element.matches(":disabled")) return false;
  element.scrollIntoView({ block: "nearest" });
  element.focus();
  return true;
}

function press(selector: string): boolean {
  const button = document.querySelector<HTMLElement>(selector);
  button?.click();
  return button !== null;
}

/** Runs the shortcut of a key. Returns false if there is none. */
function act(letter: string): boolean {
  const inCase = document.querySelector("[data-case]") !== null;
  switch (letter) {
    case "j":
      if (inCase) return follow("[data-following]");
      move(1);
      return true;
    case "k":
      if (inCase) return follow("[data-prev]");
      move(-1);
      return true;
    case "a":
      return focus("[data-approve]");
    case "r":
      return focus("[data-reject]");
    case "i":
      return focus("[data-assign]");
    case "x":
      return toggleMarked();
    case "X":
      return selectAlike();
    case "z":
      return press("[data-undo]");
    case "n":
      return focus("#note");
    case "u":
      return follow("[data-up]");
    case "/":
      return focus("[data-search]") || openFinder();
    case "?":
      help();
      return true;
    default:
      return false;
  }
}

function help(): void {
  const dialog = document.querySelector<HTMLDialogElement>("dialog[data-keys]");
  if (!dialog) return;
  if (dialog.open) dialog.close();
  else dialog.showModal();
}

/** The entry of the browser's storage that switches the keys without Ctrl off, for people whose speech or tremor presses them (WCAG 2.1.4). */
const stored = "single-keys";

function off(): boolean {
  return localStorage.getItem(stored) === "off";
}

/** Keeps the choice of the dialog. */
function choice(): void {
  const box = document.querySelector<HTMLInputElement>("[data-single-keys]");
  const show = () => {
    document.documentElement.dataset["keys"] = off() ? "off" : "on";
    if (box) box.checked = !off();
  };
  show();
  box?.addEventListener("change", () => {
    localStorage.setItem(stored, box.checked ? "on" : "off");
    show();
  });
}

/** Enables the shortcuts. */
export function keyboard(): void {
  choice();
  let going = false;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "Escape" && writing(event.target)) {
      (event.target as HTMLElement).blur();
      return;
    }
    if (off() || writing(event.target) || document.querySelector("dialog[open]")) return;
    if (going) {
      going = false;
      if (follow(`[data-go="${CSS.escape(event.key)}"]`)) event.preventDefault();
      return;
    }
    if (event.key === "g") {
      going = true;
      setTimeout(() => (going = false), 1500);
      return;
    }
    if (act(event.key)) event.preventDefault();
  });
  const button = document.querySelector<HTMLButtonElement>("[data-help]");
  if (button) {
    button.hidden = false;
    button.addEventListener("click", help);
  }
}
