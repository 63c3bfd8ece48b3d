// The page on which a subject sees and revokes standing approvals, after a passkey has opened it for this browser.
import { Closed } from "./challenge/closed";
import { data, find } from "./lib/dom";
import { postWithRetry, Problem, Unreachable } from "./lib/http";
import { moment, writeDetails } from "./lib/locale";
import { messagesOf } from "./lib/messages";
import { followFragment, open, storeTicket } from "./lib/ticket";

class Page {
  private readonly root = find("#approvals");
  private readonly say = messagesOf(this.root);
  private readonly buttons = [...this.root.querySelectorAll<HTMLButtonElement>("[data-revoke]")];

  constructor() {
    writeDetails(this.root);
    for (const time of this.root.querySelectorAll<HTMLTimeElement>("[data-time]")) time.textContent = moment(time.dateTime);
    for (const button of this.buttons) button.addEventListener("click", () => void this.revoke(data(button, "revoke")));
    this.enable(true);
    this.root.querySelector<HTMLElement>("[data-ended]")?.focus();
  }

  /** Revokes one and asks for the page again. Revoking is idempotent, so a request that may be lost can be sent again. */
  private async revoke(id: string): Promise<void> {
    this.enable(false);
    this.show("[data-problem]", "");
    this.show("[data-progress]", this.say("revoking"));
    try {
      await postWithRetry("/standing/revoke", { ticket: data(this.root, "ticket"), id }, () => this.show("[data-progress]", this.say("busy")));
      find<HTMLInputElement>("[name=ended]", this.root).value = id;
      return find<HTMLFormElement>("[data-again]", this.root).submit();
    } catch (error) {
      this.show("[data-problem]", this.reason(error));
    }
    this.show("[data-progress]", "");
    this.enable(true);
  }

  private reason(error: unknown): string {
    if (error instanceof Problem) return this.say("unavailable") + (error.requestID ? ` ${this.say("reference", { id: error.requestID })}` : "");
    return this.say(error instanceof Unreachable ? "offline" : "unavailable");
  }

  private enable(on: boolean): void {
    for (const button of this.buttons) button.disabled = !on;
  }

  private show(selector: string, text: string): void {
    const where = find(selector, this.root);
    where.textContent = text;
    where.hidden = text === "";
  }
}

followFragment();
const form = document.querySelector<HTMLFormElement>("form[data-open]");
const shown = document.querySelector<HTMLElement>("[data-ticket]");
if (form) open(form);
else storeTicket(shown ? data(shown, "ticket") : "");
if (document.querySelector("#closed [data-actions]")) new Closed();
if (document.querySelector("#approvals")) new Page();
