import { MAX_ACTIVE_MS } from './tables.js'
import { Accumulator, presenceOf, type Block } from './frame.js'
import { clamp, deviation, hypot, quantile, share, wrapAngle } from './math.js'
import { isMove, stepsOf, type PointerSample, type Steps } from './steps.js'
import { strokes } from './strokes.js'

const speedEdges = [0.03, 0.08, 0.2, 0.5, 1.2, 3].map(Math.log)
const turnEdges = [1e-6, 0.05, 0.15, 0.35, 0.8, 1.57]

function band(v: number, edges: number[]): number {
  let b = 0
  while (b < edges.length && v >= edges[b]!) b++
  return b
}

/** Extracts pointer features. Polling intervals and step sizes are omitted: they identify a mouse and a browser, not a person. */
export function extractPointer(events: PointerSample[]): Block {
  const acc = new Accumulator('pointer')
  const s = stepsOf(events)
  speeds(acc, s)
  turns(acc, s)
  jerks(acc, s)
  strokes(acc, s)
  clicks(acc, events)
  let active = 0
  for (let i = 1; i < events.length; i++) {
    const gap = events[i]!.t - events[i - 1]!.t
    if (gap > 0 && gap < 1000) active += gap
  }
  return { events: events.length, active_ms: Math.round(Math.min(active, MAX_ACTIVE_MS)), cells: acc.cells() }
}

function speeds(acc: Accumulator, s: Steps): void {
  s.dt.forEach((dt, i) => {
    acc.add('gaprate', share(dt >= 200))
    acc.add('hes', share(dt >= 60 && dt < 200))
    if (dt >= 200) acc.add('lgap', Math.log(clamp(dt, 200, 5000)))
    if (s.timed[i]) acc.add('drag', share(s.drag[i + 1]!))
    if (!s.moving[i]) return
    const lv = s.lv[i]!
    const octant = Math.floor((s.angle[i]! + Math.PI + Math.PI / 8) / (Math.PI / 4)) % 8
    acc.add('lv', lv)
    acc.add('lv_oct:' + octant, lv)
    acc.histogram('dir', 8, octant)
    acc.histogram('lvh', speedEdges.length + 1, band(lv, speedEdges))
  })
}

function turns(acc: Accumulator, s: Steps): void {
  s.turning.forEach((ok, i) => {
    if (!ok) return
    const turn = s.turn[i]!
    const abs = Math.abs(turn)
    const v = s.v[i + 1]!
    const accel = s.accel[i]!
    acc.histogram('turn', turnEdges.length + 1, band(abs, turnEdges))
    acc.add('turnsgn', Math.sign(turn))
    acc.add('lcurv', Math.log(abs / Math.max(s.ds[i + 1]!, 1) + 0.003))
    if (v < 0.3) acc.add('turnslow', Math.min(abs, 1.57))
    if (v > 1) acc.add('turnfast', Math.min(abs, 1.57))
    acc.add(accel > 0 ? 'lacc+' : 'lacc-', Math.log(clamp(Math.abs(accel), 1e-4, 1)))
    acc.add('accpos', share(accel > 0))
    acc.add('lvratio', Math.min(Math.abs(s.lv[i + 1]! - s.lv[i]!), 3))
  })
}

function jerks(acc: Accumulator, s: Steps): void {
  for (let i = 1; i < s.turning.length; i++) {
    if (!s.turning[i] || !s.turning[i - 1]) continue
    const jerk = (s.accel[i]! - s.accel[i - 1]!) / Math.max(s.dt[i + 1]!, 1)
    acc.add('ljerk', Math.log(clamp(Math.abs(jerk), 1e-6, 0.2)))
    acc.add('aflip', share(s.accel[i]! * s.accel[i - 1]! < 0))
    acc.add('tflip', share(s.turn[i]! * s.turn[i - 1]! < 0))
  }
}

function clicks(acc: Accumulator, events: PointerSample[]): void {
  events.forEach((ev, i) => {
    if (ev.kind !== 'press') return
    const before = events[i - 1]
    if (before && isMove(before)) acc.add('lpre', Math.log(clamp(ev.t - before.t, 1, 3000)))
    let j = i + 1
    while (j < events.length && events[j]!.kind !== 'release' && j < i + 200) j++
    const up = events[j]
    if (!up || up.kind !== 'release') return
    const held = up.t - ev.t
    const moved = hypot(up.x - ev.x, up.y - ev.y)
    if (moved < 6 && held > 0 && held < 1500) {
      acc.add('lclick', Math.log(clamp(held, 15, 800)))
    } else if (held > 0) {
      acc.add('ldragd', Math.log(moved + 1))
      acc.add('ldragt', Math.log(held))
    }
    acc.add('isdrag', share(moved >= 6))
    acc.add('isright', share(ev.right === true))
    const after = events[j + 1]
    if (after && isMove(after)) acc.add('lpost', Math.log(clamp(after.t - up.t, 1, 3000)))
  })
}

const MIN_STEPS = 20

export function pointerPresence(events: PointerSample[]): Record<string, number> {
  const s = stepsOf(events)
  const speed: number[] = [], logSpeed: number[] = [], logDT: number[] = [], angles: number[] = []
  const pairs = new Map<string, number>()
  let axis = 0, gaps = 0, unit = 0, longest = 0
  s.dt.forEach((dt, i) => {
    const ds = s.ds[i]!, dx = s.dx[i]!, dy = s.dy[i]!
    longest = Math.max(longest, ds)
    if (dt >= 200) gaps++
    if (s.timed[i]) logDT.push(Math.log(dt))
    if (ds === 0) return
    angles.push(s.angle[i]!)
    const step = dx + ',' + dy
    pairs.set(step, (pairs.get(step) ?? 0) + 1)
    unit += share(ds <= 1.5)
    axis += share(dx === 0 || dy === 0 || Math.abs(dx) === Math.abs(dy))
    if (s.timed[i]) {
      speed.push(ds / dt)
      logSpeed.push(Math.log(ds / dt + 1e-3))
    }
  })
  if (speed.length < MIN_STEPS) return {}
  let straight = 0
  for (let i = 1; i < angles.length; i++) straight += share(Math.abs(wrapAngle(angles[i]! - angles[i - 1]!)) < 0.02)
  return presenceOf({
    sd_lv: deviation(logSpeed),
    unit_steps: unit / angles.length,
    max_step: longest,
    straight: angles.length < 2 ? 0 : straight / (angles.length - 1),
    uniq_steps: pairs.size / angles.length,
    sd_ldt: deviation(logDT),
    gaps: gaps / s.dt.length,
    med_v: quantile(speed, 0.5),
    axis_diag: axis / angles.length,
    top_step: Math.max(...pairs.values()) / angles.length,
  })
}
