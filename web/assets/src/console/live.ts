// Live updates. On an event of the stream the page is fetched again and its data-live parts replace the old ones. A note that
// the user is writing and the focus are preserved.

import { announce } from "../lib/dom";
import { key, offer, select, update, words } from "./arrivals";
import { labelValues } from "./labels";
import { fetchPage, readAgain } from "./page";
import { reopenPage } from "./visit";

function busy(part: Element): boolean {
  const form = part.querySelector("form[data-review]");
  return form !== null && (form.contains(document.activeElement) || (form.querySelector("textarea")?.value ?? "") !== "");
}

/** Replaces a part, keeps the mark, the selection and the focus on their rows, and returns the number of new rows. */
export function replace(old: Element, fresh: Element): number {
  const had = new Set([...old.querySelectorAll("[data-row]")].map(key));
  const marked = old.querySelector("[data-row].marked");
  const selected = new Set([...old.querySelectorAll("[data-row]:has(:checked)")].map(key));
  const focused = old.contains(document.activeElement) ? document.activeElement?.closest("[data-row]") : null;
  const button = [...old.querySelectorAll("button, a")].indexOf(document.activeElement as HTMLElement);
  const fit = document.importNode(fresh, true);
  old.replaceWith(fit);
  if (button >= 0) fit.querySelectorAll<HTMLElement>("button, a")[button]?.focus({ preventScroll: true });
  let arrived = 0;
  for (const row of fit.querySelectorAll("[data-row]")) {
    if (!had.has(key(row))) {
      row.classList.add("new");
      arrived++;
    }
    select(row, selected.has(key(row)));
    if (marked && key(row) === key(marked)) row.classList.add("marked");
    if (focused && key(row) === key(focused)) row.querySelector("a")?.focus({ preventScroll: true });
  }
  return arrived;
}

async function refresh(): Promise<void> {
  const fresh = await readAgain(true);
  if (!fresh) return;
  labelValues(fresh);
  let arrived = 0;
  for (const old of document.querySelectorAll("[data-live]")) {
    const name = old.getAttribute("data-live");
    const part = fresh.querySelector(`[data-live="${name}"]`);
    if (!part || old.isEqualNode(part)) continue;
    if (busy(old)) {
      warn(old, part);
      continue;
    }
    if (name === "queue" && old.querySelector("[data-row]")) {
      arrived = update(old, part);
      offer(arrived, () => replace(old, part));
      continue;
    }
    const n = replace(old, part);
    if (name === "queue") arrived += n;
  }
  const region = document.querySelector<HTMLElement>("[data-announce]");
  if (region && arrived > 0) announce(region, `${words(arrived)}.`);
}

/** Warns a reviewer who is writing a note that the hold was settled, and leaves the note in place. */
function warn(old: Element, part: Element): void {
  if (part.querySelector("form[data-review]") || old.querySelector("[data-settled]")) return;
  const text = document.createElement("p");
  text.className = "note warn";
  text.setAttribute("role", "alert");
  text.setAttribute("data-settled", "");
  text.textContent = "This hold was settled in the meantime. Reload the page to see the result.";
  old.prepend(text);
}

/** Checks the session when its idle timeout is due, and leaves the page if it has ended: it must not stay visible. */
export function watchSession(shell: HTMLElement): void {
  const wait = () => {
    const left = Date.parse(shell.dataset["idle"] ?? "") - Date.now();
    if (!Number.isFinite(left)) return;
    setTimeout(
      () => {
        fetchPage(location.href, true)
          .then((fresh) => {
            // The session was used in a different tab.
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

/** Follows the event stream while the page is open. */
export function follow(address: string): void {
  const lost = document.querySelector<HTMLElement>("[data-lost]");
  let pending: ReturnType<typeof setTimeout> | undefined;
  let opened = false;
  let reading = false;
  let left = false;
  // Reads the page once for all events that arrive meanwhile, and never twice at a time.
  const soon = () => {
    if (left) return;
    pending ??= setTimeout(() => {
      pending = undefined;
      if (reading) {
        soon();
        return;
      }
      reading = true;
      refresh()
        .catch(() => {
          if (lost) lost.hidden = false;
        })
        .finally(() => (reading = false));
    }, 150);
  };
  if (document.querySelector('[data-live="queue"]')) {
    // Reading the page of a hold also says that it is still open (internal/authz/hold/viewers.go).
    const visible = () => {
      if (document.visibilityState === "visible") soon();
    };
    setInterval(visible, 30_000);
    document.addEventListener("visibilitychange", visible);
  }
  const source = new EventSource(address);
  source.onopen = () => {
    document.documentElement.dataset["stream"] = "open";
    if (lost) lost.hidden = true;
    if (opened) soon(); // events may have been missed
    opened = true;
  };
  source.onerror = () => {
    document.documentElement.dataset["stream"] = "lost";
    if (source.readyState === EventSource.CLOSED) soon(); // refused: the session may have ended
    if (lost) lost.hidden = false;
  };
  for (const type of ["opened", "reviewed", "reminder", "approved", "rejected", "expired", "withdrawn", "escalated", "step_opened"]) {
    source.addEventListener(`hold.${type}`, soon);
  }
  source.addEventListener("resync", soon);
  source.addEventListener("desk", soon); // who has a hold, or has it open
  window.addEventListener("pagehide", () => {
    left = true;
    clearTimeout(pending);
    source.close();
    const leave = document.querySelector<HTMLElement>("[data-leave]")?.dataset["leave"];
    if (leave) navigator.sendBeacon(leave);
  });
  document.querySelector("[data-reload]")?.addEventListener("click", () => reopenPage());
}
