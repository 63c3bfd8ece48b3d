import { CELLS, COUNT_FEW, COUNT_MANY, PRESENCE } from './tables.js'
import { clamp, round2 } from './math.js'

export type Modality = keyof typeof CELLS

/** One modality of a frame: cells are [count bin, mean]. */
export interface Block {
  events: number
  active_ms: number
  cells: Record<string, [number, number]>
}

/** The features object of a frame. It has no field that could contain content. */
export interface Features {
  schema: string
  clock_ms?: number
  keystroke?: Block
  pointer?: Block
  scroll?: Block
  rhythm?: Block
  presence?: Record<string, number>
}

/** Sums the values of the events that belong to a cell. */
export class Accumulator {
  private readonly n = new Map<string, number>()
  private readonly sum = new Map<string, number>()

  constructor(private readonly modality: Modality) {}

  add(cell: string, v: number): void {
    if (!Number.isFinite(v)) return
    this.n.set(cell, (this.n.get(cell) ?? 0) + 1)
    this.sum.set(cell, (this.sum.get(cell) ?? 0) + v)
  }

  /** One event of a histogram: 1 in its own cell, 0 in the others. */
  histogram(family: string, bands: number, at: number): void {
    for (let c = 0; c < bands; c++) this.add(family + '#' + c, c === at ? 1 : 0)
  }

  /** Bins the counts and rounds the means, because exact counts can identify a known text. */
  cells(): Block['cells'] {
    const out: Block['cells'] = {}
    for (const [min, max, names] of ranges(CELLS[this.modality])) {
      for (const name of names) {
        const n = this.n.get(name)
        if (n) out[name] = [n <= 3 ? COUNT_FEW : COUNT_MANY, round2(clamp(this.sum.get(name)! / n, min, max))]
      }
    }
    return out
  }
}

type Packed = (string | number)[][]

const unpacked = new Map<Packed, [min: number, max: number, names: string[]][]>()

/** Returns the cells or scalars by range; unpacked once. */
function ranges(packed: Packed): [min: number, max: number, names: string[]][] {
  let out = unpacked.get(packed)
  if (!out) unpacked.set(packed, (out = packed.map(([min, max, names]) => [min as number, max as number, (names as string).split(' ')])))
  return out
}

/** Returns the presence scalars, each clamped to its range. */
export function presenceOf(values: Record<string, number>): Record<string, number> {
  const out: Record<string, number> = {}
  for (const [min, max, names] of ranges(PRESENCE)) {
    for (const name of names) {
      const v = values[name]
      if (v !== undefined && Number.isFinite(v)) out[name] = round2(clamp(v, min, max))
    }
  }
  return out
}
