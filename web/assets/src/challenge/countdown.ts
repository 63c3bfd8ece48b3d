// The time that is left, by the server's clock.
import { announce, find } from "../lib/dom";

/** Seconds left at which screen readers are told. */
const told = [120, 60, 30, 10];

/** Counts down to the expiry and calls over() once. */
export class Countdown {
  private offset = 0; // server's clock minus this machine's, in ms
  private timer: number | undefined;
  private lastTold = Infinity;

  constructor(
    private readonly root: HTMLElement,
    private expires: number,
    private readonly whole: number,
    private readonly over: () => void,
  ) {}

  /** Takes the server's word for what time it is and when it ends. */
  sync(now: string, expires: string): void {
    this.offset = Date.parse(now) - Date.now();
    this.expires = Date.parse(expires);
    this.tick();
  }

  stop(): void {
    window.clearTimeout(this.timer);
  }

  private tick = (): void => {
    window.clearTimeout(this.timer);
    const left = Math.max(0, this.expires - Date.now() - this.offset);
    const seconds = Math.ceil(left / 1000);
    find("[data-left]", this.root).textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    const meter = find("[data-meter]", this.root);
    meter.style.transform = `scaleX(${Math.min(1, left / this.whole)})`;
    meter.parentElement?.classList.toggle("low", seconds <= 30);
    this.tell(seconds);
    if (left === 0) this.over();
    else this.timer = window.setTimeout(this.tick, (left % 1000) + 10);
  };

  private tell(seconds: number): void {
    const mark = told.find((t) => seconds <= t && seconds > t - 5);
    if (mark === undefined || mark >= this.lastTold) return;
    this.lastTold = mark;
    announce(find("[data-announce]", this.root), mark >= 60 ? `${mark / 60} ${mark === 60 ? "minute" : "minutes"} left` : `${mark} seconds left`);
  }
}
