// The remaining time, by the server's clock.
import { announce, find } from "../lib/dom";
import type { Say } from "../lib/messages";

/** Remaining seconds that are announced to screen readers. */
const announced = [120, 60, 30, 10];

/** Counts down to the expiry and calls over() at the end. */
export class Countdown {
  private offset = 0; // server's clock minus this machine's, in ms
  private timer: number | undefined;
  private lastAnnounced = Infinity;

  /** time.total is the life of the challenge in ms, for the meter. */
  constructor(
    private readonly root: HTMLElement,
    private readonly time: { expires: number; readonly total: number; readonly say: Say },
    private readonly over: () => void,
  ) {}

  /** Sets the server's clock and the expiry, both RFC 3339. */
  sync(now: string, expires: string): void {
    this.offset = Date.parse(now) - Date.now();
    this.time.expires = Date.parse(expires);
    this.tick();
  }

  stop(): void {
    window.clearTimeout(this.timer);
  }

  private tick = (): void => {
    window.clearTimeout(this.timer);
    const left = Math.max(0, this.time.expires - Date.now() - this.offset);
    const seconds = Math.ceil(left / 1000);
    find("[data-left]", this.root).textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    const meter = find("[data-meter]", this.root);
    meter.style.transform = `scaleX(${Math.min(1, left / this.time.total)})`;
    meter.parentElement?.classList.toggle("low", seconds <= 30);
    this.announce(seconds);
    if (left === 0) this.over();
    else this.timer = window.setTimeout(this.tick, (left % 1000) + 10);
  };

  private announce(seconds: number): void {
    const mark = announced.find((t) => seconds <= t && seconds > t - 5);
    if (mark === undefined || mark >= this.lastAnnounced) return;
    this.lastAnnounced = mark;
    announce(find("[data-announce]", this.root), this.time.say(`left_${mark}`));
  }
}
