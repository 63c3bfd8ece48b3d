import { SCHEMA_VERSION } from './tables.js'
import type { Block, Features } from './frame.js'
import { extractKeystroke, keyPresence, type KeyPress } from './keystroke.js'
import { extractPointer, pointerPresence } from './pointer.js'
import { extractRhythm } from './rhythm.js'
import { extractScroll, type ScrollSample } from './scroll.js'
import type { PointerSample } from './steps.js'

/** The events of one frame. They stay in the page. */
export interface Observed {
  keys: KeyPress[]
  pointer: PointerSample[]
  scroll: ScrollSample[]
  clockMS?: number
}

/** Computes the features object that leaves the page. */
export function extract(o: Observed): Features {
  const out: Features = { schema: SCHEMA_VERSION }
  if (o.clockMS) out.clock_ms = o.clockMS
  const put = (name: 'keystroke' | 'pointer' | 'scroll' | 'rhythm', block: Block): void => {
    if (block.events > 0) out[name] = block
  }
  put('keystroke', extractKeystroke(o.keys))
  put('pointer', extractPointer(o.pointer))
  put('scroll', extractScroll(o.scroll))
  put('rhythm', extractRhythm(o.keys.map((k) => k.press), o.pointer, o.scroll))
  const presence = { ...keyPresence(o.keys), ...pointerPresence(o.pointer) }
  if (Object.keys(presence).length > 0) out.presence = presence
  return out
}

/** Reports whether a frame has no modality. */
export const isEmpty = (f: Features): boolean => !f.keystroke && !f.pointer && !f.scroll && !f.rhythm
