// The page of a link for a client before the user has used a passkey: it shows nothing of the request. A ceremony that signs only the link
// opens it for this browser, which then asks for the page again.
import { ceremonyMessage } from "../lib/ceremony";
import { data, find } from "../lib/dom";
import { post, postWithRetry, Problem, Unreachable } from "../lib/http";
import { inLanguage, messagesOf } from "../lib/messages";
import { CeremonyError, assertion, supported } from "../lib/webauthn";
import { replaceButtonInFrame } from "./framed";

interface Opening {
  state: string;
  message?: string;
  publicKey?: PublicKeyCredentialRequestOptionsJSON;
}

export class Closed {
  private readonly root = find("#closed");
  private readonly ticket = data(this.root, "ticket");
  private readonly path = `${window.location.pathname}/opening`;
  private readonly say = messagesOf(this.root);
  private readonly buttons = [...this.root.querySelectorAll<HTMLButtonElement>("[data-actions] button")];

  constructor() {
    this.on("[data-passkey]", () => this.openByPasskey());
    this.on("[data-confirm]", () => this.send({ method: "sandbox_confirm" }));
    replaceButtonInFrame(this.root, this.ticket, this.say);
    this.enable(true);
  }

  private on(selector: string, act: () => Promise<void>): void {
    this.root.querySelector(selector)?.addEventListener("click", () => void this.once(act));
  }

  private async once(act: () => Promise<void>): Promise<void> {
    this.enable(false);
    this.show("[data-problem]", "");
    try {
      await act();
    } catch (error) {
      this.show("[data-problem]", this.reason(error));
    }
    this.show("[data-progress]", "");
    this.enable(true);
  }

  private async openByPasskey(): Promise<void> {
    if (!supported()) return this.show("[data-problem]", this.say("unsupported"));
    const opening = await post<Opening>(inLanguage(`${this.path}/options`), { ticket: this.ticket });
    if (!opening.publicKey) return this.apply(opening);
    this.show("[data-progress]", this.say("asking"));
    const signed = await assertion(opening.publicKey, new AbortController().signal);
    await this.send({ method: "passkey", assertion: signed });
  }

  private async send(body: object): Promise<void> {
    this.show("[data-progress]", this.say("opening"));
    this.apply(await postWithRetry<Opening>(inLanguage(this.path), { ...body, ticket: this.ticket }, () => this.show("[data-progress]", this.say("busy"))));
  }

  /** Shows a refusal; every other state has a page of its own. */
  private apply(opening: Opening): void {
    if (opening.state === "closed") return this.show("[data-problem]", opening.message ?? "");
    find<HTMLFormElement>("[data-again]", this.root).submit();
  }

  private reason(error: unknown): string {
    if (error instanceof CeremonyError) return ceremonyMessage(error, data(this.root, "by"), this.say);
    if (error instanceof Problem) return this.say("unavailable") + (error.requestID ? ` ${this.say("reference", { id: error.requestID })}` : "");
    return this.say(error instanceof Unreachable ? "offline" : "other");
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
