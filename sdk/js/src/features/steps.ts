import { clamp, hypot, wrapAngle } from './math.js'

export type PointerKind = 'move' | 'drag' | 'press' | 'release'

/** One pointer event, in milliseconds and pixels. It stays in the page. */
export interface PointerSample {
  t: number
  x: number
  y: number
  kind: PointerKind
  right?: boolean // the right button, of presses
}

/** The differences between successive moves. */
export interface Steps {
  t: number[]
  x: number[]
  y: number[]
  index: number[] // of each move among all events
  drag: boolean[]
  dt: number[]
  dx: number[]
  dy: number[]
  ds: number[]
  v: number[]
  lv: number[]
  angle: number[]
  timed: boolean[] // 0 < dt < 200 ms
  moving: boolean[] // and the pointer moved
  turn: number[]
  accel: number[]
  turning: boolean[] // both steps of a turn are moving
}

export const isMove = (e: PointerSample): boolean => e.kind === 'move' || e.kind === 'drag'

export function stepsOf(events: PointerSample[]): Steps {
  const s: Steps = {
    t: [], x: [], y: [], index: [], drag: [], dt: [], dx: [], dy: [], ds: [], v: [], lv: [], angle: [], timed: [], moving: [],
    turn: [], accel: [], turning: [],
  }
  events.forEach((e, i) => {
    if (!isMove(e)) return
    s.t.push(e.t)
    s.x.push(e.x)
    s.y.push(e.y)
    s.index.push(i)
    s.drag.push(e.kind === 'drag')
  })
  for (let i = 1; i < s.t.length; i++) {
    const dt = s.t[i]! - s.t[i - 1]!
    const dx = s.x[i]! - s.x[i - 1]!
    const dy = s.y[i]! - s.y[i - 1]!
    const ds = hypot(dx, dy)
    const v = ds / Math.max(dt, 1)
    const timed = dt > 0 && dt < 200
    s.dt.push(dt)
    s.dx.push(dx)
    s.dy.push(dy)
    s.ds.push(ds)
    s.v.push(v)
    s.lv.push(Math.log(clamp(v, 0.01, 20)))
    s.angle.push(Math.atan2(dy, dx))
    s.timed.push(timed)
    s.moving.push(timed && ds > 0)
  }
  for (let i = 1; i < s.dt.length; i++) {
    s.turn.push(wrapAngle(s.angle[i]! - s.angle[i - 1]!))
    s.accel.push((s.v[i]! - s.v[i - 1]!) / Math.max((s.dt[i]! + s.dt[i - 1]!) / 2, 1))
    s.turning.push(s.moving[i]! && s.moving[i - 1]!)
  }
  return s
}
