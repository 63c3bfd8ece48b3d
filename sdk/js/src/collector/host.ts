/** A document or a shadow tree. */
export interface Tree {
  querySelectorAll(selector: string): Iterable<object>
}

/** The parts of the page that the collector uses. Tests replace them. */
export interface Host {
  document: EventTarget & Tree & { visibilityState: string }
  window: EventTarget & { innerHeight: number }
  fetch: typeof fetch
  /** Whether the main pointer is a finger. */
  coarse(): boolean
  /** Milliseconds on the clock of event.timeStamp. */
  now(): number
  /** Milliseconds since 1970. */
  date(): number
  random(): number
  id(): string
  /** Runs when the page is idle, within the given milliseconds at the latest. */
  idle(run: () => void, within: number): void
  timer(run: () => void, ms: number): unknown
  clear(timer: unknown): void
}

export function page(): Host {
  return {
    document, window,
    fetch: (input, init) => fetch(input, init),
    coarse: () => matchMedia('(pointer: coarse)').matches,
    now: () => performance.now(),
    date: () => Date.now(),
    random: Math.random,
    id: () => {
      const bytes = crypto.getRandomValues(new Uint8Array(16))
      return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')
    },
    idle: (run, within) => {
      if ('requestIdleCallback' in window) requestIdleCallback(run, { timeout: within })
      else setTimeout(run, 0)
    },
    timer: (run, ms) => setTimeout(run, ms),
    clear: (timer) => clearTimeout(timer as number),
  }
}
