import assert from 'node:assert/strict'
import type { Host } from '../src/collector/host.js'

/** A page under a test's control: its clock moves only with pass, and the test fires its events. */
export class TestPage implements Host {
  /** The elements of the document that the collector may look for. */
  elements: TestElement[] = []
  document = Object.assign(new EventTarget(), { visibilityState: 'visible' }, tree(this.elements))
  window = Object.assign(new EventTarget(), { innerHeight: 800 })
  time = 5000
  epoch = 1_795_231_234_000
  requests: { url: string; init: RequestInit; body: Record<string, any> }[] = []
  responses: (Response | Error | Promise<Response>)[] = []
  timers: { run: () => void; at: number }[] = []
  private ids = 0

  fetch: typeof fetch = async (url, init) => {
    this.requests.push({ url: String(url), init: init!, body: JSON.parse(String(init!.body)) })
    const next = await (this.responses.shift() ?? ack())
    if (next instanceof Error) throw next
    return next
  }

  touchscreen = false
  coarse = (): boolean => this.touchscreen
  now = (): number => this.time
  date = (): number => this.epoch + this.time
  random = (): number => 1
  id = (): string => 'frame-' + ++this.ids
  idle = (run: () => void): void => run()
  timer = (run: () => void, ms: number): unknown => {
    const t = { run, at: this.time + ms }
    this.timers.push(t)
    return t
  }
  clear = (timer: unknown): void => { this.timers = this.timers.filter((t) => t !== timer) }

  /** Advances the clock and runs due timers in order. */
  async pass(ms: number): Promise<void> {
    const until = this.time + ms
    for (;;) {
      const due = this.timers.filter((t) => t.at <= until).sort((a, b) => a.at - b.at)[0]
      if (!due) break
      this.clear(due)
      this.time = Math.max(this.time, due.at)
      due.run()
      await settled()
    }
    this.time = until
    await settled()
  }

  fire(type: string, props: object = {}, target: EventTarget = this.document): void {
    const at = 'target' in props ? (props as { target: unknown }).target : null
    const event = new Event(type)
    const all = { isTrusted: true, timeStamp: this.time, composedPath: () => (at ? [at, this.document] : [this.document]), ...props }
    for (const [name, value] of Object.entries(all)) Object.defineProperty(event, name, { value })
    target.dispatchEvent(event)
  }

  /** Types keys, one every 100 ms, each held 60 ms. */
  type(codes: string[], target?: object): void {
    for (const code of codes) {
      this.fire('keydown', { code, key: 'never read', target })
      this.time += 60
      this.fire('keyup', { code, key: 'never read', target })
      this.time += 40
    }
  }

  /** An input event that inserted so many characters. It has the length that data would have, and no characters. */
  input(inputType: string, length: number, target: object = element()): void {
    this.fire('input', { inputType, data: length > 0 ? { length, toString(): string { throw new Error('characters were read') } } : null, target })
  }

  finger(): void {
    this.fire('pointerdown', { pointerType: 'touch', clientX: 0, clientY: 0, target: null })
  }

  /** Presses a mouse button on an element of the document, or of a shadow tree in it. */
  press(target: object, shadow?: object): void {
    this.fire('pointerdown', { pointerType: 'mouse', clientX: 0, clientY: 0, target, composedPath: () => [target, ...(shadow ? [shadow] : []), this.document] })
  }

  /** Begins a composition with so many characters. */
  compose(length: number, target: object = element()): void {
    this.fire('compositionstart', { target })
    this.composed(length, target)
  }

  composed(length: number, target: object = element()): void {
    this.input('insertCompositionText', length, target)
  }

  /** Taps characters of one word as Android's keyboards report them, one every 180 ms. */
  tap(n: number, target: object = element()): void {
    this.finger()
    this.fire('compositionstart', { target })
    for (let i = 1; i <= n; i++) {
      this.fire('keydown', { code: '', keyCode: 229, target })
      this.composed(i, target)
      this.fire('keyup', { code: '', keyCode: 229, target })
      this.time += 180
    }
  }

  /** Taps characters as iOS reports them. */
  tapNamed(n: number): void {
    this.finger()
    for (const code of text(n)) {
      this.fire('keydown', { code, target: element() })
      this.input('insertText', 1)
      this.time += 2
      this.fire('keyup', { code, target: element() })
      this.time += 180
    }
  }

  move(n: number): void {
    for (let i = 0; i < n; i++) {
      this.time += 16
      this.fire('pointermove', { pointerType: 'mouse', clientX: 10 + 3 * i, clientY: 20 + (i % 7), buttons: 0, button: -1, target: null })
    }
  }

  hide(state: 'hidden' | 'visible'): void {
    this.document.visibilityState = state
    this.document.dispatchEvent(new Event('visibilitychange'))
  }
}

export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A promise that a test resolves. */
export function later<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void
  return { promise: new Promise<T>((r) => { resolve = r }), resolve }
}

export function ack(): Response {
  return Response.json({
    status: 'accepted', coverage: 'sparse', evidence_windows: 1, active_seconds: 5, enrollment_ready: false, modalities_present: ['keystroke'],
    reason_codes: [],
  })
}

export const problem = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  Response.json({ status, code, title: code, detail: code }, { status, headers })

/** The members of a document or a shadow root that the collector reads. */
export const tree = (elements: TestElement[]) => ({
  activeElement: null,
  querySelectorAll(selector: string): TestElement[] {
    assert.equal(selector, '[type=password i]')
    return elements.filter((e) => e.getAttribute('type')?.toLowerCase() === 'password')
  },
})

export type TestElement = ReturnType<typeof element>

/** An element with the members that the collector reads. */
export function element(attributes: Record<string, string> = {}, ignored = false) {
  return {
    nodeType: 1, getAttribute: (name: string): string | null => attributes[name] ?? null, hasAttribute: (name: string) => name in attributes,
    closest: () => (ignored ? {} : null), getRootNode: () => ({}),
    get value(): string { throw new Error('a value was read') },
  }
}

const letters = 'THEQUICKBROWNFOXJUMPSOVERALAZYDOG'
export const text = (n: number): string[] => Array.from({ length: n }, (_, i) => (i % 6 === 5 ? 'Space' : 'Key' + letters[i % letters.length]))
