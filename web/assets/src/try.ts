// The page for trying the service: enroll, be recognised, hand over the keyboard, pay.
import { createCollector, type Ack, type Collector, type Frame } from "../../../sdk/js/src/collector/index";
import { data, find } from "./lib/dom";
import { get, post, Problem } from "./lib/http";
import { Frames } from "./try/frames";
import { Payment } from "./try/payment";
import { Strip } from "./try/strip";
import { Timeline } from "./try/timeline";
import type { Claim, StateAnswer } from "./try/types";
import { showVerdict } from "./try/verdict";

const passageKeys = 110;
const frameKeys = 50;
const strangerFrames = 3;
const learningTries = 40;
const learningPause = 1_500;
const firstWait = 9_000; // ms, about the time to type the first frame

const troubles: Record<string, string> = {
  network: "The service cannot be reached. Your frames are stored and sent when it is back.",
  service: "The service is busy. Your frames are stored and sent soon.",
  token: "This visit has ended. Reload the page to start a new one.",
};

class Try {
  private readonly root = find("#try");
  private readonly passages = JSON.parse(data(this.root, "passages")) as string[];
  private readonly enrollText = find<HTMLTextAreaElement>("#enroll-text");
  private readonly freeText = find<HTMLTextAreaElement>("#free-text");
  private readonly next = find<HTMLButtonElement>("#next");
  private readonly handOver = find<HTMLButtonElement>("#hand-over");
  private readonly strangerButton = find<HTMLButtonElement>("#stranger");
  private readonly strip = new Strip(find("#strip"));
  private readonly timeline = new Timeline(find("#timeline"));
  private readonly frames = new Frames(find("#frames"), find("#frames-summary"));
  private collector: Collector | undefined;
  private session = "";
  private passage = 0;
  private keys = 0; // since the last frame, or since the passage began
  private handed = false;
  private readonly handedFrames = new Set<string>(); // typed after the keyboard was handed over
  private sinceHanded = 0;
  private noticed = false;
  private recognised = false;

  constructor() {
    this.on("#agree", () => this.begin());
    this.next.addEventListener("click", () => void this.guard(this.nextPassage()));
    this.handOver.addEventListener("click", () => this.hand());
    this.strangerButton.addEventListener("click", () => void this.guard(this.stranger()));
    this.on("#forget", () => this.forget());
    new Payment(find<HTMLButtonElement>("#pay-button"), find("#decision"), () => this.session, async () => this.collector?.flush());
    for (const field of [this.enrollText, this.freeText]) {
      field.addEventListener("keydown", (e) => this.pressed(e));
      field.addEventListener("keyup", (e) => this.strip.up(e.code, e.timeStamp));
    }
  }

  /** Runs one click handler at a time: the button is disabled meanwhile. */
  private on(selector: string, work: () => Promise<void>): void {
    const button = find<HTMLButtonElement>(selector);
    button.addEventListener("click", async () => {
      button.disabled = true;
      await this.guard(work());
      button.disabled = false;
    });
  }

