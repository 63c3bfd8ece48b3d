// The search of the documentation while the user types, and code with colours and a button that copies it. Without this script the form opens
// the page of results.
import { colour, copyable } from "./lib/code";
import { announce, find, make } from "./lib/dom";
import { get } from "./lib/http";

interface Result {
  kind: string;
  page: string;
  heading: string;
  url: string;
  line: string;
}

/** The pause after the last key before a search, in milliseconds. */
const pause = 150;

class Search {
  private readonly form = find<HTMLFormElement>("[data-search]");
  private readonly field = find<HTMLInputElement>("#docs-query");
  private readonly list = find("#docs-found");
  private pending: number | undefined;
  private shown = "";
  private chosen = 0;

  constructor() {
    const combobox = { role: "combobox", "aria-expanded": "false", "aria-controls": this.list.id, "aria-autocomplete": "list" };
    for (const [name, value] of Object.entries(combobox)) this.field.setAttribute(name, value);
    this.field.addEventListener("input", () => {
      window.clearTimeout(this.pending);
      this.pending = window.setTimeout(() => void this.search(), pause);
    });
    this.field.addEventListener("keydown", (e) => this.key(e));
    this.form.addEventListener("submit", (e) => {
      const chosen = this.list.querySelector<HTMLAnchorElement>("[aria-selected='true']");
      if (!chosen || this.shown !== this.field.value) return; // the form opens the results
      e.preventDefault();
      chosen.click();
    });
    document.addEventListener("click", (e) => {
      if (!this.form.contains(e.target as Node)) this.show([]);
    });
    document.addEventListener("keydown", (e) => {
      if (!(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey || e.key.toLowerCase() !== "k") return;
      e.preventDefault();
      this.field.focus();
    });
  }

  private async search(): Promise<void> {
    const asked = this.field.value;
    const found = asked.trim() === "" ? [] : await get<Result[]>(`/docs/search?${new URLSearchParams({ q: asked })}`).catch(() => []);
    if (asked === this.field.value) this.show(found, asked);
  }

  private show(found: Result[], asked = ""): void {
    this.shown = asked;
    this.chosen = 0;
    this.list.replaceChildren(...found.map(({ kind, page, heading, url, line }, i) =>
      make("a", { role: "option", id: `docs-found-${i}`, href: url, tabindex: "-1" }, heading || page,
        make("small", {}, `${kind}: ${page}`), make("small", {}, line))));
    this.list.hidden = found.length === 0;
    this.field.setAttribute("aria-expanded", String(found.length > 0));
    announce(find("[data-found]"), asked.trim() === "" ? "" : `${found.length} found`);
    this.choose(0);
  }

  private choose(index: number): void {
    const items = [...this.list.children];
    this.chosen = items.length === 0 ? 0 : (index + items.length) % items.length;
    items.forEach((item, i) => item.setAttribute("aria-selected", String(i === this.chosen)));
    const item = items[this.chosen];
    if (item) this.field.setAttribute("aria-activedescendant", item.id);
    else this.field.removeAttribute("aria-activedescendant");
    item?.scrollIntoView({ block: "nearest" });
  }

  private key(e: KeyboardEvent): void {
    if (e.key === "Escape") this.show([]);
    else if (e.key === "ArrowDown") this.choose(this.chosen + 1);
    else if (e.key === "ArrowUp") this.choose(this.chosen - 1);
    else return;
    e.preventDefault();
  }
}

new Search();

for (const code of document.querySelectorAll<HTMLElement>("pre")) {
  colour(code);
  copyable(code);
}

const menu = document.querySelector<HTMLElement>("#docs-nav"); // not on the front page
menu?.addEventListener("click", (e) => {
  if ((e.target as HTMLElement).closest("a") && menu.matches(":popover-open")) menu.hidePopover();
});
