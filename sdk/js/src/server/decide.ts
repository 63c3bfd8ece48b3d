import { complete, type Ask, type AuthorizeRequest, type AuthorizeResponse, type Countersign } from './client.js'
import { isRateLimited, isUnavailable } from './errors.js'
import type { CallOptions } from './http.js'

export type RiskClass = 'low' | 'elevated' | 'high' | 'critical'

/** The decision to use if the service returned none. challenge means a step-up of your own. */
export type FailureMode = 'allow' | 'challenge' | 'deny'

/** The higher the risk, the stricter the fallback. */
export const DEFAULT_FAILURE_MODES: Readonly<Record<RiskClass, FailureMode>> = {
  low: 'allow', elevated: 'challenge', high: 'deny', critical: 'deny',
}

/**
 * How requests are treated while the service is unavailable, as in the Go SDK: closed refuses them, open lets them through. Without it the
 * action's risk class decides, with failureModes in place of the defaults. A request that a quota or rate limit of the service refuses
 * (429) is always denied: an attacker who can cause requests can use up a quota.
 */
export type DecideOptions = CallOptions & (
  | { failure: 'closed' | 'open'; riskClass?: never; failureModes?: never }
  | { failure?: never; riskClass: RiskClass; failureModes?: Partial<Record<RiskClass, FailureMode>> }
)

type FromService<R extends AuthorizeResponse> = R extends AuthorizeResponse
  ? { source: 'service'; allowed: boolean; decision: R['decision']; mode: R['mode']; response: R; request: AuthorizeRequest } : never

/**
 * Narrow it by source, decision and mode: an allow of the service in mode enforce has response.proof. allowed says whether to carry out
 * the action: it is true for allow, and for every decision in mode shadow, which refuses nothing.
 */
export type Decision =
  | FromService<AuthorizeResponse>
  /** There is no proof. The service may have decided nevertheless: repeat the request to receive its decision. */
  | { source: 'fallback'; allowed: boolean; decision: FailureMode; error: unknown; request: AuthorizeRequest }

const DECIDE_WITHIN_MS = 1000

/**
 * Requests a decision within a second (or timeoutMS). If the service is slow or unavailable, or its response violates the contract
 * (ProtocolError), the result is the fallback of DecideOptions. If a quota or rate limit refuses the request (429), it is deny, with the
 * refusal in error (isRateLimited). A refusal of the request itself is thrown: a mistake
 * must never grant access.
 *
 * An allow in mode enforce has a proof. For high-risk actions, verify it (ProofVerifier) with request.nonce before acting: an
 * intermediary can change a response, but cannot sign a proof.
 */
export async function decide(countersign: Countersign, ask: Ask, o: DecideOptions): Promise<Decision> {
  const request = complete(ask)
  const { failure, riskClass, failureModes, ...call } = o
  try {
    const response = await countersign.authorize(request, { timeoutMS: DECIDE_WITHIN_MS, ...call })
    const allowed = response.decision === 'allow' || response.mode === 'shadow'
    return { source: 'service', allowed, decision: response.decision, mode: response.mode, response, request } as Decision
  } catch (error) {
    const limited = isRateLimited(error)
    if (!limited && !isUnavailable(error)) throw error
    const decision = limited ? 'deny' : failure ? BY_FAILURE[failure] : (failureModes?.[riskClass] ?? DEFAULT_FAILURE_MODES[riskClass])
    return { source: 'fallback', allowed: decision === 'allow', decision, error, request }
  }
}

const BY_FAILURE: Readonly<Record<'closed' | 'open', FailureMode>> = { closed: 'deny', open: 'allow' }
