// Arithmetic in the same order of operations and with the same rounding as in the service, so that both compute the same
// numbers.

export const clamp = (v: number, lo: number, hi: number): number => Math.min(Math.max(v, lo), hi)

export const share = (yes: boolean): number => (yes ? 1 : 0)

/** Rounds to two decimals; a half increases the magnitude. */
export function round2(v: number): number {
  const x = v * 100
  const whole = Math.trunc(x)
  return (Math.abs(x - whole) >= 0.5 ? whole + Math.sign(x) : whole) / 100
}

export function hypot(a: number, b: number): number {
  const p = Math.max(Math.abs(a), Math.abs(b))
  if (p === 0) return 0
  const q = Math.min(Math.abs(a), Math.abs(b)) / p
  return p * Math.sqrt(1 + q * q)
}

export const wrapAngle = (a: number): number => Math.atan2(Math.sin(a), Math.cos(a))

export function mean(v: number[]): number {
  if (v.length === 0) return 0
  let sum = 0
  for (const x of v) sum += x
  return sum / v.length
}

export function deviation(v: number[]): number {
  if (v.length === 0) return 0
  const m = mean(v)
  let sum = 0
  for (const x of v) sum += (x - m) * (x - m)
  return Math.sqrt(sum / v.length)
}

/** Returns the standardised central moment of an order; floor avoids a division by zero for a constant series. */
export function moment(v: number[], order: number, floor: number): number {
  const m = mean(v)
  let sum = 0
  for (const x of v) sum += Math.pow(x - m, order)
  return sum / v.length / Math.pow(Math.max(deviation(v), floor), order)
}

/** Returns Pearson's correlation; 0 if either series does not vary. */
export function correlation(a: number[], b: number[]): number {
  const sa = deviation(a)
  const sb = deviation(b)
  if (sa < 1e-6 || sb < 1e-6) return 0
  const ma = mean(a)
  const mb = mean(b)
  let sum = 0
  a.forEach((x, i) => { sum += (x - ma) * (b[i]! - mb) })
  return sum / a.length / sa / sb
}

/** Interpolates linearly between order statistics. */
export function quantile(v: number[], q: number): number {
  const s = [...v].sort((a, b) => a - b)
  const at = q * (s.length - 1)
  const lo = Math.trunc(at)
  if (lo + 1 >= s.length) return s[s.length - 1]!
  return s[lo]! + (at - lo) * (s[lo + 1]! - s[lo]!)
}
