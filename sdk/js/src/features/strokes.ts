import type { Accumulator } from './frame.js'
import { deviation, hypot, mean, share } from './math.js'
import type { Steps } from './steps.js'

/** Extracts strokes. A stroke ends at a pause of 100 ms, or if a button event occurs between two moves. */
export function strokes(acc: Accumulator, s: Steps): void {
  let start = 0
  for (let i = 0; i <= s.dt.length; i++) {
    if (i === s.dt.length || s.dt[i]! >= 100 || s.index[i + 1]! - s.index[i]! > 1) {
      if (i < s.t.length) stroke(acc, s, start, i)
      start = i + 1
    }
  }
}

function stroke(acc: Accumulator, s: Steps, first: number, last: number): void {
  if (last - first < 4) return
  let path = 0
  for (let i = first; i < last; i++) path += s.ds[i]!
  const duration = s.t[last]! - s.t[first]!
  if (path < 10 || duration <= 0) return
  const { chord, deviates, along, side } = shapeOf(s, first, last)
  const v = s.v.slice(first, last)
  let top = v[0]!
  let at = 0
  v.forEach((x, i) => { if (x > top) [top, at] = [x, i] })
  const classed: Record<string, number> = {
    sdur: Math.log(duration),
    svmax: Math.log(top + 0.01),
    stpk: (s.t[first + at]! - s.t[first]!) / duration,
    sstraight: Math.log((chord + 1) / (path + 1)),
    sdec: Math.log((mean(v.slice(-3)) + 0.01) / (top + 0.01)),
  }
  const band = chord < 80 ? 0 : chord < 300 ? 1 : 2
  for (const [name, value] of Object.entries(classed)) {
    acc.add(name, value)
    acc.add(name + ':' + band, value)
  }
  acc.add('slen', Math.log(path))
  acc.add('sdev', Math.log(deviates / Math.max(chord, 1) + 0.01))
  acc.add('sover', Math.log(Math.max(along - chord, 0) + 1))
  acc.add('snsub', Math.log((peaks(v) + 1) / (last - first)))
  acc.add('sinit', Math.log((mean(v.slice(0, 3)) + 0.01) / (top + 0.01)))
  acc.add('svmean', Math.log(path / duration + 0.01))
  acc.add('sside', share(side > 0))
  acc.add('scv', deviation(v) / (mean(v) + 0.01))
  acc.histogram('scls', 3, band)
}

/** Compares a stroke with its chord: the largest deviation and its side, and the distance along the chord's direction. */
function shapeOf(s: Steps, first: number, last: number) {
  const dx = s.x[last]! - s.x[first]!
  const dy = s.y[last]! - s.y[first]!
  const chord = hypot(dx, dy)
  const ux = dx / Math.max(chord, 1e-9)
  const uy = dy / Math.max(chord, 1e-9)
  let deviates = 0
  let along = 0
  let side = 0
  for (let i = first; i <= last; i++) {
    const px = s.x[i]! - s.x[first]!
    const py = s.y[i]! - s.y[first]!
    const across = px * uy - py * ux
    along = Math.max(along, px * ux + py * uy)
    if (Math.abs(across) > deviates) {
      deviates = Math.abs(across)
      side = across
    }
  }
  return { chord, deviates, along, side }
}

function peaks(v: number[]): number {
  let n = 0
  for (let i = 1; i + 1 < v.length; i++) if (v[i]! > v[i - 1]! && v[i]! >= v[i + 1]!) n++
  return n
}
