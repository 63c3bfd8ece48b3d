import { EventClock } from './clock.js'
import type { Host, Tree } from './host.js'
import type { FieldKind, Recorder } from './recorder.js'
import type { Typing } from './typing.js'

export const IGNORE_ATTRIBUTE = 'data-countersign-ignore'

const LINE_PX = 16
const secretCompletes = /\b(current-password|new-password|one-time-code|cc-\w+)\b/i

// A field that ever held a password stays secret when "show password" makes it a text field.
const oncePassword = new WeakSet<object>()

/** Finds the password fields before their text is shown: that can be before the first key in them. */
function rememberPasswords(tree: Tree): void {
  for (const field of tree.querySelectorAll('[type=password i]')) oncePassword.add(field)
}

/** Remembers the password fields of the document and of each open shadow tree that an event passes through. */
function rememberPasswordsAround(event: Event): void {
  for (const at of event.composedPath()) if ('activeElement' in at) rememberPasswords(at as Document | ShadowRoot)
}

/** Returns the element of an event, including elements inside open shadow trees. */
function origin(event: Event): Element | null {
  const at = event.composedPath?.()[0] ?? event.target
  return at && (at as Node).nodeType === 1 ? (at as Element) : ((at as Node | null)?.parentElement ?? null)
}

/** A page can replace the members of an element: <input name="closest"> does so for its form. Such an element is ignored. */
function isIgnored(event: Event): boolean {
  try {
    return hasIgnored(event)
  } catch {
    return true
  }
}

function hasIgnored(event: Event): boolean {
  const at = origin(event)
  if (!at) return false
  if (at.closest(`[${IGNORE_ATTRIBUTE}]`)) return true
  const root = at.getRootNode() as ShadowRoot | Document
  return 'host' in root && event.composedPath().some((n) => (n as Element).hasAttribute?.(IGNORE_ATTRIBUTE))
}

function fieldKindOf(event: Event): FieldKind {
  if (isIgnored(event)) return 'private'
  const at = origin(event)
  if (!at) return 'open'
  if (at.getAttribute('type')?.toLowerCase() === 'password') oncePassword.add(at)
  return oncePassword.has(at) || secretCompletes.test(at.getAttribute('autocomplete') ?? '') ? 'private' : 'open'
}

/** Autofill sends events of the types keydown and keyup that are no key events: they have no code. No one typed. */
const isKey = (e: KeyboardEvent): boolean => typeof e.code === 'string'

/** Reports whether a key event names the key's position. Those of most on-screen keyboards do not. */
const isNamed = (e: KeyboardEvent): boolean => e.code !== '' && e.code !== 'Unidentified'

type On = <E extends Event>(target: EventTarget, type: string, handle: (event: E, t: number) => void) => void

/**
 * Listens passively, and returns a function that stops listening. From a key event it reads the physical key and the time, from an
 * input event its kind and the length of what it inserted; it never reads key, inserted text, a value, or a selection. Events
 * created by scripts (isTrusted false) are ignored.
 */
export function listen(host: Host, into: Recorder, typing: Typing): () => void {
  const stop = new AbortController()
  // An event that follows from another, such as the input of a key, has the time at which the page came to it: on a busy page that is after
  // the release of the key. With one clock for all, the release would get that time too.
  const timed = (): On => {
    const clock = new EventClock(() => host.now())
    return <E extends Event>(target: EventTarget, type: string, handle: (event: E, t: number) => void): void => {
      const guarded = (event: Event): void => { if (event.isTrusted) handle(event as E, clock.time(event.timeStamp)) }
      target.addEventListener(type, guarded, { capture: true, passive: true, signal: stop.signal })
    }
  }
  const on = timed(), onKey = timed(), onPointer = timed()
  rememberPasswords(host.document)
  on(host.document, 'focusin', rememberPasswordsAround)
  on(host.document, 'pointerdown', rememberPasswordsAround) // Safari does not focus a button that is clicked
  onKey<KeyboardEvent>(host.document, 'keydown', (e, t) => {
    if (!isKey(e) || !isNamed(e)) return
    typing.keyDown(t)
    if (!e.repeat) into.keyDown(e.code, t, fieldKindOf(e))
  })
  onKey<KeyboardEvent>(host.document, 'keyup', (e, t) => {
    if (!isKey(e)) return
    into.keyUp(e.code, t)
    if (e.code.startsWith('Meta')) into.forgetHeld() // macOS sends no keyup for keys pressed with it
  })
  on(host.document, 'compositionstart', () => typing.compositionStart())
  on<InputEvent>(host.document, 'input', (e, t) => {
    if (fieldKindOf(e) === 'open') typing.input(e.inputType, e.data?.length ?? 0, t)
  })
  on<PointerEvent>(host.document, 'pointerdown', (e) => typing.pointer(e.pointerType))
  pointer(host, into, onPointer)
  on<WheelEvent>(host.document, 'wheel', (e, t) => {
    if (isIgnored(e)) return
    const unit = e.deltaMode === 1 ? LINE_PX : e.deltaMode === 2 ? host.window.innerHeight : 1
    into.wheel(t, Math.round(e.deltaX * unit), Math.round(e.deltaY * unit))
  })
  on(host.window, 'blur', () => into.forgetHeld())
  return () => stop.abort()
}

/** Nothing that a finger does is recorded: there is no model of it, and what is not used is not sent. */
function pointer(host: Host, into: Recorder, on: On): void {
  const take = (type: string, kind: (e: PointerEvent) => 'move' | 'drag' | 'press' | 'release'): void => {
    on<PointerEvent>(host.document, type, (e, t) => {
      if (e.pointerType === 'touch' || isIgnored(e)) return
      into.point(kind(e), t, Math.round(e.clientX), Math.round(e.clientY), e.button === 2)
    })
  }
  take('pointermove', (e) => (e.buttons ? 'drag' : 'move'))
  take('pointerdown', () => 'press')
  take('pointerup', () => 'release')
}
