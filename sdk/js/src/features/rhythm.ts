import { MAX_ACTIVE_MS, MAX_EVENTS } from './tables.js'
import { Accumulator, type Block } from './frame.js'
import { clamp, share } from './math.js'
import type { PointerSample } from './steps.js'
import type { ScrollSample } from './scroll.js'

const KEY = 0
const MOVE = 1
const BUTTON = 2
const SCROLL = 3
const SWITCH_MAX_MS = 5000

const family = (kind: number): number => (kind === BUTTON ? MOVE : kind)

/** Extracts how the user switches between keys, pointer and scrolling, from the times of presses only. */
export function extractRhythm(presses: number[], pointer: PointerSample[], scroll: ScrollSample[]): Block {
  const line = [
    ...presses.map((t) => ({ t, kind: KEY })),
    ...pointer.map((p) => ({ t: p.t, kind: p.kind === 'press' || p.kind === 'release' ? BUTTON : MOVE })),
    ...scroll.map((s) => ({ t: s.t, kind: SCROLL })),
  ].sort((a, b) => a.t - b.t)
  if (line.length < 2) return { events: 0, active_ms: 0, cells: {} }
  const acc = new Accumulator('rhythm')
  let run = 0
  const closeRun = (): void => {
    if (run > 0) acc.add('rt:burst', Math.log(run))
    run = 0
  }
  line.forEach((ev, i) => {
    if (ev.kind === KEY) run++
    const next = line[i + 1]
    if (!next) return
    const dt = next.t - ev.t
    acc.add('rt:switches', share(family(ev.kind) !== family(next.kind)))
    if (dt >= 1000) {
      acc.add('rt:lpause', Math.log(clamp(dt, 1000, 60000)))
      closeRun()
    }
    const cell = switchCell(ev.kind, next.kind)
    if (cell && dt < SWITCH_MAX_MS) acc.add(cell, Math.log(clamp(dt, 1, SWITCH_MAX_MS)))
  })
  closeRun()
  const span = Math.round(clamp(line[line.length - 1]!.t - line[0]!.t, 0, MAX_ACTIVE_MS))
  return { events: Math.min(line.length, MAX_EVENTS), active_ms: span, cells: acc.cells() }
}

function switchCell(from: number, to: number): string {
  if (from === KEY && family(to) === MOVE) return 'rt:key_ptr'
  if (from === MOVE && to === KEY) return 'rt:ptr_key'
  if (from === BUTTON && to === KEY) return 'rt:click_key'
  if (from === SCROLL && family(to) === MOVE) return 'rt:scroll_ptr'
  return ''
}
