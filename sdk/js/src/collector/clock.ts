const GRIDS = [100, 50, 25, 20, 50 / 3, 10, 5, 2, 1, 0.1]
const ENOUGH = 16

/**
 * Determines the resolution of the page's clock from the times of events: the coarsest grid that all of them lie on. Unlike
 * spinning until the clock ticks, this takes no time.
 */
export class ClockGrid {
  private left = GRIDS
  private seen = 0
  private last = 0

  see(t: number): void {
    if (t === this.last || (this.seen >= ENOUGH && this.left.length <= 1)) return
    this.last = t
    this.seen++
    this.left = this.left.filter((g) => Math.abs(t / g - Math.round(t / g)) * g < 0.004)
  }

  /** Returns the resolution in milliseconds, or undefined until enough events were seen. */
  resolution(): number | undefined {
    if (this.seen < ENOUGH) return undefined
    return Math.round((this.left[0] ?? 0.01) * 100) / 100
  }
}

// How late an event may be handled, by a busy page, and how far its rounded time may be ahead.
const LATEST_MS = 10_000
const AHEAD_MS = 200

/**
 * Returns a usable time for each event. Browsers send events whose time is 0, before the previous event, or counted from 1970; their time is
 * the moment at which they are handled. Times never decrease.
 */
export class EventClock {
  private last = 0

  constructor(private readonly now: () => number) {}

  time(stamp: number): number {
    const now = this.now()
    const usable = stamp >= this.last && stamp > now - LATEST_MS && stamp < now + AHEAD_MS
    this.last = Math.max(usable ? stamp : now, this.last)
    return this.last
  }
}
