// Shows where a challenge has ended. The server rendered every ending; this unhides one.
import { data, find } from "../lib/dom";

/** Shows the ending of that state instead of the request, moves the focus to it and names the window after it. */
export function showEnding(root: HTMLElement, state: string): void {
  const ending = root.querySelector<HTMLElement>(`[data-ending="${CSS.escape(state)}"]`);
  if (!ending || data(root, "state") === state) return;
  root.dataset["state"] = state;
  for (const part of root.querySelectorAll<HTMLElement>("[data-request], [data-ending]")) part.hidden = part !== ending;
  const heading = find("h1", ending);
  document.title = `${heading.textContent ?? ""} – ${document.title.split(" – ").pop() ?? ""}`;
  heading.focus();
  pointBack(root);
}

/** Adds what has become of the challenge to the way back. It is a hint for the page there; its backend asks the API. */
export function pointBack(root: HTMLElement): void {
  const base = data(root, "return");
  if (base === "") return;
  for (const link of root.querySelectorAll<HTMLAnchorElement>("[data-back]")) {
    const url = new URL(base);
    url.searchParams.set("challenge", data(root, "id"));
    url.searchParams.set("status", data(root, "state"));
    link.href = url.href;
  }
}
