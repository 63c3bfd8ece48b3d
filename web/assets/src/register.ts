// The page on which a person registers a passkey. Its grant comes in the address's fragment, which no request carries; the
// page takes it out of the address at once and keeps it in this tab's history entry, so that a reload still works.
import { told } from "./lib/ceremony";
import { find, type Part, visible } from "./lib/dom";
import { post, Problem } from "./lib/http";
import { registration, supported } from "./lib/webauthn";

interface Standing {
  state: string;
  by?: Part[];
  account?: Part[];
  passkeys?: number;
  sandbox?: boolean;
  expires_in_ms?: number;
  return_url?: string;
  message?: string;
  publicKey?: PublicKeyCredentialCreationOptionsJSON;
}

interface Grant {
  grant: string;
  return_url: string;
}

/** The grant of the fragment (#grant=...&return=..., or the token alone), or of a visit of this tab before. */
function grantOf(): Grant | undefined {
  const fragment = window.location.hash.slice(1);
  if (fragment === "") return (history.state as Grant | null) ?? undefined;
  const fields = new URLSearchParams(fragment);
  const found = { grant: fields.get("grant") ?? fragment, return_url: fields.get("return") ?? "" };
  history.replaceState(found, "", window.location.pathname);
  return found;
}

class Page {
  private readonly root = find("#register");
  private readonly create = find<HTMLButtonElement>("[data-create]", this.root);
  private readonly problem = find("[data-problem]", this.root);
  private readonly progress = find("[data-progress]", this.root);
  private readonly grant = grantOf();
  private by = "";
  private made: unknown; // a credential of which it is not known whether it arrived
  private busy = false;

  async start(): Promise<void> {
    if (!this.grant) return this.show("gone");
    this.create.addEventListener("click", () => void this.once());
    window.addEventListener("hashchange", () => window.location.reload()); // another link, pasted into this tab
    try {
      this.take(await post<Standing>("/register/open", this.grant));
    } catch {
      find("[data-opening]", this.root).textContent = "The service cannot be reached. Reload this page when you are back online.";
    }
  }

  private async once(): Promise<void> {
    if (this.busy) return;
    this.busy = this.create.disabled = true;
    this.say(this.problem, "");
    try {
      await this.register();
    } catch (error) {
      this.failed(error);
    } finally {
      this.busy = this.create.disabled = false;
      this.say(this.progress, "");
      if (this.root.dataset["state"] === "open") this.create.focus(); // a disabled button loses the focus
    }
  }

  private async register(): Promise<void> {
    if (!supported()) return this.say(this.problem, "This browser cannot use passkeys. Open the link on another device.");
    if (!this.made) {
      const answer = await post<Standing>("/register/options", this.grant);
      this.take(answer);
      if (!answer.publicKey) return;
      this.say(this.progress, "Your browser makes the passkey now.");
      this.made = await registration(answer.publicKey, new AbortController().signal);
    }
    this.say(this.progress, "Registering your passkey.");
    const answer = await post<Standing>("/register/complete", { ...this.grant, credential: this.made });
    this.made = undefined;
    this.take(answer);
  }

  private take(answer: Standing): void {
    if (answer.by) this.fill(answer);
    if (answer.message) this.say(this.problem, answer.message);
    this.show(answer.state);
  }

  private fill(answer: Standing): void {
    for (const place of this.root.querySelectorAll("[data-by]")) place.replaceChildren(visible(answer.by ?? []));
    this.by = find("[data-by]", this.root).textContent ?? "";
    find("[data-account]", this.root).replaceChildren(visible(answer.account ?? []));
    find("[data-passkeys]", this.root).textContent = answer.passkeys ? String(answer.passkeys) : "none";
    find("[data-sandbox]").hidden = !answer.sandbox;
    if (answer.expires_in_ms) window.setTimeout(() => this.over(), answer.expires_in_ms);
    if (!answer.return_url) return;
    const back = find<HTMLAnchorElement>("[data-back]", this.root);
    back.href = answer.return_url;
    back.textContent = `Go back to ${back.host}`;
    find("[data-back-row]", this.root).hidden = false;
  }

  /** The grant's time is up; a registration that is under way is told so by the service. */
  private over(): void {
    if (!this.busy && this.root.dataset["state"] === "open") this.show("gone");
  }

  private show(state: string): void {
    if (this.root.dataset["state"] === state) return;
    this.root.dataset["state"] = state;
    for (const panel of this.root.querySelectorAll<HTMLElement>("[data-panel]")) panel.hidden = panel.dataset["panel"] !== state;
    this.create.disabled = state !== "open";
    const heading = find(`[data-panel="${CSS.escape(state)}"] h1`, this.root);
    if (state === "open") return;
    document.title = `${heading.textContent ?? ""} – ${document.title.split(" – ").pop() ?? ""}`;
    heading.focus();
    if (state === "registered") history.replaceState(null, "", window.location.pathname); // the grant is spent
  }

  private failed(error: unknown): void {
    if (error instanceof DOMException) return this.say(this.problem, told(error, this.by) ?? "");
    if (error instanceof Problem) {
      const reference = error.requestID ? ` If you ask for help, quote ${error.requestID}.` : "";
      return this.say(this.problem, `The service could not take that just now. Try again.${reference}`);
    }
    this.say(this.problem, "The connection is lost. Try again when you are back online.");
  }

  private say(where: HTMLElement, text: string): void {
    where.textContent = text;
    where.hidden = text === "";
  }
}

void new Page().start();
