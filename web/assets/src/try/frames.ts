// Lists the frames exactly as they were sent, with their acknowledgements.
import { make } from "../lib/dom";
import type { Ack, Frame } from "../../../../sdk/js/src/collector/options";

const maxListed = 20;

/** A frame with its number, who typed it, and what became of it. */
export interface SentFrame {
  number: number;
  frame: Frame;
  by: string;
  note: string;
}

export class Frames {
  private count = 0;
  private bytes = 0;
  private readonly notes = new Map<string, { item: SentFrame; note: HTMLElement }>();
  private kept: SentFrame[] = [];

  constructor(
    private readonly list: HTMLElement,
    private readonly summary: HTMLElement,
  ) {}

  /** The frames that are listed, oldest first. */
  get listed(): SentFrame[] {
    return this.kept;
  }

  restore(frames: SentFrame[]): void {
    for (const f of frames) this.add({ ...f, note: f.note === "sending" ? "sent while the page was left" : f.note });
  }

  sent(frame: Frame, by = "you"): void {
    this.add({ number: this.count + 1, frame, by, note: "sending" });
  }

  acknowledged(ack: Ack, frame: Frame): void {
    const codes = ack.reason_codes.length > 0 ? ` (${ack.reason_codes.join(", ")})` : "";
    const known = this.notes.get(frame.frame_id);
    if (known) known.note.textContent = known.item.note = ack.status + codes;
    this.notes.delete(frame.frame_id);
  }

  private add(item: SentFrame): void {
    const { frame, by } = item;
    const text = JSON.stringify(frame);
    this.count = item.number;
    this.bytes += text.length;
    this.kept = [...this.kept.slice(1 - maxListed), item];
    const cells = Object.values(frame.features as unknown as Record<string, unknown>).reduce<number>((n, block) => n + Object.keys((block as { cells?: object }).cells ?? {}).length, 0);
    const note = make("span", { class: "fine" }, item.note);
    this.notes.set(frame.frame_id, { item, note });
    const keys = frame.features.keystroke?.events ?? 0;
    const title = `Frame ${item.number}: ${keys} keys, ${cells} averages, ${(text.length / 1024).toFixed(1)} KiB${by === "you" ? "" : `, by ${by}`} `;
    const body = make("details", {}, make("summary", {}, title, note), make("pre", { tabindex: "0" }, JSON.stringify(frame, null, 1)));
    this.list.prepend(make("li", {}, body));
    while (this.list.children.length > maxListed) this.list.lastElementChild?.remove();
    this.summary.textContent = `${this.count} ${this.count === 1 ? "frame" : "frames"}, ${(this.bytes / 1024).toFixed(1)} KiB in all. Open one to see every number; your browser's network tools show the same.`;
  }
}
