// Writes canonical values as the reader writes them.

/** The first of the browser's locales in the language of the page, such as de-CH on a German page; otherwise the language itself. */
function locale(): string {
  const base = (tag: string): string => tag.split("-")[0] ?? tag;
  const page = document.documentElement.lang;
  return navigator.languages.find((tag) => base(tag) === base(page)) ?? page;
}

/** Writes a time in the reader's time zone. */
export function moment(iso: string): string {
  return new Intl.DateTimeFormat(locale(), { dateStyle: "long", timeStyle: "short" }).format(Date.parse(iso));
}

/** Writes a canonical value of a format, or returns undefined if the format looks the same everywhere. */
function written(format: string, canonical: string): string | undefined {
  const [number = "", ...currency] = canonical.split(" ");
  const decimals = (number.split(".")[1] ?? "").length;
  switch (format) {
    case "money":
    case "number":
      return [
        new Intl.NumberFormat(locale(), { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(number as Intl.StringNumericLiteral),
        ...currency,
      ].join(" ");
    case "date":
      return new Intl.DateTimeFormat(locale(), { dateStyle: "long", timeZone: "UTC" }).format(Date.parse(canonical));
    case "datetime":
      return new Intl.DateTimeFormat(locale(), { dateStyle: "long", timeStyle: "long", timeZone: "UTC" }).format(Date.parse(canonical));
  }
  return undefined;
}

/** Writes the details of a request in the reader's locale. A value that cannot be written so stays as it is signed. */
export function writeDetails(root: ParentNode): void {
  for (const value of root.querySelectorAll<HTMLElement>("[data-canonical]")) {
    try {
      const text = written(value.dataset["format"] ?? "", value.dataset["canonical"] ?? "");
      if (text !== undefined) value.firstElementChild?.replaceChildren(text);
    } catch {
      // The browser does not know the locale or the currency.
    }
  }
}
