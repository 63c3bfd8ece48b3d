// The filters of the queue apply while the user types and chooses. Without this script a button applies them.

import { replace } from "./live";
import { readAgain } from "./page";

/** The pause after the last key before the list is read, in milliseconds. */
const pause = 250;

/** Applies the filters of the form to the page. */
async function apply(form: HTMLFormElement): Promise<void> {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (typeof value === "string" && value !== "") query.set(name, value);
  }
  const address = location.pathname + (query.size > 0 ? `?${query.toString()}` : "");
  history.replaceState(null, "", address);
  const fresh = await readAgain();
  if (!fresh) return;
  for (const old of document.querySelectorAll("[data-live]")) {
    const part = fresh.querySelector(`[data-live="${old.getAttribute("data-live") ?? ""}"]`);
    if (part && !old.isEqualNode(part)) replace(old, part);
  }
  const next = fresh.querySelector<HTMLFormElement>("form[data-selection]");
  if (next) document.querySelector("form[data-selection]")?.setAttribute("action", next.getAttribute("action") ?? "");
}

/** Makes the filters instant. */
export function instantFilters(): void {
  const form = document.querySelector<HTMLFormElement>("form[data-instant]");
  if (!form) return;
  form.querySelector<HTMLElement>("[data-apply]")?.setAttribute("hidden", "");
  let pending: ReturnType<typeof setTimeout> | undefined;
  const soon = (after: number) => {
    clearTimeout(pending);
    pending = setTimeout(() => {
      apply(form).catch(() => form.submit());
    }, after);
  };
  form.addEventListener("input", () => soon(pause));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur(); // the keys of the list work again
    soon(0);
  });
}
