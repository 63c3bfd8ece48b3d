// Says what an assessment means for the visitor: a verdict of two or three words, and a sentence.
import type { Profile } from "./types";

const patience = 3; // frames after a handover in which it may still be noticed

export interface CommentState {
  sinceHanded: number;
  noticed: boolean;
  said: Verdict | null;
}

export interface Verdict {
  tone: "good" | "warn" | "bad";
  words: string;
  sentence: string;
}

/** late: the frame was typed before the handover and assessed after it. */
interface Circumstances {
  handed: boolean;
  late: boolean;
  simulated: boolean;
}

export class Comments {
  state: CommentState = { sinceHanded: 0, noticed: false, said: null };

  constructor(private readonly show: (verdict: Verdict) => void) {}

  add(profile: Profile, { handed, late, simulated }: Circumstances): void {
    const status = (claim: string): string => profile.claims.find((c) => c.claim === claim)?.status ?? "";
    if (status("automation") === "detected") {
      this.set("bad", "A program.", "This looks like a program, not a person: the service detects automation and recognises no one.");
      return;
    }
    const continuity = status("operator_continuity");
    const known = ["confirmed", "likely"].includes(continuity);
    if (handed) this.afterHandover(continuity, known);
    else if (!late) this.beforeHandover(known, simulated);
  }

  /** Shows the last verdict again. */
  again(): void {
    if (this.state.said) this.show(this.state.said);
  }

  private beforeHandover(known: boolean, simulated: boolean): void {
    if (!known) this.set("warn", "Not sure yet.", "Keep typing. If this does not change, the service may be wrong about you.");
    else if (simulated) this.set("good", "Recognised.", "The simulated typist is recognised. Make a payment, or let a different one take over.");
    else this.set("good", "It is you.", "Recognised: the service takes you for the person who enrolled. Make a payment, or hand over the keyboard.");
  }

  private afterHandover(continuity: string, known: boolean): void {
    if (this.state.noticed) return;
    const count = ++this.state.sinceHanded;
    this.state.noticed = continuity === "not_confirmed";
    const frames = `${count} ${count === 1 ? "frame" : "frames"}`;
    if (this.state.noticed) this.set("bad", "Someone else.", `Noticed after ${frames}: this is not the person who enrolled. Try to pay now.`);
    else if (!known) this.set("warn", "No longer sure.", `After ${frames} the service doubts that it is the person who enrolled. A payment now would need a passkey.`);
    else if (count < patience) this.set("warn", "Not noticed yet.", `After ${frames} the service still takes this for the person who enrolled. Keep typing.`);
    else this.set("warn", "Not noticed.", `After ${frames} the service takes this for the person who enrolled: a false match. See below how often that happens.`);
  }

  private set(tone: Verdict["tone"], words: string, sentence: string): void {
    this.state.said = { tone, words, sentence };
    this.again();
  }
}
