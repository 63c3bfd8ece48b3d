// The page on which a user confirms or cancels a challenge. It runs the passkey ceremony, sends the result, and polls the
// challenge, which may be settled elsewhere.
import { Closed } from "./challenge/closed";
import { Countdown } from "./challenge/countdown";
import { showEnding, updateReturnLinks } from "./challenge/endings";
import { replaceButtonInFrame } from "./challenge/framed";
import { ceremonyMessage } from "./lib/ceremony";
import { data, find, make } from "./lib/dom";
import { moment, writeDetails } from "./lib/locale";
import { post, postWithRetry, Problem, Unreachable } from "./lib/http";
import { inLanguage, messagesOf } from "./lib/messages";
import { followFragment, open, storeTicket } from "./lib/ticket";
import { CeremonyError, assertion, supported } from "./lib/webauthn";

interface Standing {
  state: string;
  now?: string;
  expires_at?: string;
  completed_at?: string;
  message?: string;
  publicKey?: PublicKeyCredentialRequestOptionsJSON;
}

const pollInterval = 3_000; // ms

class Page {
  private readonly root = find("#challenge");
  private readonly ticket = data(this.root, "ticket");
  private readonly path = window.location.pathname;
  private readonly problem = find("[data-problem]", this.root);
  private readonly progress = find("[data-progress]", this.root);
  private readonly buttons = [...this.root.querySelectorAll<HTMLButtonElement>("[data-actions] button")];
  private readonly by = data(this.root, "by");
  private readonly say = messagesOf(this.root);
  private ceremony = new AbortController();
  private busy = false;
  private unsent: unknown; // a request that may not have arrived
  private poll: number | undefined;
  private readonly countdown: Countdown;

  constructor() {
    const now = data(this.root, "now");
    const expires = data(this.root, "expires");
    const total = Date.parse(expires) - Date.parse(now);
    this.countdown = new Countdown(this.root, { expires: Date.parse(expires), total, say: this.say }, () => this.end("expired"));
    storeTicket(this.ticket);
    updateReturnLinks(this.root);
    writeDetails(this.root);
    this.nameInButton();
    this.receive(data(find("[data-completed]", this.root), "completed"));
    if (data(this.root, "state") !== "open") return;
    this.countdown.sync(now, expires);
    this.listen();
    replaceButtonInFrame(this.root, this.ticket, this.say);
    this.enable(true);
    this.schedulePoll();
  }

  /** Puts the amount into the button as the page shows it. */
  private nameInButton(): void {
    for (const slot of this.root.querySelectorAll("[data-actions] [data-amount]")) {
      slot.textContent = find('[data-is="amount"]', this.root).textContent;
    }
  }

  /** Completes the receipt with the time of the confirmation. */
  private receive(completedAt: string): void {
    if (completedAt === "") return;
    const at = find<HTMLTimeElement>("[data-completed]", this.root);
    at.dateTime = completedAt;
    at.textContent = moment(completedAt);
  }

  private listen(): void {
    this.on("[data-passkey]", () => this.confirmByPasskey());
    this.on("[data-confirm]", () => this.send("complete", { method: "sandbox_confirm" }));
    this.on("[data-cancel]", () => this.send("cancel", {}));
    document.addEventListener("visibilitychange", () => this.schedulePoll());
    window.addEventListener("pageshow", () => this.schedulePoll());
    window.addEventListener("online", () => this.schedulePoll());
  }

  private on(selector: string, act: () => Promise<void>): void {
    this.root.querySelector(selector)?.addEventListener("click", () => void this.once(act));
  }

  /** Runs one action at a time: clicks are ignored while an action is running. */
  private async once(act: () => Promise<void>): Promise<void> {
    if (this.busy || !this.open()) return;
    this.busy = true;
    const focused = document.activeElement;
    this.enable(false);
    this.show(this.problem, "");
    try {
      await act();
    } catch (error) {
      this.failed(error);
    } finally {
      this.busy = false;
      this.show(this.progress, "");
      this.enable(true);
      if (this.open() && focused instanceof HTMLElement && focused.isConnected) focused.focus(); // a disabled button loses the focus
    }
  }

