// The page on which a person answers a challenge: asks for the passkey, sends the answer once, and follows what becomes of
// the challenge here or anywhere else. Its ticket comes in the address's fragment, which no request carries: the page takes it
// out of the address at once, sends it in the bodies of its requests, and keeps it in this tab's history entry, so that a
// reload still works.
import { Countdown } from "./challenge/countdown";
import { pointBack, showEnding } from "./challenge/endings";
import { framed, told } from "./lib/ceremony";
import { data, find, make } from "./lib/dom";
import { deliver, post, Problem } from "./lib/http";
import { assertion, supported } from "./lib/webauthn";

interface Standing {
  state: string;
  now?: string;
  expires_at?: string;
  message?: string;
  publicKey?: PublicKeyCredentialRequestOptionsJSON;
}

const pollEvery = 3_000;

/** The ticket of the fragment, or of a visit of this tab before. */
function ticketOf(): string {
  const fragment = window.location.hash.slice(1);
  return fragment === "" ? ((history.state as { ticket?: string } | null)?.ticket ?? "") : fragment;
}

/** Keeps the ticket out of the address, and a reload from sending a form again. */
function keep(ticket: string): void {
  history.replaceState({ ticket }, "", window.location.pathname);
}

/** Sends the ticket as a form would, which answers with the page of its challenge. */
function open(form: HTMLFormElement): void {
  const ticket = ticketOf();
  keep(ticket);
  find<HTMLInputElement>("input", form).value = ticket;
  form.submit();
}

class Page {
  private readonly root = find("#challenge");
  private readonly ticket = data(this.root, "ticket");
  private readonly path = window.location.pathname;
  private readonly problem = find("[data-problem]", this.root);
  private readonly progress = find("[data-progress]", this.root);
  private readonly buttons = [...this.root.querySelectorAll<HTMLButtonElement>("[data-actions] button")];
  private readonly by = find("[data-request] .eyebrow bdi", this.root).textContent ?? "";
  private ceremony = new AbortController();
  private busy = false;
  private unsent: unknown; // an answer of which it is not known whether it arrived
  private poll: number | undefined;
  private readonly countdown: Countdown;

  constructor() {
    const now = data(this.root, "now");
    const expires = data(this.root, "expires");
    const whole = Date.parse(expires) - Date.parse(now);
    this.countdown = new Countdown(this.root, Date.parse(expires), whole, () => this.end("expired"));
    keep(this.ticket);
    pointBack(this.root);
    if (data(this.root, "state") !== "open") return;
    this.countdown.sync(now, expires);
    this.listen();
    this.refuseFrame();
    this.enable(true);
    this.watch();
  }

  private listen(): void {
    this.on("[data-passkey]", () => this.confirmByPasskey());
    this.on("[data-confirm]", () => this.send("complete", { method: "sandbox_confirm" }));
    this.on("[data-cancel]", () => this.send("cancel", {}));
    document.addEventListener("visibilitychange", () => this.watch());
    window.addEventListener("pageshow", () => this.watch());
    window.addEventListener("online", () => this.watch());
  }

  private on(selector: string, act: () => Promise<void>): void {
    this.root.querySelector(selector)?.addEventListener("click", () => void this.once(act));
  }

  /** One thing at a time: a second click while the first is under way does nothing. */
  private async once(act: () => Promise<void>): Promise<void> {
    if (this.busy || !this.open()) return;
    this.busy = true;
    const focused = document.activeElement;
    this.enable(false);
    this.say(this.problem, "");
    try {
      await act();
    } catch (error) {
      this.failed(error);
    } finally {
      this.busy = false;
      this.say(this.progress, "");
      this.enable(true);
      if (this.open() && focused instanceof HTMLElement && focused.isConnected) focused.focus(); // a disabled button loses it
    }
  }

  private async confirmByPasskey(): Promise<void> {
    if (!supported()) return this.say(this.problem, "This browser cannot use passkeys. Open the link on another device.");
    const answer = await post<Standing>(`${this.path}/options`, { ticket: this.ticket });
    this.take(answer);
    if (!answer.publicKey) return;
    this.say(this.progress, "Your browser asks for your passkey now.");
    this.ceremony = new AbortController();
    const signed = await assertion(answer.publicKey, this.ceremony.signal);
    await this.send("complete", { method: "passkey", assertion: signed });
  }

