// Keeps what the page shows true: on an event of the stream the page is asked for again, and the parts that are marked
// data-live are put in the place of the old ones. What the person is in the middle of (a note, a focus) stays.

import { announce } from "../lib/dom";
import { visitAgain } from "./visit";

/** Asks for this very page as a document. Unlike a parser of strings, this makes no markup out of text in the page. */
function again(): Promise<Document> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";
    request.setRequestHeader("Accept", "text/html");
    request.setRequestHeader("X-Console-Refresh", "1"); // nobody may be there: this keeps no session alive
    request.timeout = 20_000;
    request.onload = () => {
      const signedOut = new URL(request.responseURL, location.href).pathname.endsWith("/sign-in");
      if (signedOut) visitAgain();
      else if (request.status === 200 && request.responseXML) resolve(request.responseXML);
      else reject(new Error(String(request.status)));
    };
    request.onerror = request.ontimeout = () => reject(new Error("unreachable"));
    request.send();
  });
}

function busy(part: Element): boolean {
  const form = part.querySelector("form[data-review]");
  return form !== null && (form.contains(document.activeElement) || (form.querySelector("textarea")?.value ?? "") !== "");
}

function key(row: Element): string {
  return row.getAttribute("data-id") ?? row.querySelector("a")?.getAttribute("href") ?? "";
}

/** Puts the new part in the place of the old one and keeps the mark and the focus on what they were on. */
function replace(old: Element, fresh: Element): number {
  const had = new Set([...old.querySelectorAll("[data-row]")].map(key));
  const marked = old.querySelector("[data-row].marked");
  const focused = old.contains(document.activeElement) ? document.activeElement?.closest("[data-row]") : null;
  const fit = document.importNode(fresh, true);
  old.replaceWith(fit);
  let arrived = 0;
  for (const row of fit.querySelectorAll("[data-row]")) {
    if (!had.has(key(row))) {
      row.classList.add("new");
      arrived++;
    }
    if (marked && key(row) === key(marked)) row.classList.add("marked");
    if (focused && key(row) === key(focused)) row.querySelector("a")?.focus({ preventScroll: true });
  }
  return arrived;
}

async function refresh(): Promise<void> {
  const fresh = await again();
  let arrived = 0;
  for (const old of document.querySelectorAll("[data-live]")) {
    const name = old.getAttribute("data-live");
    const part = fresh.querySelector(`[data-live="${name}"]`);
    if (!part || old.isEqualNode(part)) continue;
    if (busy(old)) {
      warn(old, part);
      continue;
    }
    const n = replace(old, part);
    if (name === "queue") arrived += n;
  }
  const region = document.querySelector<HTMLElement>("[data-announce]");
  if (region && arrived > 0) announce(region, arrived === 1 ? "A new hold waits." : `${arrived} new holds wait.`);
}

/** Tells a reviewer in the middle of a note that the hold was settled meanwhile, without taking the note away. */
function warn(old: Element, part: Element): void {
  if (part.querySelector("form[data-review]") || old.querySelector("[data-settled]")) return;
  const text = document.createElement("p");
  text.className = "note warn";
  text.setAttribute("role", "alert");
  text.setAttribute("data-settled", "");
  text.textContent = "Somebody settled this hold meanwhile. Reload the page to see how.";
  old.prepend(text);
}

/** Looks, when the session would end unused, whether it has; if so the page goes, with whatever it shows. */
export function watchSession(shell: HTMLElement): void {
  const wait = () => {
    const left = Date.parse(shell.dataset["idle"] ?? "") - Date.now();
    if (!Number.isFinite(left)) return;
    setTimeout(
      () => {
        again()
          .then((fresh) => {
            // The person used the console elsewhere meanwhile.
            shell.dataset["idle"] = fresh.querySelector<HTMLElement>("[data-console]")?.dataset["idle"] ?? "";
            wait();
          })
          .catch(() => setTimeout(wait, 60_000));
      },
      Math.min(Math.max(left, 30_000) + 1000, 2 ** 31 - 1),
    );
  };
  wait();
}

/** Follows the stream for as long as the page is open. */
export function follow(address: string): void {
  const lost = document.querySelector<HTMLElement>("[data-lost]");
  let pending: ReturnType<typeof setTimeout> | undefined;
  let opened = false;
  const soon = () => {
    clearTimeout(pending);
    pending = setTimeout(() => {
      refresh().catch(() => {
        if (lost) lost.hidden = false;
      });
    }, 150);
  };
  const source = new EventSource(address);
  source.onopen = () => {
    document.documentElement.dataset["stream"] = "open";
    if (lost) lost.hidden = true;
    if (opened) soon(); // something may have happened while the connection was lost
    opened = true;
  };
  source.onerror = () => {
    document.documentElement.dataset["stream"] = "lost";
    if (source.readyState === EventSource.CLOSED) soon(); // refused: the session may be over
    if (lost) lost.hidden = false;
  };
  for (const type of ["opened", "reviewed", "reminder", "approved", "rejected", "expired"]) {
    source.addEventListener(`hold.${type}`, soon);
  }
  source.addEventListener("resync", soon);
  window.addEventListener("pagehide", () => source.close());
  document.querySelector("[data-reload]")?.addEventListener("click", () => visitAgain());
}
