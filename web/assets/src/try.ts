// The page for trying the service: enroll, be recognised, hand over the keyboard, pay.
import { createCollector, type Ack, type Collector, type Frame, type TypingSeen } from "../../../sdk/js/src/collector/index";
import { data, find, make } from "./lib/dom";
import { get, post, Problem } from "./lib/http";
import { Comments, type Verdict } from "./try/comments";
import { followEngine } from "./try/engine";
import { Frames } from "./try/frames";
import { Regularity, troubleOf, type Trouble } from "./try/keyboard";
import { forgetVisit, recall, remember, type Visit } from "./try/memory";
import { Payment } from "./try/payment";
import { Strip } from "./try/strip";
import { Timeline } from "./try/timeline";
import type { StateAnswer } from "./try/types";
import { showVerdict } from "./try/verdict";

const passageKeys = 110;
const frameKeys = 50;
const strangerFrames = 3;
const learningTries = 40;
const learningPause = 1_500;
const firstWait = 9_000; // ms, about the time to type the first frame
const enrollingFrames = 9; // of the simulated typist, three for each of the sessions that a template takes
const recognisedFrames = 12; // of it after those that show that it is recognised
const simulatedPause = 700; // ms between its frames, much less than typing them takes

const troubles: Record<string, string> = {
  network: "The service cannot be reached. Your frames are stored and sent when it is back.",
  service: "The service is busy. Your frames are stored and sent soon.",
  token: "This visit has ended. Reload the page to start a new one.",
};

const explained: Record<Trouble, string> = {
  hidden: "This keyboard hides when its keys are pressed, as keyboards on touch screens do, so there is nothing to measure. Use a device with a keyboard of its own, or watch a simulated typist.",
  inserted: "Text that appears at once, such as a suggestion or dictation, has no timing, so it counts for nothing. Type it instead.",
  pasted: "Pasted text has no timing, so it counts for nothing. Type it instead.",
  program: "This looks like a program: the keys are more regular than a person's. A program is not enrolled, and the service says so of it below.",
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => window.setTimeout(resolve, ms));

class Try {
  private readonly root = find("#try");
  private readonly passages = JSON.parse(data(this.root, "passages")) as string[];
  private readonly typists = JSON.parse(data(this.root, "typists")) as number[]; // seeds of those that may enroll
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
  private subject = "";
  private passage = 0;
  private keys = 0; // since the last frame, or since the passage began
  private handed = false;
  private readonly handedFrames = new Set<string>(); // typed after the keyboard was handed over
  private readonly comments = new Comments((verdict) => this.climax(verdict));
  private readonly payment: Payment;
  private simulated: Visit["simulated"] = null;
  private seen: TypingSeen | undefined; // how text arrived so far

  constructor() {
    this.on("#agree", () => this.begin());
    this.next.addEventListener("click", () => void this.guard(this.nextPassage()));
    this.handOver.addEventListener("click", () => this.hand());
    this.strangerButton.addEventListener("click", () => void this.guard(this.stranger()));
    this.on("#forget", () => this.forget());
    this.on("#simulate", () => this.simulate());
    this.payment = new Payment(find<HTMLButtonElement>("#pay-button"), find("#decision"), () => this.session, async () => this.collector?.flush());
    for (const field of [this.enrollText, this.freeText]) {
      new Regularity(field, () => this.onScreen || this.explain("program"));
      field.addEventListener("keydown", (e) => this.pressed(e));
      field.addEventListener("keyup", (e) => this.strip.up(e.code, e.timeStamp));
    }
    addEventListener("pagehide", () => this.save());
    void followEngine(find("#engine"));
    if (recall()) void this.guard(this.comeBack());
  }

  private save(): void {
    if (!this.subject) return;
    const { subject, session, passage, keys, handed, simulated } = this;
    remember({ subject, session, passage, keys, handed, simulated, comments: this.comments.state, decision: this.payment.decision, points: this.timeline.all, frames: this.frames.listed });
  }

  /** Continues the visit after a reload. If its data is gone, the welcome stays and asks for consent anew. */
  private async comeBack(): Promise<void> {
    try {
      await get("/try/state");
    } catch (error) {
      if (error instanceof Problem) forgetVisit();
      return;
    }
    await this.begin();
  }

