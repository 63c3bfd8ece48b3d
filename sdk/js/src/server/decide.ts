import { complete, type Ask, type AuthorizeRequest, type AuthorizeResponse, type Countersign } from './client.js'
import { isUnavailable } from './errors.js'
import type { CallOptions } from './http.js'

export type RiskClass = 'low' | 'elevated' | 'high' | 'critical'

/** The decision to use if the service returned none. challenge means a step-up of your own. */
export type FailureMode = 'allow' | 'challenge' | 'deny'

/** The higher the risk, the stricter the fallback. */
export const DEFAULT_FAILURE_MODES: Readonly<Record<RiskClass, FailureMode>> = {
  low: 'allow', elevated: 'challenge', high: 'deny', critical: 'deny',
}

export interface DecideOptions extends CallOptions {
  riskClass: RiskClass
  failureModes?: Partial<Record<RiskClass, FailureMode>>
}

export type Decision =
  | { source: 'service'; decision: AuthorizeResponse['decision']; response: AuthorizeResponse; request: AuthorizeRequest }
  /** There is no proof. The service may have decided nevertheless: repeat the request to receive its decision. */
  | { source: 'fallback'; decision: FailureMode; error: unknown; request: AuthorizeRequest }

const DECIDE_WITHIN_MS = 1000

/**
 * Requests a decision within a second (or timeoutMS). If the service is slow or unavailable, or its response violates the contract
 * (ProtocolError), the result is the fallback for the action's risk class. A refusal of the request itself is thrown: a mistake
 * must never grant access.
 *
 * An allow in mode enforce has a proof. For high-risk actions, verify it (ProofVerifier) with request.nonce before acting: an
 * intermediary can change a response, but cannot sign a proof.
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
