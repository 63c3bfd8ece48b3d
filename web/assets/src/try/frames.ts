// Lists the frames exactly as they were sent, with their acknowledgements.
import { make } from "../lib/dom";
import type { Ack, Frame } from "../../../../sdk/js/src/collector/options";

const maxListed = 20;

export class Frames {
  private count = 0;
  private bytes = 0;
  private readonly notes = new Map<string, HTMLElement>();

  constructor(
    private readonly list: HTMLElement,
    private readonly summary: HTMLElement,
  ) {}

  sent(frame: Frame, by = "you"): void {
    const text = JSON.stringify(frame);
    this.count++;
    this.bytes += text.length;
    const cells = Object.values(frame.features as unknown as Record<string, unknown>).reduce<number>((n, block) => n + Object.keys((block as { cells?: object }).cells ?? {}).length, 0);
    const note = make("span", { class: "fine" }, "sending");
    this.notes.set(frame.frame_id, note);
    const keys = frame.features.keystroke?.events ?? 0;
    const title = `Frame ${this.count}: ${keys} keys, ${cells} averages, ${(text.length / 1024).toFixed(1)} KiB${by === "you" ? "" : `, by ${by}`} `;
    const body = make("details", {}, make("summary", {}, title, note), make("pre", { tabindex: "0" }, JSON.stringify(frame, null, 1)));
    this.list.prepend(make("li", {}, body));
    while (this.list.children.length > maxListed) this.list.lastElementChild?.remove();
    this.summary.textContent = `${this.count} ${this.count === 1 ? "frame" : "frames"}, ${(this.bytes / 1024).toFixed(1)} KiB in all. Open one to see every number; your browser's network tools show the same.`;
  }

  acknowledged(ack: Ack, frame: Frame): void {
    const codes = ack.reason_codes.length > 0 ? ` (${ack.reason_codes.join(", ")})` : "";
    const note = this.notes.get(frame.frame_id);
    if (note) note.textContent = ack.status + codes;
    this.notes.delete(frame.frame_id);
  }
}
