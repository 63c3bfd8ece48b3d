// The search of the documentation, which runs in the page: its index is one small file.
import { announce, find, make } from "./lib/dom";
import { get } from "./lib/http";

type Entry = [kind: string, words: string, detail: string, url: string];

const most = 12;

class Search {
  private readonly form = find<HTMLFormElement>("[data-search]");
  private readonly field = find<HTMLInputElement>("#docs-query");
  private readonly list = find("#docs-found");
  private entries: Promise<Entry[]> | undefined;
  private chosen = 0;

  constructor() {
    this.form.hidden = false;
    this.field.addEventListener("focus", () => this.load());
    this.field.addEventListener("input", () => void this.search());
    this.field.addEventListener("keydown", (e) => this.key(e));
    this.form.addEventListener("submit", (e) => {
      e.preventDefault();
      this.list.querySelector<HTMLAnchorElement>("[aria-selected='true']")?.click();
    });
    document.addEventListener("click", (e) => {
      if (!this.form.contains(e.target as Node)) this.show([]);
    });
    document.addEventListener("keydown", (e) => {
      if (e.key !== "/" || e.ctrlKey || e.metaKey || (e.target as HTMLElement).matches("input, textarea, select")) return;
      e.preventDefault();
      this.field.focus();
    });
  }

  private load(): Promise<Entry[]> {
    this.entries ??= get<Entry[]>("/docs/search.json").catch(() => {
      this.entries = undefined;
      return [];
    });
    return this.entries;
  }

  private async search(): Promise<void> {
    const asked = this.field.value;
    const all = await this.load();
    if (asked === this.field.value) this.show(asked.trim() === "" ? [] : best(all, asked), asked);
  }

  private show(found: Entry[], asked = ""): void {
    this.chosen = 0;
    this.list.replaceChildren(...found.map(([kind, words, detail, url], i) =>
      make("a", { role: "option", id: `docs-found-${i}`, href: url, tabindex: "-1" }, words, make("small", {}, `${kind}: ${detail}`))));
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

/** Returns the entries that contain all words, those first whose own words begin with the first of them. */
function best(all: Entry[], asked: string): Entry[] {
  const wanted = asked.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = ([, words, detail]: Entry): number => {
    const own = words.toLowerCase();
    const text = `${own} ${detail.toLowerCase()}`;
    if (!wanted.every((w) => text.includes(w))) return -1;
    const first = wanted[0] ?? "";
    return own.startsWith(first) ? 0 : own.includes(first) ? 1 : 2;
  };
  return all.map((entry) => ({ entry, at: rank(entry) })).filter((r) => r.at >= 0).sort((a, b) => a.at - b.at).slice(0, most).map((r) => r.entry);
}

new Search();

const menu = find("#docs-nav");
menu.addEventListener("click", (e) => {
  if ((e.target as HTMLElement).closest("a") && menu.matches(":popover-open")) menu.hidePopover();
});
