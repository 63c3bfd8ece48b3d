import type { Host } from './host.js'
import type { Ack, ClientToken, CollectorError, EndReason, Frame } from './options.js'

export interface SenderOptions {
  url: string
  token: () => Promise<ClientToken> | ClientToken
  queueLimit: number
  acked: (ack: Ack, frame: Frame) => void
  failed: (error: CollectorError) => void
  ended: (reason: EndReason) => void
}

const FIRST_RETRY_MS = 1000
const LONGEST_RETRY_MS = 60_000
const REQUEST_MS = 10_000
const RENEW_BEFORE_MS = 30_000
const OLDEST_MS = 10 * 60_000 // older evidence does not describe the present

const AT_ONCE = 0 // resend without a pause

const endings: Record<number, EndReason> = { 403: 'forbidden', 404: 'session_not_found', 409: 'session_closed' }

/** Sends frames in order, one at a time. A frame is resent with its id until the service responds, so it counts once. */
export class Sender {
  private queue: Frame[] = []
  private readonly flying = new Set<Frame>()
  private token: string | undefined
  private expires = Infinity
  private refused = false // the current token has been refused
  private failures = 0
  private retry: unknown
  private busy: Promise<void> | undefined
  private over = false

  constructor(private readonly host: Host, private readonly o: SenderOptions) {}

  push(frame: Frame): void {
    if (this.over) return
    this.queue.push(frame)
    while (this.queue.length > this.o.queueLimit) this.drop(this.queue[0]!, 'the queue is full')
    void this.flush()
  }

  /** Sends the queue now, without waiting for a later retry. */
  flush(): Promise<void> {
    this.host.clear(this.retry)
    this.busy ??= this.run().finally(() => { this.busy = undefined })
    return this.busy
  }

  /** Sends the whole queue at once: the page may be gone before the first response. */
  leave(): void {
    for (const frame of this.queue) if (!this.flying.has(frame)) void this.send(frame).then((wait) => this.later(wait))
  }

  close(): void {
    this.over = true
    this.queue = []
    this.host.clear(this.retry)
  }

  private drop(frame: Frame, why: string): void {
    this.remove(frame)
    this.o.failed({ kind: 'dropped', detail: 'a frame was dropped: ' + why })
  }

  private async run(): Promise<void> {
    for (;;) {
      const frame = this.queue.find((f) => !this.flying.has(f))
      if (!frame || this.over) return
      if (this.host.date() - frame.timestamp * 1000 > OLDEST_MS) {
        this.drop(frame, 'it is older than ten minutes')
        continue
      }
      const wait = await this.send(frame)
      if (wait) return this.later(wait)
    }
  }

  private later(wait: number | undefined): void {
    if (this.over || wait === undefined) return
    this.host.clear(this.retry)
    this.retry = this.host.timer(() => void this.flush(), wait)
  }

  /** Sends one frame; returns the milliseconds to wait before it is sent again, or undefined if it is not. */
  private async send(frame: Frame): Promise<number | undefined> {
    this.flying.add(frame)
    try {
      return await this.attempt(frame)
    } finally {
      this.flying.delete(frame)
    }
  }

  private async attempt(frame: Frame): Promise<number | undefined> {
    const token = await this.authorized()
    if (!token) return this.over ? undefined : this.backoff()
    let response: Response
    try {
      response = await this.host.fetch(this.o.url, {
        method: 'POST', body: JSON.stringify(frame), keepalive: true, credentials: 'omit', cache: 'no-store', referrerPolicy: 'no-referrer',
        headers: { 'Content-Type': 'application/json', Authorization: 'Bearer ' + token },
        signal: AbortSignal.timeout(REQUEST_MS),
      })
    } catch {
      this.o.failed({ kind: 'network', detail: 'the service could not be reached' })
      return this.backoff()
    }
    return this.handle(frame, token, response)
  }

  private async handle(frame: Frame, token: string, response: Response): Promise<number | undefined> {
    const status = response.status
    const body = (await response.json().catch(() => ({}))) as { code?: string; detail?: unknown }
    if (response.ok) {
      this.failures = 0
      this.refused = false
      this.remove(frame)
      this.o.acked(body as unknown as Ack, frame)
      return undefined
    }
    if (status === 401) {
      this.refuse(token)
      return AT_ONCE
    }
    const reason = endings[status]
    if (reason) {
      this.end(reason)
      return undefined
    }
    const cause = { status, ...(body.code ? { code: body.code } : {}) }
    if (status === 429 || status === 408 || status >= 500) {
      this.o.failed({ kind: 'service', ...cause, detail: 'the service is unavailable; the frame will be sent again' })
      return Math.max(this.backoff(), retryAfter(response))
    }
    this.remove(frame)
    this.o.failed({ kind: 'refused', ...cause, detail: 'the service refused a frame' })
    return undefined
  }

  /**
   * Drops a token that was refused; ends when the token after it is refused too. The refusal of an earlier token, which several requests can
   * have used, says nothing about the current one.
   */
  private refuse(token: string): void {
    if (token !== this.token) return
    if (this.refused) return this.end('unauthorized')
    this.token = undefined
    this.refused = true
  }

  private remove(frame: Frame): void {
    this.queue = this.queue.filter((f) => f !== frame)
  }

  private end(reason: EndReason): void {
    this.close()
    this.o.ended(reason)
  }

  /** Returns a token to send with, or nothing if there is none or the collector has ended. */
  private async authorized(): Promise<string | undefined> {
    if (this.token && this.host.date() < this.expires - RENEW_BEFORE_MS) return this.token
    try {
      const got = await this.o.token()
      this.token = typeof got === 'string' ? got : got.client_token
      this.expires = typeof got === 'string' || !got.expires_at ? Infinity : got.expires_at * 1000
      return this.over ? undefined : this.token
    } catch {
      this.token = undefined
      this.o.failed({ kind: 'token', detail: 'the token callback returned no token' })
      return undefined
    }
  }

  private backoff(): number {
    const ms = Math.min(FIRST_RETRY_MS * 2 ** this.failures++, LONGEST_RETRY_MS)
    return ms / 2 + (this.host.random() * ms) / 2
  }
}

function retryAfter(response: Response): number {
  const seconds = Number(response.headers.get('Retry-After'))
  return Number.isFinite(seconds) ? Math.min(seconds, 3600) * 1000 : 0
}