  private async resume(visit: Visit, enrolled: boolean): Promise<void> {
    const { session } = await get<StateAnswer>(`/try/state?session=${encodeURIComponent(visit.session)}`);
    const same = session?.status === "active" ? visit.session : "";
    this.session = visit.session;
    this.passage = visit.passage;
    this.handed = visit.handed;
    this.simulated = visit.simulated;
    this.comments.state = visit.comments;
    this.frames.restore(visit.frames);
    this.timeline.restore(visit.points);
    if (enrolled) {
      await this.free(same);
      if (visit.handed) this.showHanded();
      if (visit.points.length > 0) await this.judge(this.handed, false);
      this.comments.again();
      if (visit.decision) await this.payment.restore(visit.decision);
    } else {
      await this.showPassage(same);
      if (same) this.keys = visit.keys;
      this.progress();
    }
    if (this.simulating) await this.simulate();
  }

  /** Whether the text comes from a keyboard that does not report its keys. */
  private get onScreen(): boolean {
    return this.seen?.keyboard === "touch" || this.seen?.keyboard === "hidden";
  }

  private typed(seen: TypingSeen): void {
    const trouble = troubleOf(seen, this.seen);
    this.seen = seen;
    if (trouble) this.explain(trouble);
  }

  /** Says why the keyboard or the clipboard gives nothing to measure. */
  private explain(trouble: Trouble): void {
    if (this.simulated) return;
    const enrolling = !find("#enroll").hidden;
    const note = find(enrolling ? "#enroll-note" : "#free-note");
    note.hidden = false;
    find("p", note).textContent = explained[trouble];
    find(".buttons", note).hidden = trouble !== "hidden" || !enrolling;
    if (!enrolling && trouble === "hidden") this.strangerButton.disabled = this.handed;
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

  /** Shows the verdict, the last and largest word of the page. Nothing else writes there. */
  private climax({ tone, words, sentence }: Verdict): void {
    const place = find("#climax");
    place.className = `climax ${tone}`;
    place.replaceChildren(make("strong", {}, words), ` ${sentence}`);
    place.hidden = false;
    this.status("");
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
    find("#subject").textContent = this.subject = visitor.subject;
    const enrolled = visitor.enrollment === "enrolled";
    const earlier = recall();
    if (earlier?.subject === visitor.subject) await this.resume(earlier, enrolled);
    else if (enrolled) await this.free();
    else await this.showPassage();
  }

  /** Ends the current session and starts a new one, or continues one, with a collector unless the typist is simulated. */
  private async observe(purpose: "enroll" | "score", same = ""): Promise<void> {
    await this.collector?.stop();
    this.collector = this.seen = undefined;
    const device = matchMedia("(pointer: coarse)").matches && !this.simulated ? "mobile" : "desktop";
    this.session = same || (await post<{ session: string }>("/try/session", { previous: this.session, device })).session;
    this.save();
    if (this.simulated) return;
    this.collector = createCollector({
      baseURL: location.origin,
      session: this.session,
      purpose,
      consent: true, // given by the button that began this
      token: (ask) => post<{ client_token: string; expires_at: number }>("/try/token", ask),
      onFrame: (frame) => this.frame(frame),
      onTyping: (seen) => this.typed(seen),
      onAck: (ack, frame) => void this.acked(ack, frame),
      onState: (state, reason) => {
        if (state === "ended" && reason !== "stopped" && reason !== "consent_withdrawn") this.status("This session has ended. Reload the page to start a new one.", true);
      },
      onError: (error) => this.status(troubles[error.kind] ?? error.detail, true),
    });
  }

  private pressed(e: KeyboardEvent): void {
    if (e.repeat || !e.code || this.onScreen) return;
    this.strip.down(e.code, e.timeStamp);
    this.keys++;
    this.progress();
  }

  private progress(): void {
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
    if (ack.reason_codes.some((code) => code.startsWith("automation"))) this.explain("program");
    if (frame.purpose === "score") await this.guard(this.judge(this.handedFrames.has(frame.frame_id)));
  }

  private async showPassage(same = ""): Promise<void> {
    this.step("enroll");
    find("#enroll").hidden = false;
    await this.observe("enroll", same);
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
      const enrollment = await post<{ status: string; starting: boolean }>("/try/enroll", { session: this.session });
      if (enrollment.starting) tries = 0; // the note above shows the progress
      if (enrollment.status !== "pending" || tries === learningTries) return enrollment;
      await pause(learningPause);
    }
  }

  private async free(same = ""): Promise<void> {
    this.step("known");
    find("#enroll").hidden = true;
    for (const id of ["#free", "#pay", "#after"]) find(id).hidden = false;
    this.handOver.hidden = this.simulated !== null;
    await this.observe("score", same);
    this.keys = 0;
    if (this.simulated) return;
    this.status("Enrolled. Now type, and be recognised.");
    this.freeText.focus();
  }