  /** Sends the answer. The same again does no harm, so what may have been lost on the way is sent again as it was. */
  private async send(move: "complete" | "cancel", body: object): Promise<void> {
    this.say(this.progress, move === "cancel" ? "Cancelling." : "Sending your confirmation.");
    this.unsent = { move, body };
    const answer = await deliver<Standing>(`${this.path}/${move}`, { ...body, ticket: this.ticket }, () => {
      this.say(this.progress, "The service is busy. Trying again.");
    });
    this.unsent = undefined;
    this.take(answer);
  }

  private failed(error: unknown): void {
    if (error instanceof DOMException) return this.say(this.problem, told(error, this.by) ?? "");
    if (error instanceof Problem) {
      const reference = error.requestID ? ` If you ask for help, quote ${error.requestID}.` : "";
      return this.say(this.problem, `The service could not take that just now; nothing is lost. Try again.${reference}`, this.retry());
    }
    this.say(this.problem, "The connection is lost. Nothing is lost with it: try again when you are back online.", this.retry());
  }

  /** A button that sends what may not have arrived; nothing where there is nothing to send. */
  private retry(): HTMLButtonElement | undefined {
    if (!this.unsent) return undefined;
    const { move, body } = this.unsent as { move: "complete" | "cancel"; body: object };
    const button = make("button", { type: "button", class: "button small", "data-retry": "" }, "Try again");
    button.addEventListener("click", () => void this.once(() => this.send(move, body)));
    return button;
  }

  /** Takes the server's word for where the challenge stands. */
  private take(answer: Standing): void {
    if (answer.state !== "open") return this.end(answer.state);
    if (answer.now && answer.expires_at) this.countdown.sync(answer.now, answer.expires_at);
    if (answer.message) this.say(this.problem, answer.message);
  }

  private end(state: string): void {
    this.countdown.stop();
    window.clearTimeout(this.poll);
    this.ceremony.abort();
    // A link ends with its challenge, so a challenge that is gone after its time has run out.
    const over = Date.now() >= Date.parse(data(this.root, "expires"));
    showEnding(this.root, state === "gone" && over ? "expired" : state);
  }

  private open(): boolean {
    return data(this.root, "state") === "open";
  }

  /** Follows the challenge while the page is looked at: another tab or the relying party may settle it. */
  private watch(): void {
    window.clearTimeout(this.poll);
    if (!this.open() || document.visibilityState === "hidden") return;
    this.poll = window.setTimeout(() => void this.look(), pollEvery);
  }

  private async look(): Promise<void> {
    try {
      if (navigator.onLine) this.take(await post<Standing>(`${this.path}/standing`, { ticket: this.ticket }));
    } catch {
      // The next look may succeed; whoever acts meanwhile is told.
    }
    this.watch();
  }

  private refuseFrame(): void {
    const button = this.root.querySelector("[data-passkey]");
    if (!button || !framed()) return;
    const link = make("a", { class: "button primary", href: `${this.path}#${this.ticket}`, target: "_blank", rel: "noopener noreferrer" });
    link.append("Confirm with your passkey in a new tab");
    button.replaceWith(link);
  }

  private enable(on: boolean): void {
    for (const button of this.buttons) button.disabled = !on;
  }

  private say(where: HTMLElement, text: string, action?: HTMLElement): void {
    where.replaceChildren(text, ...(action ? [" ", action] : []));
    where.hidden = text === "";
  }
}

/** Another link, pasted into this tab, opens its own request; a jump within the page keeps the ticket that it has. */
function moved(): void {
  const fragment = window.location.hash.slice(1);
  if (fragment !== "" && !document.getElementById(fragment)) return window.location.reload();
  keep(document.querySelector<HTMLElement>("#challenge")?.dataset["ticket"] ?? "");
}

window.addEventListener("hashchange", moved);
const form = document.querySelector<HTMLFormElement>("form[data-open]");
if (form) open(form);
else if (document.querySelector("#challenge")) new Page();
else keep("");
