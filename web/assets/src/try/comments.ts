// Says in a sentence what an assessment means for the visitor.
import type { Profile } from "./types";

const patience = 3; // frames after a handover in which it may still be noticed

export interface CommentState {
  sinceHanded: number;
  noticed: boolean;
  recognised: boolean;
}

/** late: the frame was typed before the handover and assessed after it. */
interface Circumstances {
  handed: boolean;
  late: boolean;
  simulated: boolean;
}

export class Comments {
  state: CommentState = { sinceHanded: 0, noticed: false, recognised: false };

  constructor(private readonly say: (text: string) => void) {}

  add(profile: Profile, { handed, late, simulated }: Circumstances): void {
    const status = (claim: string): string => profile.claims.find((c) => c.claim === claim)?.status ?? "";
    if (status("automation") === "detected") {
      this.say("This looks like a program, not a person: the service detects automation and recognises no one.");
      return;
    }
    const continuity = status("operator_continuity");
    const known = ["confirmed", "likely"].includes(continuity);
    if (handed) this.afterHandover(continuity, known);
    else if (!late) this.beforeHandover(known, simulated);
  }

  private beforeHandover(known: boolean, simulated: boolean): void {
    if (known && simulated) this.say("The simulated typist is recognised. Make a payment, or let a different one take over.");
    else if (known && !this.state.recognised) this.say("Recognised: the service takes you for the person who enrolled.");
    else if (!known) this.say("Not sure yet. Keep typing. If this does not change, the service may be wrong about you.");
    this.state.recognised ||= known;
  }

  private afterHandover(continuity: string, known: boolean): void {
    if (this.state.noticed) return;
    const count = ++this.state.sinceHanded;
    this.state.noticed = continuity === "not_confirmed";
    const frames = `${count} ${count === 1 ? "frame" : "frames"}`;
    if (this.state.noticed) this.say(`Noticed after ${frames}: this is not the person who enrolled. Try to pay now.`);
    else if (!known) this.say(`After ${frames} the service is no longer sure. A payment now would require a step-up.`);
    else if (count < patience) this.say(`After ${frames} the service still takes you for the person who enrolled. Keep typing.`);
    else this.say(`After ${frames} the service has not noticed: a false match. See below how often that happens.`);
  }
}
