// The ticket of a link is in the fragment, which browsers do not send. The page removes it from the address at once, sends it in request bodies, and
// stores it in the tab's history entry for a reload.
import { find } from "./dom";
import { cleanPath, keepInLanguageLinks } from "./messages";

/** Returns the ticket of the fragment, or the one stored by an earlier visit in this tab. */
function ticketOf(): string {
  const fragment = window.location.hash.slice(1);
  return fragment === "" ? ((history.state as { ticket?: string } | null)?.ticket ?? "") : fragment;
}

/** Stores the ticket in the history entry, which removes it from the address and keeps a reload from sending the form again. */
export function storeTicket(ticket: string): void {
  history.replaceState({ ticket }, "", cleanPath());
  if (ticket !== "") keepInLanguageLinks(ticket);
}

/** Posts the ticket as a form. The response is the page that it opens. */
export function open(form: HTMLFormElement): void {
  const ticket = ticketOf();
  storeTicket(ticket);
  find<HTMLInputElement>("input", form).value = ticket;
  form.submit();
}

/** Reloads for a new link pasted into this tab; a jump within the page only restores the ticket. */
export function followFragment(): void {
  window.addEventListener("hashchange", () => {
    const fragment = window.location.hash.slice(1);
    if (fragment !== "" && !document.getElementById(fragment)) return window.location.reload();
    storeTicket(document.querySelector<HTMLElement>("[data-ticket]")?.dataset["ticket"] ?? "");
  });
}
