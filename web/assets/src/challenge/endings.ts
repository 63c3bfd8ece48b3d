// Shows the final panel of a challenge. The server renders all of them; this unhides one.
import { data, find } from "../lib/dom";

/** Shows the panel of the state in place of the request, focuses it and sets the window title. */
export function showEnding(root: HTMLElement, state: string): void {
  const ending = root.querySelector<HTMLElement>(`[data-ending="${CSS.escape(state)}"]`);
  if (!ending || data(root, "state") === state) return;
  root.dataset["state"] = state;
  for (const part of root.querySelectorAll<HTMLElement>("[data-request], [data-ending]")) part.hidden = part !== ending;
  const heading = find("h1", ending);
  document.title = `${heading.textContent ?? ""} – ${document.title.split(" – ").pop() ?? ""}`;
  heading.focus();
  updateReturnLinks(root);
}

/** Adds id and status of the challenge to the return links. They are hints for that page; its backend must ask the API. */
export function updateReturnLinks(root: HTMLElement): void {
  const base = data(root, "return");
  if (base === "") return;
  for (const link of root.querySelectorAll<HTMLAnchorElement>("[data-back]")) {
    const url = new URL(base);
    url.searchParams.set("challenge", data(root, "id"));
    url.searchParams.set("status", data(root, "state"));
    link.href = url.href;
  }
}
