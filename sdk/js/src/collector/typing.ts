import type { TypingSeen } from './options.js'

// A physical key is held longer; iOS reports the release of a tapped key with its press.
const TAP_HOLD_MS = 15
// Text that appears later than this after the last press of a physical key is not that key's.
const KEY_TEXT_MS = 1000

/** What an input event did: a character typed or deleted by one key, text that appeared at once, or a paste. */
type Typed = 'key' | 'whole' | 'paste'

/**
 * Determines from events how text arrives. Of an input event it reads its kind and how long the inserted text is; never the text.
 */
export class Typing {
  private readonly seen: TypingSeen = { keyboard: 'none', keys: 0, taps: 0, inserted: 0, pasted: 0 }
  private keyAt = -Infinity
  private composed = 0

  /** finger: whether the page's main pointer is a finger, until the first press of a pointer. */
  constructor(private finger: boolean, private readonly changed: (seen: TypingSeen) => void) {}

  get state(): TypingSeen {
    return { ...this.seen }
  }

  pointer(type: string): void {
    this.finger = type === 'touch'
  }

  /** A key that names its position was pressed. */
  keyDown(t: number): void {
    this.keyAt = t
  }

  /** Returns whether a named key was tapped on a screen. */
  keyUp(press: number, release: number): boolean {
    const tapped = this.finger && release - press < TAP_HOLD_MS
    this.count(tapped ? 'taps' : 'keys', tapped ? this.onScreen() : 'physical')
    return tapped
  }

  compositionStart(): void {
    this.composed = 0
  }

  /** Counts an input event, unless it was the work of a physical key. */
  input(kind: string, length: number, t: number): void {
    const typed = this.typed(kind, length)
    if (typed === 'paste') this.count('pasted')
    else if (t - this.keyAt < KEY_TEXT_MS) return
    else if (typed === 'whole') this.count('inserted', this.onScreen())
    else if (typed) this.count('taps', this.onScreen())
  }

  private typed(kind: string, length: number): Typed | undefined {
    const grown = length - this.composed
    switch (kind) {
      case 'insertCompositionText':
        this.composed = length
        if (grown === 0) return undefined
        return Math.abs(grown) === 1 ? 'key' : 'whole'
      case 'insertText': return length > 1 ? 'whole' : 'key'
      case 'insertLineBreak': case 'insertParagraph': case 'deleteContentBackward': return 'key'
      case 'insertFromPaste': case 'insertFromDrop': case 'insertFromYank': return 'paste'
      case 'insertReplacementText': return 'whole'
    }
    return undefined
  }

  private onScreen(): TypingSeen['keyboard'] {
    return this.finger ? 'touch' : 'hidden'
  }

  private count(what: 'keys' | 'taps' | 'inserted' | 'pasted', keyboard = this.seen.keyboard): void {
    this.seen[what]++
    this.seen.keyboard = keyboard
    this.changed(this.state)
  }
}
