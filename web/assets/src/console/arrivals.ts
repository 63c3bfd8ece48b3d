// The queue while it is open. Its rows change in place. Holds that arrive wait behind a banner, so that the list does not move
// under the reviewer's pointer.

/** The key of a row. */
export function key(row: Element): string {
  return row.getAttribute("data-id") ?? row.querySelector("a")?.getAttribute("href") ?? "";
}

/** Selects a row of the queue, or not. */
export function select(row: Element, selected: boolean): void {
  const box = row.querySelector<HTMLInputElement>(".pick input");
  if (box) box.checked = selected;
}

function rows(list: Element): Map<string, HTMLElement> {
  return new Map([...list.querySelectorAll<HTMLElement>("[data-row]")].map((row) => [key(row), row]));
}

function total(list: Element): number {
  return Number(list.getAttribute("data-total") ?? 0);
}

/** Updates the rows that are shown, marks those that left the list, and returns the number of holds that arrived anywhere in it. */
export function update(shown: Element, fresh: Element): number {
  const now = rows(fresh);
  let left = 0;
  for (const [id, row] of rows(shown)) {
    const next = now.get(id);
    if (!next) {
      row.classList.add("settled");
      left++;
      continue;
    }
    const fit = document.importNode(next, true);
    if (row.classList.contains("marked")) fit.classList.add("marked");
    select(fit, row.matches(":has(:checked)"));
    if (row.isEqualNode(fit)) continue;
    const focused = row.contains(document.activeElement);
    row.replaceWith(fit);
    if (focused) fit.querySelector<HTMLElement>("a")?.focus({ preventScroll: true });
  }
  return Math.max(0, total(fresh) - total(shown) + left);
}

/** Shows the banner with the number of new holds; a click on it calls show. */
export function offer(arrived: number, show: () => void): void {
  const banner = document.querySelector<HTMLElement>("[data-arrived]");
  const button = banner?.querySelector<HTMLButtonElement>("[data-show]");
  if (!banner || !button) return;
  banner.hidden = arrived === 0;
  button.textContent = `Show ${words(arrived)}`;
  button.onclick = () => {
    banner.hidden = true;
    show();
  };
}

/** Returns the number of new holds in words. */
export function words(arrived: number): string {
  return arrived === 1 ? "1 new hold" : `${arrived} new holds`;
}
