// The page on which a user registers a passkey. The grant is in the fragment of the link, which browsers do not send. The page
// removes it from the address at once and stores it in the tab's history entry for a reload.
import { ceremonyMessage } from "./lib/ceremony";
import { data, find, make, type Part, visible } from "./lib/dom";
import { post, Problem, Unreachable } from "./lib/http";
import { cleanPath, inLanguage, keepInLanguageLinks, messagesOf } from "./lib/messages";
import { CeremonyError, registration, supported } from "./lib/webauthn";

interface Standing {
  state: string;
  account?: Part[];
  passkeys?: number;
  sandbox?: boolean;
  customer?: Part[];
  logo?: string;
  accent?: string;
  language?: string;
  expires_in_ms?: number;
  return_url?: string;
  message?: string;
  publicKey?: PublicKeyCredentialCreationOptionsJSON;
}

interface Grant {
  grant: string;
  return_url: string;
}

/** Returns the grant of the fragment (#grant=...&return=..., or the token alone), or the one stored by an earlier visit in this tab. */
function grantOf(): Grant | undefined {
  const fragment = window.location.hash.slice(1);
  if (fragment === "") return (history.state as Grant | null) ?? undefined;
  const fields = new URLSearchParams(fragment);
  const found = { grant: fields.get("grant") ?? fragment, return_url: fields.get("return") ?? "" };
  history.replaceState(found, "", cleanPath());
  return found;
}

class Page {
  private readonly root = find("#register");
  private readonly create = find<HTMLButtonElement>("[data-create]", this.root);
  private readonly problem = find("[data-problem]", this.root);
  private readonly progress = find("[data-progress]", this.root);
  private readonly grant = grantOf();
  private readonly say = messagesOf(this.root);
  private by = "";
  private made: unknown; // a credential that may not have arrived
  private busy = false;

  async start(): Promise<void> {
    if (!this.grant) return this.show("unknown");
    keepInLanguageLinks(new URLSearchParams({ grant: this.grant.grant, return: this.grant.return_url }).toString());
    this.create.addEventListener("click", () => void this.once());
    window.addEventListener("hashchange", () => window.location.reload()); // a new link pasted into this tab
    try {
      const asked = data(this.root, "asked") === "true";
      const standing = await post<Standing>(asked ? inLanguage("/register/open") : "/register/open", this.grant);
      if (!this.reloads(standing)) this.apply(standing);
    } catch {
      find("[data-opening]", this.root).textContent = this.say("unreachable");
    }
  }

  private async once(): Promise<void> {
    if (this.busy) return;
    this.busy = this.create.disabled = true;
    this.setText(this.problem, "");
    try {
      await this.register();
    } catch (error) {
      this.failed(error);
    } finally {
      this.busy = this.create.disabled = false;
      this.setText(this.progress, "");
      if (this.root.dataset["state"] === "open") this.create.focus(); // a disabled button loses the focus
    }
  }

  private async register(): Promise<void> {
    if (!supported()) return this.setText(this.problem, this.say("unsupported"));
    if (!this.made) {
      const standing = await post<Standing>(inLanguage("/register/options"), this.grant);
      this.apply(standing);
      if (!standing.publicKey) return;
      this.setText(this.progress, this.say("creating"));
      this.made = await registration(standing.publicKey, new AbortController().signal);
    }
    this.setText(this.progress, this.say("registering"));
    const standing = await post<Standing>(inLanguage("/register/complete"), { ...this.grant, credential: this.made });
    this.made = undefined;
    this.apply(standing);
  }

  private apply(standing: Standing): void {
    if (standing.customer) this.brand(standing);
    if (standing.account) this.fill(standing);
    if (standing.message) this.setText(this.problem, standing.message);
    this.show(standing.state);
  }

  private fill(standing: Standing): void {
    find("[data-account]", this.root).replaceChildren(visible(standing.account ?? [], this.say("invisible")));
    find("[data-passkeys]", this.root).textContent = standing.passkeys ? String(standing.passkeys) : this.say("none");
    if (standing.expires_in_ms) window.setTimeout(() => this.expire(), standing.expires_in_ms);
    if (!standing.return_url) return;
    const back = find<HTMLAnchorElement>("[data-back]", this.root);
    back.href = standing.return_url;
    back.textContent = this.say("back", { host: back.host });
    find("[data-back-row]", this.root).hidden = false;
  }

  /** Puts the customer's name, logo and colour into the page, also if the link has ended. */
  private brand(standing: Standing): void {
    const customer = find("[data-customer]");
    const name = visible(standing.customer ?? [], this.say("invisible"));
    for (const place of this.root.querySelectorAll("[data-by]")) place.replaceChildren(name.cloneNode(true));
    this.by = name.textContent ?? "";
    find("[data-sandbox]").hidden = !standing.sandbox;
    customer.replaceChildren(...(standing.logo ? [make("img", { class: "logo", src: standing.logo, alt: "" })] : []), name);
    customer.hidden = false;
    document.title = `${document.title.split(" – ")[0] ?? ""} – ${name.textContent ?? ""}`;
    if (standing.accent) document.head.append(make("link", { rel: "stylesheet", href: standing.accent }));
  }

  /** Loads the page in the environment's language if the user did not ask for one; reports whether it does. */
  private reloads(standing: Standing): boolean {
    const language = standing.language ?? document.documentElement.lang;
    if (data(this.root, "asked") === "true" || language === document.documentElement.lang) return false;
    history.replaceState(history.state, "", `${window.location.pathname}?lang=${encodeURIComponent(language)}`);
    window.location.reload();
    return true;
  }

  /** Ends the page when the grant expires; the service refuses a registration that is under way. */
  private expire(): void {
    if (!this.busy && this.root.dataset["state"] === "open") this.show("expired");
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
    if (state === "registered") history.replaceState(null, "", cleanPath()); // the grant is spent
  }

  private failed(error: unknown): void {
    if (error instanceof CeremonyError) {
      return this.setText(this.problem, error.reason === "NotAllowedError" ? this.say("not_created") : ceremonyMessage(error, this.by, this.say));
    }
    if (error instanceof Problem) {
      const reference = error.requestID ? ` ${this.say("reference", { id: error.requestID })}` : "";
      return this.setText(this.problem, this.say("unavailable") + reference);
    }
    this.setText(this.problem, this.say(error instanceof Unreachable ? "offline" : "other"));
  }

  private setText(where: HTMLElement, text: string): void {
    where.textContent = text;
    where.hidden = text === "";
  }
}

void new Page().start();
