import { Accumulator, type Block } from './frame.js'
import { clamp, share } from './math.js'
import { MAX_ACTIVE_MS } from './tables.js'

/** key and delete: one character. whole: text that appeared at once, such as a swiped word; no time is measured across it. */
export type TapKind = 'key' | 'delete' | 'whole'

/** One event of a keyboard that does not report its keys. It stays in the page. */
export interface Tap {
  t: number
  kind: TapKind
  hold: number // ms until the release; 0 if the browser does not report it
}

const TYPICAL = 5.4

/** Extracts the times between taps, holds where the browser reports them, and shares. */
export function extractTouch(taps: Tap[]): Block {
  const acc = new Accumulator('touch')
  let active = 0
  taps.forEach((tap, i) => {
    acc.add('tw:all', share(tap.kind === 'whole'))
    if (tap.kind !== 'whole') acc.add('td:all', share(tap.kind === 'delete'))
    if (tap.hold >= 20 && tap.hold <= 800) acc.add('th:key', Math.log(tap.hold))
    const next = taps[i + 1]
    if (!next) return
    const dt = next.t - tap.t
    if (dt > 0) active += Math.min(dt, 2000)
    pair(acc, tap.kind, next.kind, dt)
  })
  return { events: taps.length, active_ms: Math.round(Math.min(active, MAX_ACTIVE_MS)), cells: acc.cells() }
}

/** Two deletions are not timed: holding the key repeats it. */
function pair(acc: Accumulator, a: TapKind, b: TapKind, dt: number): void {
  if (a === 'whole' || b === 'whole' || !(dt > 0)) return
  acc.add('tp5:all', share(dt > 500))
  acc.add('tp10:all', share(dt > 1000))
  if (dt >= 1500 || (a === 'delete' && b === 'delete')) return
  const v = Math.log(clamp(dt, 30, 1500))
  if (b === 'delete') acc.add('t:to_del', v)
  else if (a === 'delete') acc.add('t:from_del', v)
  else {
    acc.add('t:key', v)
    acc.add('ts:key', Math.abs(v - TYPICAL))
  }
}
