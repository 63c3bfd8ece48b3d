// The selection of holds: the number of those selected, and the keys that select.

function boxes(): HTMLInputElement[] {
  return [...document.querySelectorAll<HTMLInputElement>("[data-selection] [data-row]:not(.settled) .pick input")];
}

function count(): void {
  const said = document.querySelector<HTMLElement>("[data-selected]");
  if (said) said.textContent = String(boxes().filter((box) => box.checked).length);
}

/** Selects the marked row, or not. Returns false if no row can be selected. */
export function toggleMarked(): boolean {
  const box = document.querySelector<HTMLInputElement>("[data-selection] .marked .pick input");
  if (!box) return false;
  box.checked = !box.checked;
  count();
  return true;
}

/** Selects all rows with the action, subject, payee and account of the marked row; without a marked row all of the list. */
export function selectAlike(): boolean {
  const like = document.querySelector("[data-selection] .marked")?.getAttribute("data-like");
  for (const box of boxes()) box.checked ||= like == null || box.closest("[data-row]")?.getAttribute("data-like") === like;
  count();
  return boxes().length > 0;
}

/** Keeps the number of selected holds up to date. */
export function countSelected(): void {
  const form = document.querySelector("[data-selection]");
  form?.addEventListener("change", count);
  form?.addEventListener("reset", () => setTimeout(count));
}
