// A simulated payment: the decision, its explanation, its proof, and the refusal when the proof is used twice.
import { make } from "../lib/dom";
import { get, post, Problem } from "../lib/http";
import { plain, tone, type DecisionAnswer, type Requirement, type Trace } from "./types";

const pollEvery = 1500;
/** What became of the payment, in one sentence. */
const payoffs: Record<string, string> = {
  allow: "The money goes out at once: the service vouches for who is typing, so there was nothing to confirm.",
  confirmed: "The bank may send it, because you confirmed it: typing alone was not enough.",
  challenge: "The money stays until you confirm with your passkey, which a stranger at your keyboard does not have. Here it is a click.",
  hold: "The money stays until a reviewer at the bank has approved it.",
  deny: "The bank does not send it.",
};

export class Payment {
  private poll: number | undefined;
  /** The id of the decision that is shown; empty for none. */
  decision = "";

  constructor(
    private readonly button: HTMLButtonElement,
    private readonly into: HTMLElement,
    private readonly session: () => string,
    private readonly before: () => Promise<void>,
  ) {
    button.addEventListener("click", () => void this.pay());
  }

  private async pay(): Promise<void> {
    window.clearTimeout(this.poll);
    this.button.disabled = true;
    try {
      await this.before();
      await this.show(await post<DecisionAnswer>("/try/pay", { session: this.session() }));
    } catch (error) {
      this.into.replaceChildren(make("p", { class: "note bad" }, error instanceof Problem ? error.detail : "The service cannot be reached."));
    } finally {
      this.button.disabled = false;
    }
  }

  /** Shows an earlier decision again, or its follow-up decision. */
  async restore(id: string): Promise<void> {
    await this.show(await get<DecisionAnswer>(`/try/decision?id=${encodeURIComponent(id)}`));
  }

  private async show({ trace, request }: DecisionAnswer): Promise<void> {
    const { decision } = trace;
    this.decision = trace.id;
    const head = make("p", { class: `note ${tone(decision)} outcome` }, make("strong", {}, decision), ` ${payoffs[trace.parent && decision === "allow" ? "confirmed" : decision] ?? ""}`);
    const parts: Node[] = [head, ...details(trace), explanation(trace)];
    if (request) parts.push(json("What the bank asked", request));
    if (trace.proof?.compact) parts.push(this.proof(trace.proof.compact));
    if (decision === "challenge" && trace.challenge?.status === "open") parts.push(await this.challenge(trace));
    this.into.replaceChildren(...parts);
  }

  private async challenge(trace: Trace): Promise<HTMLElement> {
    const { url } = await post<{ url: string }>("/try/confirm", { authorization: trace.id });
    const link = make("a", { class: "button", href: new URL(url).pathname + new URL(url).hash, target: "_blank", rel: "noopener" }, "Confirm on the hosted page");
    this.wait(trace.id);
    return make("div", { class: "buttons" }, link, make("span", { class: "fine" }, "This page updates when you are done."));
  }

  /** Polls a challenge until it has a follow-up decision or has ended. */
  private wait(id: string): void {
    this.poll = window.setTimeout(async () => {
      try {
        const latest = await get<DecisionAnswer>(`/try/decision?id=${encodeURIComponent(id)}`);
        // The follow-up decision of a completed challenge may have been written between the two reads of the server.
        if (latest.trace.id === id && ["open", "completed"].includes(latest.trace.challenge?.status ?? "")) this.wait(id);
        else await this.show(latest);
      } catch {
        this.wait(id);
      }
    }, pollEvery);
  }

  private proof(compact: string): HTMLElement {
    const [header, claims] = compact.split(".").slice(0, 2).map(decoded);
    const said = make("p", { class: "fine", role: "status" });
    const use = make("button", { class: "button", type: "button" }, "Use the proof, as the bank would");
    use.addEventListener("click", () => void this.use(compact, use, said));
    const text = make("p", { class: "compact", tabindex: "0" }, make("code", {}, compact));
    return make("div", { class: "proof" }, make("h3", {}, "The proof"), text, json("What it says", { header, claims }), make("div", { class: "buttons" }, use), said);
  }

  private async use(compact: string, button: HTMLButtonElement, said: HTMLElement): Promise<void> {
    button.disabled = true;
    try {
      const result = await post<{ valid: boolean; reason_codes: string[] }>("/try/verify", { proof: compact });
      said.textContent = result.valid
        ? "Valid and consumed: the bank sends the money. Try to use it again."
        : `Refused: ${result.reason_codes.map(plain).join(", ")}. A proof is valid for one payment.`;
    } catch (error) {
      said.textContent = error instanceof Problem ? error.detail : "The service cannot be reached.";
    } finally {
      button.disabled = false;
    }
  }
}

/** The details that the person confirms, as the hosted page shows them. */
function details(trace: Trace): HTMLElement[] {
  if (!trace.display) return [];
  const rows = trace.display.details.map((d) => make("div", {}, make("dt", {}, d.label), make("dd", {}, d.value)));
  return [make("dl", { class: "shown" }, ...rows)];
}

function explanation(trace: Trace): HTMLElement {
  const cells = (r: Requirement): HTMLElement =>
    make("tr", {}, make("th", { scope: "row" }, plain(r.requirement)), make("td", {}, plain(r.wanted) || "–"), make("td", {}, plain(r.found) || "–"),
      make("td", {}, make("span", { class: `tag ${r.passed ? "good" : tone(r.effect)}` }, r.passed ? (r.compensated_by ? `met by ${plain(r.compensated_by)}` : "met") : r.effect)));
  const table = make("table", {},
    make("thead", {}, make("tr", {}, ...["Requirement", "Required", "Found", "Result"].map((h) => make("th", { scope: "col" }, h)))),
    make("tbody", {}, ...trace.explanation.map(cells)));
  const took = make("p", { class: "fine" }, `Decided in ${trace.latency_ms} ms as ${trace.id}. Reasons: ${trace.reason_codes.map(plain).join(", ") || "none"}.`);
  const scroll = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Requirements" }, table);
  return make("details", { class: "more" }, make("summary", {}, "Why"), scroll, took);
}

function json(title: string, value: unknown): HTMLElement {
  return make("details", { class: "more" }, make("summary", {}, title), make("pre", { tabindex: "0" }, JSON.stringify(value, null, 2)));
}

function decoded(part: string): unknown {
  const bytes = Uint8Array.from(atob(part.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}
