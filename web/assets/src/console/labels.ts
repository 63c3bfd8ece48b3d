// A narrow table shows its rows as blocks (console.css). Each value then has its column's heading before it.

/** Copies the headings of the columns to the values of the tables that have none yet. */
export function labelValues(page: Document): void {
  for (const table of page.querySelectorAll("table")) {
    const headings = [...table.querySelectorAll("thead th")].map((heading) => heading.textContent ?? "");
    for (const row of table.querySelectorAll("tbody tr")) {
      if (row.children.length !== headings.length) continue;
      for (const [n, value] of [...row.children].entries()) {
        const heading = headings[n];
        if (value.tagName === "TD" && heading && !value.hasAttribute("data-label")) value.setAttribute("data-label", heading);
      }
    }
  }
}
