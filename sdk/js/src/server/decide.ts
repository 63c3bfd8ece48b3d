import { complete, type Ask, type AuthorizeRequest, type AuthorizeResponse, type Countersign } from './client.js'
import { isUnavailable } from './errors.js'
import type { CallOptions } from './http.js'

export type RiskClass = 'low' | 'elevated' | 'high' | 'critical'

/** What to do without an answer that can be believed. challenge means a step-up of your own. */
export type FailureMode = 'allow' | 'challenge' | 'deny'

/** The more there is to lose, the less is done without a decision. */
export const DEFAULT_FAILURE_MODES: Readonly<Record<RiskClass, FailureMode>> = {
  low: 'allow', elevated: 'challenge', high: 'deny', critical: 'deny',
}

export interface DecideOptions extends CallOptions {
  riskClass: RiskClass
  failureModes?: Partial<Record<RiskClass, FailureMode>>
}

export type Decision =
  | { source: 'service'; decision: AuthorizeResponse['decision']; response: AuthorizeResponse; request: AuthorizeRequest }
  /** There is no proof, and the service may still have decided: ask again with request to learn what. */
  | { source: 'fallback'; decision: FailureMode; error: unknown; request: AuthorizeRequest }

const DECIDE_WITHIN_MS = 1000

/**
 * Asks for a decision within a second (or timeoutMS), and falls back by the action's risk class if there is none: the service is
 * slow or unavailable, or what came back is not an answer of the contract (ProtocolError). A refusal of the request itself is
 * thrown: a mistake must never open a door.
 *
 * An allow in mode enforce has a proof. Verify it (ProofVerifier) with request.nonce before acting where more is at stake than the
 * connection can be trusted with: what is between you and the service can change an answer, and cannot sign a proof.
 */
export async function decide(countersign: Countersign, ask: Ask, o: DecideOptions): Promise<Decision> {
  const request = complete(ask)
  const { riskClass, failureModes, ...call } = o
  try {
    const response = await countersign.authorize(request, { timeoutMS: DECIDE_WITHIN_MS, ...call })
    return { source: 'service', decision: response.decision, response, request }
  } catch (error) {
    if (!isUnavailable(error)) throw error
    return { source: 'fallback', decision: failureModes?.[riskClass] ?? DEFAULT_FAILURE_MODES[riskClass], error, request }
  }
}
