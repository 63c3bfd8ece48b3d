import { MAX_ACTIVE_MS } from './tables.js'
import { Accumulator, type Block } from './frame.js'
import { clamp, share } from './math.js'

/** One scroll event: milliseconds and scrolled pixels. */
export interface ScrollSample {
  t: number
  dx: number
  dy: number
}

const BURST_MS = 200

export function extractScroll(events: ScrollSample[]): Block {
  const acc = new Accumulator('scroll')
  let active = 0
  let start = 0
  let lastSum = 0
  events.forEach((ev, i) => {
    acc.add('sc:up', share(ev.dy < 0))
    acc.add('sc:horiz', share(Math.abs(ev.dx) > Math.abs(ev.dy)))
    const next = events[i + 1]
    if (next && next.t - ev.t < BURST_MS) {
      active += Math.max(next.t - ev.t, 0)
      return
    }
    const sum = burst(acc, events.slice(start, i + 1))
    if (start > 0) acc.add('sc:rev', share(sum * lastSum < 0))
    if (next) acc.add('sc:lgap', Math.log(clamp(next.t - ev.t, 200, 5000)))
    start = i + 1
    lastSum = sum
  })
  return { events: events.length, active_ms: Math.round(Math.min(active, MAX_ACTIVE_MS)), cells: acc.cells() }
}

function burst(acc: Accumulator, events: ScrollSample[]): number {
  let sum = 0
  let before = -1
  events.forEach((ev, i) => {
    sum += ev.dy
    const last = events[i - 1]
    if (!last || ev.t - last.t <= 0) return
    const v = Math.abs(ev.dy) / (ev.t - last.t)
    acc.add('sc:lv', Math.log(clamp(v, 0.01, 50)))
    if (before >= 0) acc.add('sc:decel', share(v < before))
    before = v
  })
  acc.add('sc:blen', Math.log(events.length))
  acc.add('sc:bdist', Math.log(Math.abs(sum) + 1))
  if (events.length > 1) acc.add('sc:bdur', Math.log(clamp(events[events.length - 1]!.t - events[0]!.t, 1, 5000)))
  return sum
}
