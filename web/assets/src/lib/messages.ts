// The texts of a hosted page in the user's language. The server puts them into the page.
import { data } from "./dom";

export type Say = (name: string, values?: Record<string, string>) => string;

/** Returns a function that gives a message of the element's data-messages with its placeholders replaced. */
export function messagesOf(root: HTMLElement): Say {
  const texts = JSON.parse(data(root, "messages")) as Record<string, string>;
  return (name, values = {}) => {
    const text = texts[name];
    if (text === undefined) throw new Error(`the page has no message ${name}`);
    return text.replace(/\{(\w+)\}/g, (whole, key: string) => values[key] ?? whole);
  };
}

/** Adds the language of the page to a path, for requests whose response contains messages. */
export function inLanguage(path: string): string {
  return `${path}?lang=${encodeURIComponent(document.documentElement.lang)}`;
}

/** The path of this page with the language that the user chose, without the secret of the link. */
export function cleanPath(): string {
  return window.location.pathname + window.location.search;
}

/** Makes the links to other languages carry the secret of the link, which is in the fragment. */
export function keepInLanguageLinks(fragment: string): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>("[data-language]")) link.hash = fragment;
}