  private async confirmByPasskey(): Promise<void> {
    if (!supported()) return this.show(this.problem, this.say("unsupported"));
    const standing = await post<Standing>(inLanguage(`${this.path}/options`), { ticket: this.ticket });
    this.apply(standing);
    if (!standing.publicKey) return;
    this.show(this.progress, this.say("asking"));
    this.ceremony = new AbortController();
    const signed = await assertion(standing.publicKey, this.ceremony.signal);
    await this.send("complete", { method: "passkey", assertion: signed });
  }

  /** Sends the confirmation or cancellation. Both are idempotent, so a request that may be lost is sent again unchanged. */
  private async send(move: "complete" | "cancel", body: object): Promise<void> {
    this.show(this.progress, this.say(move === "cancel" ? "cancelling" : "sending"));
    this.unsent = { move, body };
    const standing = await postWithRetry<Standing>(inLanguage(`${this.path}/${move}`), { ...body, ticket: this.ticket }, () => {
      this.show(this.progress, this.say("busy"));
    });
    this.unsent = undefined;
    this.apply(standing);
  }

  private failed(error: unknown): void {
    if (error instanceof CeremonyError) return this.show(this.problem, ceremonyMessage(error, this.by, this.say));
    if (error instanceof Problem) {
      const reference = error.requestID ? ` ${this.say("reference", { id: error.requestID })}` : "";
      return this.show(this.problem, this.say("unavailable") + reference, this.retry());
    }
    this.show(this.problem, this.say(error instanceof Unreachable ? "offline" : "other"), this.retry());
  }

  /** Returns a button that sends the unsent request again; undefined if there is none. */
  private retry(): HTMLButtonElement | undefined {
    if (!this.unsent) return undefined;
    const { move, body } = this.unsent as { move: "complete" | "cancel"; body: object };
    const button = make("button", { type: "button", class: "button small", "data-retry": "" }, this.say("try_again"));
    button.addEventListener("click", () => void this.once(() => this.send(move, body)));
    return button;
  }

  /** Shows the state that the server returned. */
  private apply(standing: Standing): void {
    this.receive(standing.completed_at ?? "");
    if (standing.state === "closed") return window.location.reload(); // the link was opened in a different browser
    if (standing.state !== "open") return this.end(standing.state);
    if (standing.now && standing.expires_at) this.countdown.sync(standing.now, standing.expires_at);
    if (standing.message) this.show(this.problem, standing.message);
  }

  private end(state: string): void {
    this.countdown.stop();
    window.clearTimeout(this.poll);
    this.ceremony.abort();
    // A link ends with its challenge, so a challenge that is gone after its expiry has expired.
    const over = Date.now() >= Date.parse(data(this.root, "expires"));
    showEnding(this.root, state === "gone" && over ? "expired" : state);
  }

  private open(): boolean {
    return data(this.root, "state") === "open";
  }

  /** Polls the challenge while the page is visible: a different tab or the relying party may settle it. */
  private schedulePoll(): void {
    window.clearTimeout(this.poll);
    if (!this.open() || document.visibilityState === "hidden") return;
    this.poll = window.setTimeout(() => void this.pollOnce(), pollInterval);
  }

  private async pollOnce(): Promise<void> {
    try {
      if (navigator.onLine) this.apply(await post<Standing>(`${this.path}/standing`, { ticket: this.ticket }));
    } catch {
      // The next poll may succeed; the user's own actions report errors.
    }
    this.schedulePoll();
  }

  private enable(on: boolean): void {
    for (const button of this.buttons) button.disabled = !on;
  }

  private show(where: HTMLElement, text: string, action?: HTMLElement): void {
    where.replaceChildren(text, ...(action ? [" ", action] : []));
    where.hidden = text === "";
  }
}

followFragment();
const form = document.querySelector<HTMLFormElement>("form[data-open]");
const closed = document.querySelector<HTMLElement>("#closed");
if (form) open(form);
else if (closed) {
  storeTicket(data(closed, "ticket"));
  if (closed.querySelector("[data-actions]")) new Closed();
}
else if (document.querySelector("#challenge")) new Page();
else storeTicket("");
