import { CLIP, HOLD, MAX_ACTIVE_MS, PP, RP } from './tables.js'
import { Accumulator, presenceOf, type Block } from './frame.js'
import { BACKSPACE, SHIFT, SPACE, coarseGroup, transition, type Key } from './keys.js'
import { clamp, correlation, deviation, moment, quantile, share } from './math.js'

/** One press with its release, in milliseconds. It stays in the page. */
export interface KeyPress {
  key: Key
  press: number
  release: number
}

const [[minHold, maxHold], [minPP, maxPP], [minRP, maxRP]] = [CLIP.hold, CLIP.pp, CLIP.rp] as [[number, number], [number, number], [number, number]]

export function extractKeystroke(events: KeyPress[]): Block {
  const acc = new Accumulator('keystroke')
  let active = 0
  events.forEach((ev, i) => {
    pressed(acc, ev.key, ev.release - ev.press)
    const next = events[i + 1]
    if (!next) return
    const pp = next.press - ev.press
    if (pp > 0) active += Math.min(pp, 2000)
    pair(acc, ev.key, next.key, pp, next.press - ev.release)
  })
  return { events: events.length, active_ms: Math.round(Math.min(active, MAX_ACTIVE_MS)), cells: acc.cells() }
}

function pressed(acc: Accumulator, key: Key, hold: number): void {
  acc.add('bs:all', share(key.group === BACKSPACE))
  acc.add('sh:all', share(key.group === SHIFT))
  if (key.group === SHIFT) {
    acc.add('caps:c', share(key.capsLock))
    if (hold > 0) acc.add('shhold:c', Math.log(clamp(hold, 25, 2000)))
  }
  if (hold > 0 && hold < 800) {
    const r = clamp(Math.log(clamp(hold, 25, 400)) - HOLD, minHold, maxHold)
    acc.add('h:' + key.groupName, r)
    acc.add('hs:' + coarseGroup(key), Math.abs(r))
  }
}

function pair(acc: Accumulator, a: Key, b: Key, pp: number, rp: number): void {
  if (a.group === BACKSPACE) acc.add('bsrun:c', share(b.group === BACKSPACE))
  if (a.group !== BACKSPACE && b.group === BACKSPACE && pp > 0) acc.add('pbefBS:c', Math.log(clamp(pp, 30, 3000)))
  if (pp > 0) {
    acc.add('pause5:all', share(pp > 500))
    acc.add('pause10:all', share(pp > 1000))
  }
  if (!(pp > 0 && pp < 1500)) return
  const [coarse, fine] = transition(a, b)
  const r = clamp(Math.log(clamp(pp, 30, 1000)) - PP, minPP, maxPP)
  acc.add('p:' + fine, r)
  acc.add('ps:' + coarse, Math.abs(r))
  if (Math.abs(rp) >= 1500) return
  acc.add('r:' + fine, clamp(Math.asinh(clamp(rp, -250, 1000) / 50) - RP, minRP, maxRP))
  const family = a.letter && b.letter ? 'll' : a.group === SPACE || b.group === SPACE ? 'sp' : 'o'
  acc.add('ovl:' + family, share(rp < 0))
}

const MIN_PAIRS = 12

/** Computes scalars that distinguish a person from a program; they never enter a template. */
export function keyPresence(events: KeyPress[]): Record<string, number> {
  const pps: number[] = [], logPP: number[] = [], holds: number[] = [], logHold: number[] = [], holdBefore: number[] = []
  let rolled = 0, transitions = 0
  events.forEach((ev, i) => {
    const hold = Math.max(ev.release - ev.press, 1)
    const lh = Math.log(clamp(hold, 1, 800))
    holds.push(hold)
    logHold.push(lh)
    const next = events[i + 1]
    if (!next) return
    const pp = next.press - ev.press
    transitions++
    if (hold > pp) rolled++
    if (!(pp > 0 && pp < 1500)) return
    pps.push(pp)
    logPP.push(Math.log(clamp(pp, 5, 1500)))
    holdBefore.push(lh)
  })
  if (pps.length < MIN_PAIRS) return {}
  return presenceOf({
    sd_lpp: deviation(logPP),
    sd_lhold: deviation(logHold),
    med_pp: quantile(pps, 0.5),
    med_hold: quantile(holds, 0.5),
    skew_lpp: moment(logPP, 3, 1e-3),
    skew_pp: moment(pps, 3, 1),
    lag1: correlation(logPP.slice(1), logPP.slice(0, -1)),
    rollover: rolled / transitions,
    p90p10_pp: Math.log(Math.max(quantile(pps, 0.9), 1) / Math.max(quantile(pps, 0.1), 1)),
    uniq_pp: uniqueShare(pps),
    uniq_hold: uniqueShare(holds),
    quant: gridExcess(pps),
    corr_hold_pp: correlation(holdBefore, logPP),
    lag1_hold: correlation(logHold.slice(1), logHold.slice(0, -1)),
    kurt_lpp: moment(logPP, 4, 1e-3) - 3,
    skew_lhold: moment(logHold, 3, 1e-3),
  })
}

const uniqueShare = (v: number[]): number => new Set(v.map(Math.round)).size / v.length

function gridExcess(pp: number[]): number {
  let best = 0
  for (const grid of [5, 8, 10, 16, 20, 25, 50]) {
    let on = 0
    for (const x of pp) on += share(Math.round(x) % grid === 0)
    best = Math.max(best, (on / pp.length - 1 / grid) / (1 - 1 / grid))
  }
  return best
}
