import { refuseUnknown } from '../options.js'
import { page, type Host } from './host.js'
import { listen } from './listen.js'
import type { CollectorOptions, EndReason, Frame, State, TypingSeen } from './options.js'
import { Recorder, type Cut } from './recorder.js'
import { Sender } from './sender.js'
import { Typing } from './typing.js'

const IDLE_WITHIN_MS = 1000

/** Observes how the user types and moves the pointer in the page, and sends feature frames. */
export class Collector {
  private readonly recorder: Recorder
  private readonly sender: Sender
  private readonly typed: Typing
  private current: State = 'waiting'
  private consented: boolean
  private started = false
  private paused = false // by pause()
  private unlisten: (() => void) | undefined
  private readonly life = new AbortController()
  private timer: unknown

  constructor(private readonly o: CollectorOptions, private readonly host: Host = page()) {
    refuseUnknown('collector', o, [
      'baseURL', 'session', 'token', 'purpose', 'consent', 'researchOptin', 'frameKeys', 'frameMS', 'queueLimit', 'onFrame', 'onAck', 'onState', 'onError', 'onTyping',
    ])
    for (const name of ['baseURL', 'session', 'token'] as const) if (!o[name]) throw new TypeError(`collector: ${name} is missing`)
    this.consented = o.consent === true
    const limits = { frameKeys: bounded(o.frameKeys, 50, 20, 200), frameMS: bounded(o.frameMS, 20_000, 5000, 60_000) }
    this.typed = new Typing(host.coarse(), (seen) => o.onTyping?.(seen))
    this.recorder = new Recorder(limits, this.typed, (cut) => this.hand(cut))
    this.sender = new Sender(host, {
      url: `${o.baseURL.replace(/\/+$/, '')}/api/v1/sessions/${encodeURIComponent(o.session)}/evidence`,
      token: () => o.token({ session: o.session, purpose: o.purpose ?? 'score' }), queueLimit: bounded(o.queueLimit, 30, 1, 100),
      acked: (ack, frame) => o.onAck?.(ack, frame),
      failed: (error) => o.onError?.(error),
      ended: (reason) => this.end(reason),
    })
  }

  get state(): State {
    return this.current
  }

  /** How text arrived in the page so far, as counts. */
  get typing(): TypingSeen {
    return this.typed.state
  }

  /** Starts observing once there is consent. */
  start(): this {
    if (this.started || this.current === 'ended') return this
    this.started = true
    const signal = this.life.signal
    this.host.document.addEventListener('visibilitychange', () => this.update(), { signal })
    this.host.window.addEventListener('pagehide', () => this.leave(), { signal })
    this.host.window.addEventListener('online', () => void this.sender.flush(), { signal })
    this.update()
    return this
  }

  /** Records that the user agreed. Nothing is observed before. */
  grantConsent(): void {
    this.consented = true
    this.update()
  }

  /** Records that the user withdrew: deletes unsent data and ends the collector. */
  withdrawConsent(): void {
    this.consented = false
    this.recorder.clear()
    this.sender.close()
    this.end('consent_withdrawn')
  }

  pause(): void {
    this.paused = true
    this.update()
  }

  resume(): void {
    this.paused = false
    this.update()
  }

  /** Completes the current frame and sends it; resolves when the service has responded or the frame has to wait. */
  async flush(): Promise<void> {
    this.recorder.cut()
    await this.sender.flush()
  }

  /** Sends pending frames and ends the collector. */
  async stop(): Promise<void> {
    if (this.current === 'ended') return
    this.ignore()
    await this.flush()
    this.sender.close()
    this.end('stopped')
  }

  private update(): void {
    if (!this.started || !this.consented || this.current === 'ended') return
    const listening = this.host.document.visibilityState === 'visible' && !this.paused
    if (listening && !this.unlisten) {
      this.unlisten = listen(this.host, this.recorder, this.typed)
      this.watch()
    }
    if (!listening && this.unlisten) {
      this.ignore()
      this.leave()
    }
    this.become(listening ? 'listening' : 'paused')
  }

  private ignore(): void {
    this.unlisten?.()
    this.unlisten = undefined
    this.host.clear(this.timer)
  }

  /** Sends pending frames in a way that outlives the page. */
  private leave(): void {
    this.recorder.cut()
    this.sender.leave()
  }

  /** Completes a frame when it is due even if the user has stopped typing, so that evidence does not wait for the next key. */
  private watch(): void {
    const wait = Math.min(this.recorder.due() - this.host.now(), 5000)
    this.timer = this.host.timer(() => {
      if (this.recorder.due() <= this.host.now()) this.host.idle(() => this.cutIfStillDue(), IDLE_WITHIN_MS)
      this.watch()
    }, Math.max(wait, 250))
  }

  private cutIfStillDue(): void {
    if (this.recorder.due() <= this.host.now()) this.recorder.cut()
  }

  private hand(cut: Cut): void {
    const end = this.host.date() - Math.max(this.host.now() - cut.to, 0)
    const duration = Math.max(Math.round(cut.to - cut.from), 0)
    const frame: Frame = {
      frame_id: this.host.id(), timestamp: seconds(end), duration_ms: duration, window_start: seconds(end - duration),
      window_end: seconds(end), purpose: this.o.purpose ?? 'score', features: cut.features,
    }
    if (this.o.researchOptin) frame.research_optin = true
    this.o.onFrame?.(frame)
    this.sender.push(frame)
  }

  private become(state: State, reason?: EndReason): void {
    if (this.current === state) return
    this.current = state
    this.o.onState?.(state, reason)
  }

  private end(reason: EndReason): void {
    this.ignore()
    this.recorder.clear()
    this.life.abort()
    this.become('ended', reason)
  }
}

const seconds = (ms: number): number => Math.round(ms) / 1000

function bounded(v: number | undefined, standard: number, lo: number, hi: number): number {
  return v === undefined || !Number.isFinite(v) ? standard : Math.min(Math.max(Math.round(v), lo), hi)
}
