import { retryAfter } from '../retry.js'
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
const LONGEST_WAIT_S = 3600
const REQUEST_MS = 10_000
const RENEW_BEFORE_MS = 30_000
const OLDEST_MS = 10 * 60_000 // older evidence does not describe the present

// Browsers refuse what exceeds 64 KiB in all requests together that may outlive the page (Fetch, section 4.6).
const OUTLIVING_BYTES = 60_000

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
  private outliving = 0 // bytes of requests in flight that may outlive the page
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
    this.busy ??= Promise.resolve().then(() => this.run())
    return this.busy
  }

  /**
   * Sends the whole queue at once, newest first: the page may be gone before the first response. What exceeds the limit of browsers is sent
   * if the page remains, and reported now, because later may be too late.
   */
  leave(): void {
    let bytes = this.outliving
    let exposed = 0
    for (const frame of this.queue.filter((f) => !this.flying.has(f)).reverse()) {
      const size = JSON.stringify(frame).length
      if (bytes + size > OUTLIVING_BYTES) exposed++
      else bytes += size
      void this.send(frame).then((wait) => this.later(wait))
    }
    if (exposed > 0) this.o.failed({ kind: 'dropped', detail: `${exposed} frames are lost if the page is left: browsers send at most 64 KiB then` })
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
    try {
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
    } finally {
      this.busy = undefined // now, so that a frame that is pushed next is not left to a run that has ended
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
    const body = JSON.stringify(frame)
    const keepalive = this.outliving + body.length <= OUTLIVING_BYTES
    if (keepalive) this.outliving += body.length
    try {
      response = await this.host.fetch(this.o.url, {
        method: 'POST', body, keepalive, credentials: 'omit', cache: 'no-store', referrerPolicy: 'no-referrer',
        headers: { 'Content-Type': 'application/json', Authorization: 'Bearer ' + token },
        signal: AbortSignal.timeout(REQUEST_MS),
      })
    } catch {
      this.o.failed({ kind: 'network', detail: 'the service could not be reached' })
      return this.backoff()
    } finally {
      if (keepalive) this.outliving -= body.length
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
    const cause = (kind: CollectorError['kind'], otherwise: string): CollectorError => {
      const detail = said(body.detail)
      return { kind, status, ...(typeof body.code === 'string' ? { code: body.code } : {}), detail: detail ? `${otherwise}: ${detail}` : otherwise }
    }
    if (status === 401) {
      this.refuse(token, cause('refused', 'the service refused the token'))
      return AT_ONCE
    }
    const reason = endings[status]
    if (reason) {
      this.end(reason, cause('refused', 'the service refused a frame, and the collector ends'))
      return undefined
    }
    if (status === 429 || status === 408 || status >= 500) {
      this.o.failed(cause('service', 'the service is unavailable; the frame will be sent again'))
      return Math.max(this.backoff(), Math.min(retryAfter(response.headers, this.host.date()) ?? 0, LONGEST_WAIT_S) * 1000)
    }
    this.remove(frame)
    this.o.failed(cause('refused', 'the service refused a frame'))
    return undefined
  }

  /**
   * Drops a token that was refused; ends when the token after it is refused too. The refusal of an earlier token, which several requests can
   * have used, says nothing about the current one.
   */
  private refuse(token: string, cause: CollectorError): void {
    if (token !== this.token) return
    if (this.refused) return this.end('unauthorized', cause)
    this.token = undefined
    this.refused = true
  }

  private remove(frame: Frame): void {
    this.queue = this.queue.filter((f) => f !== frame)
  }

  private end(reason: EndReason, cause: CollectorError): void {
    if (this.over) return
    this.close()
    this.o.failed(cause)
    this.o.ended(reason)
  }

  /** Returns a token to send with, or nothing if there is none or the collector has ended. */
  private async authorized(): Promise<string | undefined> {
    if (this.token && this.host.date() < this.expires - RENEW_BEFORE_MS) return this.token
    try {
      const got = await this.o.token()
      this.token = typeof got === 'string' ? got : got.client_token
      if (typeof this.token !== 'string' || this.token === '') throw new TypeError('its result has no client_token')
      this.expires = typeof got === 'string' || !got.expires_at ? Infinity : got.expires_at * 1000
      return this.over ? undefined : this.token
    } catch (error) {
      this.token = undefined
      const { message, code } = (error ?? {}) as { message?: unknown; code?: unknown }
      this.o.failed({ kind: 'token', ...(typeof code === 'string' ? { code } : {}), detail: 'the token callback returned no token' + (typeof message === 'string' && message ? ': ' + message : '') })
      return undefined
    }
  }

  private backoff(): number {
    const ms = Math.min(FIRST_RETRY_MS * 2 ** this.failures++, LONGEST_RETRY_MS)
    return ms / 2 + (this.host.random() * ms) / 2
  }
}

/** The text of a problem's detail, or of the faults of a 422. */
const said = (detail: unknown): string =>
  typeof detail === 'string' ? detail : Array.isArray(detail) ? detail.map((fault: { msg?: unknown }) => fault?.msg).filter((msg) => typeof msg === 'string').join('; ') : ''
