// The search of everything: a dialog (Ctrl-K) that shows the results of the search page while the user types. Enter opens the
// page itself, which works without this script.

import { announce, find, make } from "../lib/dom";
import { fetchPage } from "./page";

/** The pause after the last key before a search, in milliseconds. */
const pause = 200;

/** Moves the focus between the field and the results. Returns false at an end. */
function step(dialog: HTMLDialogElement, field: HTMLElement, by: number): boolean {
  const stops = [field, ...dialog.querySelectorAll<HTMLElement>("[data-results] a")];
  const to = stops[stops.indexOf(document.activeElement as HTMLElement) + by];
  to?.focus();
  return to !== undefined;
}

/** The pages of the navigation whose names contain the text. */
function pages(text: string): HTMLElement[] {
  const found = [...document.querySelectorAll<HTMLAnchorElement>("[data-go]")]
    .map((link) => ({ address: link.href, label: link.firstChild?.textContent ?? "" }))
    .filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()));
  if (found.length === 0) return [];
  return [
    make("h2", {}, "Pages"),
    make("ul", { class: "hits" }, ...found.map(({ address, label }) => make("li", {}, make("a", { href: address }, label)))),
  ];
}

/** Opens the dialog. */
export function openFinder(): boolean {
  const dialog = document.querySelector<HTMLDialogElement>("dialog[data-finder]");
  if (!dialog || document.querySelector("dialog[open]")) return false;
  dialog.showModal();
  find<HTMLInputElement>("input", dialog).select();
  return true;
}

/** Enables the dialog. */
export function finder(): void {
  const dialog = document.querySelector<HTMLDialogElement>("dialog[data-finder]");
  if (!dialog) return;
  const field = find<HTMLInputElement>("input", dialog);
  const results = find("[data-results]", dialog);
  const status = find("[data-said]", dialog);
  let pending: ReturnType<typeof setTimeout> | undefined;
  const show = async () => {
    const text = field.value.trim();
    if (text === "") {
      results.replaceChildren();
      announce(status, "");
      return;
    }
    const address = new URL(field.form?.action ?? "", location.href);
    address.search = new URLSearchParams({ q: text, typed: "1" }).toString();
    try {
      const found = find("[data-found]", await fetchPage(address.href));
      if (field.value.trim() !== text) return; // a later search is under way
      announce(status, found.querySelector("[data-count]")?.textContent ?? "");
      found.querySelector("[data-count]")?.remove();
      results.replaceChildren(...pages(text), ...document.importNode(found, true).childNodes);
    } catch {
      announce(status, "The search failed. Press Enter to try again.");
    }
  };
  field.addEventListener("input", () => {
    clearTimeout(pending);
    pending = setTimeout(() => void show(), pause);
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.preventDefault(); // Chromium would only empty the field
      dialog.close();
    }
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by && step(dialog, field, by)) event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
    event.preventDefault(); // the browser's own search
    openFinder();
  });
  document.querySelector("[data-find]")?.addEventListener("click", (event) => {
    if (openFinder()) event.preventDefault();
  });
}
