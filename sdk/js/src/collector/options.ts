import type { Features } from '../features/frame.js'

/** A client token, as POST /api/v1/client-tokens returns it, or only its string. */
export type ClientToken = string | { client_token: string; expires_at?: number }

/** What a collector needs a token for: request the narrowest token for it. */
export interface TokenAsk {
  session: string
  purpose: 'score' | 'enroll'
}

/** The body of POST /api/v1/sessions/{id}/evidence: FeatureFrameRequest. */
export interface Frame {
  frame_id: string
  timestamp: number
  duration_ms: number
  window_start: number
  window_end: number
  purpose: 'score' | 'enroll'
  research_optin?: true
  features: Features
}

/** The service's response to a frame: EvidenceAck. */
export interface Ack {
  status: 'accepted' | 'neutral' | 'rejected'
  coverage: 'none' | 'sparse' | 'partial' | 'sufficient'
  evidence_windows: number
  active_seconds: number
  enrollment_ready: boolean
  modalities_present: string[]
  reason_codes: string[]
}

/**
 * waiting: for consent or start; listening; paused: the page is hidden or pause() was called; ended: final.
 */
export type State = 'waiting' | 'listening' | 'paused' | 'ended'

/** Why a collector ended. */
export type EndReason = 'stopped' | 'consent_withdrawn' | 'session_closed' | 'session_not_found' | 'unauthorized' | 'forbidden'

/**
 * How text arrived in the page since the collector began to listen: counts, never the text. Secret and ignored fields are left out.
 */
export interface TypingSeen {
  /**
   * What was typed with last. physical: keys that report their position, which alone are scored and sent. touch: an on-screen keyboard.
   * hidden: text without keys, on a device that is not used by touch.
   */
  keyboard: 'none' | 'physical' | 'touch' | 'hidden'
  /** Keys pressed on a physical keyboard. */
  keys: number
  /** Characters typed or deleted one at a time by other keyboards. */
  taps: number
  /** Times that text appeared at once: a swiped word, a suggestion, a correction, dictation. It is no evidence of anyone. */
  inserted: number
  /** Pastes and drops. */
  pasted: number
}

/** An error with a frame; the collector continues by itself unless the state is ended. */
export interface CollectorError {
  kind: 'network' | 'service' | 'refused' | 'dropped' | 'token'
  status?: number
  /** The stable code of the service's problem, such as session_closed. */
  code?: string
  detail: string
}

export interface CollectorOptions {
  /** The service's address, such as https://countersign.example. */
  baseURL: string
  /** The session that the evidence belongs to. */
  session: string
  /** Called for the first token, shortly before one expires, and when the service refuses one. Fetch it from your backend. */
  token: (ask: TokenAsk) => Promise<ClientToken> | ClientToken
  /** enroll while the user enrolls; score otherwise. Default score. */
  purpose?: 'score' | 'enroll'
  /** true if the user has already agreed. Otherwise nothing is observed before grantConsent(). Default false. */
  consent?: boolean
  /** true if the user agreed to research use of pseudonymised vectors; see docs/retention.md. Default false. */
  researchOptin?: boolean
  /** Keys after which a frame is cut, 20 to 200. Default 50, the best value in measurements (docs/accuracy.md). */
  frameKeys?: number
  /** Milliseconds after which a frame is cut, 5000 to 60000. Default 20000. */
  frameMS?: number
  /** Frames stored while the service cannot be reached, 1 to 100; the oldest are dropped. Default 30. */
  queueLimit?: number
  onFrame?: (frame: Frame) => void
  onAck?: (ack: Ack, frame: Frame) => void
  onState?: (state: State, reason?: EndReason) => void
  onError?: (error: CollectorError) => void
  /** Called after each key, tap, insertion and paste, with counts only. */
  onTyping?: (seen: TypingSeen) => void
}