  /** Shows an error in the visible panel. */
  private async guard(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.status(error instanceof Problem ? error.detail : "The service cannot be reached. Try again.", true);
    }
  }

  private status(text: string, bad = false): void {
    const stage = find("#stage");
    const place = stage.hidden ? find("#intro-problem") : find(find("#enroll").hidden ? "#free-status" : "#enroll-status");
    place.hidden = false;
    place.textContent = text;
    place.classList.toggle("problem", bad);
  }

  private step(name: string): void {
    for (const item of this.root.querySelectorAll<HTMLElement>("[data-step]")) {
      if (item.dataset["step"] === name) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    }
  }

  private async begin(): Promise<void> {
    const visitor = await post<{ subject: string; enrollment: string }>("/try/begin");
    find("#intro").hidden = true;
    find("#stage").hidden = false;
    find("#subject").textContent = visitor.subject;
    if (visitor.enrollment === "enrolled") await this.free();
    else await this.showPassage();
  }

  /** Ends the current session and starts a new one with a collector. */
  private async observe(purpose: "enroll" | "score"): Promise<void> {
    await this.collector?.stop();
    const device = matchMedia("(pointer: coarse)").matches ? "mobile" : "desktop";
    this.session = (await post<{ session: string }>("/try/session", { previous: this.session, device })).session;
    this.collector = createCollector({
      baseURL: location.origin,
      session: this.session,
      purpose,
      consent: true, // given by the button that began this
      token: (ask) => post<{ client_token: string; expires_at: number }>("/try/token", ask),
      onFrame: (frame) => this.frame(frame),
      onAck: (ack, frame) => void this.acked(ack, frame),
      onState: (state, reason) => {
        if (state === "ended" && reason !== "stopped" && reason !== "consent_withdrawn") this.status("This session has ended. Reload the page to start a new one.", true);
      },
      onError: (error) => this.status(troubles[error.kind] ?? error.detail, true),
    });
  }

  private pressed(e: KeyboardEvent): void {
    if (e.repeat || !e.code) return;
    this.strip.down(e.code, e.timeStamp);
    this.keys++;
    if (!find("#enroll").hidden) {
      find<HTMLProgressElement>("#enroll-progress").value = Math.min(this.keys, passageKeys);
      this.next.disabled = this.keys < passageKeys;
    } else {
      find<HTMLProgressElement>("#free-progress").value = Math.min(this.keys, frameKeys);
    }
  }

  private frame(frame: Frame): void {
    this.frames.sent(frame);
    if (this.handed) this.handedFrames.add(frame.frame_id);
    if (frame.purpose === "score") this.keys = 0;
  }

  private async acked(ack: Ack, frame: Frame): Promise<void> {
    this.frames.acknowledged(ack, frame);
    if (frame.purpose === "score") await this.guard(this.judge(this.handedFrames.has(frame.frame_id)));
  }

  private async showPassage(): Promise<void> {
    this.step("enroll");
    find("#enroll").hidden = false;
    await this.observe("enroll");
    this.keys = 0;
    find("#passage").textContent = this.passages[this.passage % this.passages.length] ?? "";
    find("#passage-number").textContent = `Passage ${this.passage + 1} of ${Math.max(this.passages.length, this.passage + 1)}`;
    find<HTMLProgressElement>("#enroll-progress").value = 0;
    this.next.textContent = this.passage + 1 < this.passages.length ? "Next passage" : "That is me";
    this.next.disabled = true;
    this.enrollText.value = "";
    this.enrollText.focus();
  }

  private async nextPassage(): Promise<void> {
    this.next.disabled = true;
    await this.collector?.stop();
    this.passage++;
    if (this.passage < this.passages.length) {
      await this.showPassage();
      this.status(`${this.passage} of ${this.passages.length} done. Go on.`);
      return;
    }
    this.status("Learning your rhythm…");
    const done = await this.learned();
    if (done.status === "pending") {
      this.next.disabled = false;
      this.passage--;
      this.status("Learning takes longer than usual. Try again.", true);
      return;
    }
    if (done.status === "failed") {
      await this.showPassage();
      this.status("That was not enough. Type one more passage.");
      return;
    }
    await this.free();
  }

  /** Waits for the template. Repeated requests are for the same enrollment. */
  private async learned(): Promise<{ status: string }> {
    for (let tries = 0; ; tries++) {
      const enrollment = await post<{ status: string }>("/try/enroll", { session: this.session });
      if (enrollment.status !== "pending" || tries === learningTries) return enrollment;
      await new Promise((resolve) => window.setTimeout(resolve, learningPause));
    }
  }

  private async free(): Promise<void> {
    this.step("known");
    find("#enroll").hidden = true;
    find("#free").hidden = false;
    find("#pay").hidden = false;
    await this.observe("score");
    this.keys = 0;
    this.status("Enrolled. Now type, and be recognised.");
    this.freeText.focus();
  }

  /** Shows the assessment after a frame. */
  private async judge(handed: boolean): Promise<void> {
    const state = await get<StateAnswer>(`/try/state?session=${encodeURIComponent(this.session)}`);
    if (!state.assessment) return;
    showVerdict(find("#verdict"), state.assessment, state.words ?? {});
    const claim = state.assessment.claims.find((c) => c.claim === "operator_continuity");
    if (!claim) return;
    this.timeline.add({ status: claim.status, handed });
    this.handOver.disabled = this.handed;
    this.strangerButton.disabled = this.handed;
    this.comment(claim, handed);
  }

  private comment(claim: Claim, handed: boolean): void {
    const known = ["confirmed", "likely"].includes(claim.status);
    if (!handed) {
      if (this.handed) return; // the last frame before the handover
      if (known && !this.recognised) this.status("Recognised: the service takes you for the person who enrolled.");
      else if (!known) this.status("Not sure yet. Keep typing. If this does not change, the service may be wrong about you.");
      this.recognised ||= known;
      return;
    }
    if (this.noticed) return;
    this.sinceHanded++;
    this.noticed = claim.status === "not_confirmed";
    const frames = `${this.sinceHanded} ${this.sinceHanded === 1 ? "frame" : "frames"}`;
    if (this.noticed) this.status(`Noticed after ${frames}: this is not the person who enrolled. Try to pay now.`);
    else if (!known) this.status(`After ${frames} the service is no longer sure. A payment now would require a step-up.`);
    else if (this.sinceHanded < strangerFrames) this.status(`After ${frames} the service still takes you for the person who enrolled. Keep typing.`);
    else this.status(`After ${frames} the service has not noticed: a false match. See below how often that happens.`);
  }

  private hand(): void {
    void this.collector?.flush(); // the keys typed so far belong to the enrolled person
    this.handed = true;
    this.handOver.disabled = true;
    this.strangerButton.disabled = true;
    this.step("handed");
    find("#free-heading").textContent = "A different person is typing";
    find("#free-lead").textContent = "The session is the same, and the service is not informed. About a hundred keys are enough.";
    this.keys = 0;
    this.status("Waiting for your colleague's first fifty keys.");
    this.freeText.value = "";
    this.freeText.focus();
  }

  /** Continues the session with a simulated typist, whose frames are assessed like any other. */
  private async stranger(): Promise<void> {
    this.hand();
    find("#free-lead").textContent = "This typist is simulated and was chosen at random. Its timing differs from yours.";
    await this.collector?.flush();
    const seed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 1;
    let wait = firstWait;
    for (let n = 0; n < strangerFrames; n++) {
      this.status(`A simulated typist is typing: frame ${n + 1} of ${strangerFrames}…`);
      await new Promise((resolve) => window.setTimeout(resolve, wait));
      const typed = await post<{ ack: Ack; frame: Frame; next_ms: number }>("/try/stranger", { session: this.session, seed, n });
      this.frames.sent(typed.frame, "a simulated typist");
      this.frames.acknowledged(typed.ack, typed.frame);
      wait = typed.next_ms;
      await this.judge(true);
    }
  }

  private async forget(): Promise<void> {
    await this.collector?.withdrawConsent();
    const { erasure } = await post<{ erasure: string }>("/try/forget");
    find("#stage").hidden = true;
    find("#gone").hidden = false;
    find("#receipt").textContent = erasure;
    find("#gone-heading").focus();
  }
}

new Try();