  /** Shows the assessment after a frame, which counts unless it was shown before. */
  private async judge(handed: boolean, counts = true): Promise<void> {
    const state = await get<StateAnswer>(`/try/state?session=${encodeURIComponent(this.session)}`);
    if (!state.assessment) return;
    showVerdict(find("#verdict"), state.assessment, state.words ?? {});
    const claim = state.assessment.claims.find((c) => c.claim === "operator_continuity");
    if (!claim) return;
    if (this.onScreen && !handed) return; // nothing that could be judged was typed
    if (counts) this.timeline.add({ status: claim.status, handed });
    this.handOver.disabled = this.handed;
    this.strangerButton.disabled = this.handed || this.simulating;
    if (counts) this.comments.add(state.assessment, { handed, late: this.handed && !handed, simulated: this.simulated !== null });
    this.save();
  }

  private hand(): void {
    void this.collector?.flush(); // the keys typed so far belong to the enrolled person
    this.handed = true;
    find("#climax").hidden = true;
    this.showHanded();
    this.keys = 0;
    this.status("Waiting for your colleague's first fifty keys.");
    this.freeText.value = "";
    if (!this.simulated) this.freeText.focus();
    this.save();
  }

  private showHanded(): void {
    this.handOver.disabled = true;
    this.strangerButton.disabled = true;
    this.step("handed");
    find("#free-heading").textContent = "A different person is typing";
    find("#free-lead").textContent = "The session is the same, and the service is not informed. About a hundred keys are enough.";
  }

  /** Continues the session with a simulated typist, whose frames are assessed like any other. */
  private async stranger(): Promise<void> {
    this.hand();
    const different = this.simulated ? "A different simulated typist" : "A simulated typist";
    find("#free-heading").textContent = `${different} is typing`;
    find("#free-lead").textContent = "It was chosen at random, and its timing differs from that of the enrolled person. The service is not informed.";
    await this.collector?.flush();
    const seed = randomSeed();
    let wait = firstWait;
    for (let n = 0; n < strangerFrames; n++) {
      this.status(`Frame ${n + 1} of ${strangerFrames}…`);
      await pause(this.simulated ? simulatedPause : wait);
      wait = await this.type(seed, n, "score");
      await this.judge(true);
    }
    this.status("");
  }

  /** Sends frame n of a simulated typist, and returns how many ms typing the next one takes. */
  private async type(seed: number, n: number, purpose: "enroll" | "score"): Promise<number> {
    const typed = await post<{ ack: Ack; frame: Frame; next_ms: number }>("/try/stranger", { session: this.session, seed, n, purpose });
    this.frames.sent(typed.frame, "a simulated typist");
    this.frames.acknowledged(typed.ack, typed.frame);
    return typed.next_ms;
  }

  /** Whether a simulated typist still types in the visitor's place. No one else takes over before it ends. */
  private get simulating(): boolean {
    return this.simulated !== null && this.simulated.n < recognisedFrames;
  }

  /** Enrolls a simulated typist in the visitor's place and lets it be recognised. A reload continues with its next frame. */
  private async simulate(): Promise<void> {
    const typist = (this.simulated ??= { seed: this.typists[randomSeed() % this.typists.length] ?? 0, n: 0 });
    find("#enroll-note").hidden = true;
    find("#enroll-lead").textContent = "A simulated typist, one of those whom the model recognises, types it in your place and faster than people do.";
    this.enrollText.disabled = this.freeText.disabled = true;
    for (; typist.n < enrollingFrames; typist.n++, this.save()) {
      if (typist.n % 3 === 0) await this.observe("enroll");
      this.status(`A simulated typist is enrolling: frame ${typist.n + 1} of ${enrollingFrames}…`);
      await pause(simulatedPause);
      await this.type(typist.seed, typist.n, "enroll");
    }
    if (find("#free").hidden) {
      this.status("Learning its rhythm…");
      const { status } = await this.learned();
      if (status !== "completed") return this.status("The simulated typist could not be enrolled. Reload the page to try again.", true);
      await this.free();
    }
    find("#free-heading").textContent = "A simulated typist is typing";
    find("#free-lead").textContent = "Its frames are sent and assessed like those of a person.";
    if (this.simulating) this.status("The first frames are on their way…");
    while (this.simulating) {
      await pause(simulatedPause);
      await this.type(typist.seed, typist.n, "score");
      typist.n++;
      await this.judge(false);
    }
  }

  private async forget(): Promise<void> {
    await this.collector?.withdrawConsent();
    const { erasure } = await post<{ erasure: string }>("/try/forget");
    this.subject = "";
    forgetVisit();
    for (const id of ["#stage", "#after"]) find(id).hidden = true;
    find("#gone").hidden = false;
    find("#receipt").textContent = erasure;
    find("#gone-heading").focus();
  }
}

const randomSeed = (): number => crypto.getRandomValues(new Uint32Array(1))[0] ?? 1;

new Try();
