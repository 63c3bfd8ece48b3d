import { extract, isEmpty } from '../features/extract.js'
import type { Features } from '../features/frame.js'
import { keyOf, type Key } from '../features/keys.js'
import type { KeyPress } from '../features/keystroke.js'
import type { ScrollSample } from '../features/scroll.js'
import type { PointerKind, PointerSample } from '../features/steps.js'
import { ClockGrid } from './clock.js'
import type { Typing } from './typing.js'

/**
 * The field that a key was typed in. A private one holds a secret or is ignored: no press in it is recorded, not even its time, because the
 * number of presses is the length of the secret.
 */
export type FieldKind = 'open' | 'private'

export interface Cut {
  features: Features
  from: number
  to: number
}

export interface Limits {
  frameKeys: number
  frameMS: number
}

interface Held {
  key: Key
  press: number
}

// If possible, a frame ends between two presses with no key held, so that the fewest presses and pairs are lost.
const GRACE_KEYS = 10
const GRACE_MS = 1000
const STUCK_MS = 10_000
// A frame with fewer events is not sent.
const FEWEST_KEYS = 3
const FEWEST_MOVES = 10

/**
 * Stores the events since the last frame, in memory only. Keys are mapped to their position on the keyboard immediately;
 * characters and values are never read.
 */
export class Recorder {
  private keys: KeyPress[] = []
  private pointer: PointerSample[] = []
  private scroll: ScrollSample[] = []
  private held = new Map<string, Held>()
  private field: FieldKind | undefined
  private from = Infinity
  private to = 0
  private readonly clock = new ClockGrid()

  /** full is called when a frame is complete. */
  constructor(private readonly limits: Limits, private readonly typing: Typing, private readonly full: (cut: Cut) => void) {}

  keyDown(code: string, t: number, field: FieldKind): void {
    if (this.field !== undefined && field !== this.field) this.cut() // keys of different kinds of field make no pair
    this.field = field
    if (field === 'private') return
    this.extend(t)
    this.held.delete(code) // its release was lost
    this.held.set(code, { key: keyOf(code), press: t })
    this.cutIfDue(t)
  }

  keyUp(code: string, t: number): void {
    const down = this.held.get(code)
    if (!down) return
    this.held.delete(code)
    if (this.extend(t)) return // the frame of its press has ended
    if (t - down.press <= STUCK_MS && !this.typing.keyUp(down.press, t)) this.keys.push({ key: down.key, press: down.press, release: t })
    this.cutIfDue(t)
  }

  /** Drops held keys whose release the page will not see: it lost the focus, or a system shortcut took them. */
  forgetHeld(): void {
    this.held.clear()
  }

  point(kind: PointerKind, t: number, x: number, y: number, right: boolean): void {
    this.extend(t)
    this.pointer.push({ t, x, y, kind, right })
    this.cutIfDue(t)
  }

  wheel(t: number, dx: number, dy: number): void {
    this.extend(t)
    this.scroll.push({ t, dx, dy })
    this.cutIfDue(t)
  }

  /** Returns when the current frame is due by its age; Infinity if there is none. */
  due(): number {
    return this.from + this.limits.frameMS
  }

  /** Ends the current frame and passes it on, unless it is empty. */
  cut(): void {
    const { keys, pointer, scroll, from, to } = this
    this.clear()
    if (keys.length < FEWEST_KEYS && pointer.length < FEWEST_MOVES && scroll.length === 0) return
    keys.sort((a, b) => a.press - b.press)
    const resolution = this.clock.resolution()
    const features = extract({ keys, pointer, scroll, ...(resolution ? { clockMS: resolution } : {}) })
    if (!isEmpty(features)) this.full({ features, from, to })
  }

  /** Deletes everything that was not passed on. */
  clear(): void {
    this.keys = []
    this.pointer = []
    this.scroll = []
    this.held.clear()
    this.from = Infinity
    this.to = 0
  }

  /**
   * Extends the frame to t. If the frame was due long before, because the device slept and no timer ran, it ends before t, and the result is
   * true: a frame never lasts longer than the service accepts.
   */
  private extend(t: number): boolean {
    this.clock.see(t)
    const late = t >= this.due() + GRACE_MS
    if (late) this.cut()
    this.from = Math.min(this.from, t)
    this.to = Math.max(this.to, t)
    return late
  }

  private cutIfDue(t: number): void {
    const age = t - this.from
    const keys = this.keys.length
    if (keys < this.limits.frameKeys && age < this.limits.frameMS) return
    const late = keys >= this.limits.frameKeys + GRACE_KEYS || age >= this.limits.frameMS + GRACE_MS
    if (this.held.size === 0 || late) this.cut()
  }
}
