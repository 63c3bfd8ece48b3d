import type { Features } from '../features/frame.js'

/** A client token, as POST /api/v1/client-tokens answers it. A bare string is taken too. */
export type ClientToken = string | { client_token: string; expires_at?: number }

/** What a collector asks a token for: the narrowest that it can work with. */
export interface TokenAsk {
  session: string
  purpose: 'score' | 'enroll'
}

/** What POST /api/v1/sessions/{id}/evidence is sent: FeatureFrameRequest. */
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

/** What the service answers a frame: EvidenceAck. */
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
 * waiting: for consent or start; listening; paused: the page is hidden or pause() was called; ended: for good.
 */
export type State = 'waiting' | 'listening' | 'paused' | 'ended'

/** Why a collector ended. */
export type EndReason = 'stopped' | 'consent_withdrawn' | 'session_closed' | 'session_not_found' | 'unauthorized' | 'forbidden'

/** What went wrong with a frame; the collector goes on by itself unless the state is ended. */
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
  /** Called for the first token, shortly before one expires, and when the service refuses one. It asks your backend. */
  token: (ask: TokenAsk) => Promise<ClientToken> | ClientToken
  /** enroll while the person enrolls; score otherwise. Default score. */
  purpose?: 'score' | 'enroll'
  /** true where the person has already agreed. Otherwise nothing is listened to before grantConsent(). Default false. */
  consent?: boolean
  /** The person agreed to research use of pseudonymised vectors; see the service's documentation. Default false. */
  researchOptin?: boolean
  /** Keys after which a frame is cut, 20 to 200. Default 50, which is measured to be best. */
  frameKeys?: number
  /** Milliseconds after which a frame is cut, 5000 to 60000. Default 20000. */
  frameMS?: number
  /** Frames kept while the service cannot be reached, 1 to 100; the oldest are dropped. Default 30. */
  queueLimit?: number
  onFrame?: (frame: Frame) => void
  onAck?: (ack: Ack, frame: Frame) => void
  onState?: (state: State, reason?: EndReason) => void
  onError?: (error: CollectorError) => void
}
