// The seconds that are left to undo a review.

/** Counts them down, from what the server gave when the page, or the part of it, arrived. */
export function countDown(): void {
  const ends = new WeakMap<Element, number>();
  setInterval(() => {
    for (const element of document.querySelectorAll<HTMLElement>("[data-left]")) {
      const end = ends.get(element) ?? performance.now() + Number(element.dataset["left"]) * 1000;
      ends.set(element, end);
      const left = Math.ceil((end - performance.now()) / 1000);
      const words = left > 0 ? ` (${left} s)` : "";
      if (element.textContent !== words) element.textContent = words;
    }
  }, 250);
}
