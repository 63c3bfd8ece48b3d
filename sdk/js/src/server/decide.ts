import { complete, type Ask, type AuthorizeRequest, type AuthorizeResponse, type Countersign } from './client.js'
import { isRateLimited, isUnavailable } from './errors.js'
import { CALL_OPTIONS, type CallOptions } from './http.js'
import { refuseUnknown } from '../options.js'

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
  refuseUnknown('decide', o, ['failure', 'riskClass', 'failureModes', ...CALL_OPTIONS])
  const { failure, riskClass, failureModes, ...call } = o ?? {}
  const fallback = fallbackOf({ failure, riskClass, failureModes })
  try {
    const response = await countersign.authorize(request, { timeoutMS: DECIDE_WITHIN_MS, ...call })
    const allowed = response.decision === 'allow' || response.mode === 'shadow'
    return { source: 'service', allowed, decision: response.decision, mode: response.mode, response, request } as Decision
  } catch (error) {
    const limited = isRateLimited(error)
    if (!limited && !isUnavailable(error)) throw error
    const decision = limited ? 'deny' : fallback
    return { source: 'fallback', allowed: decision === 'allow', decision, error, request }
  }
}

/** Returns the decision in place of the service's. It is read before the request: a misspelt option would otherwise show in an outage only. */
function fallbackOf(o: { failure: string | undefined; riskClass: string | undefined; failureModes: Partial<Record<string, string>> | undefined }): FailureMode {
  const { failure, riskClass, failureModes = {} } = o
  if (failure === undefined && riskClass === undefined) throw new TypeError('decide: give riskClass, or failure closed or open')
  const modes: Readonly<Record<string, string>> = failure === undefined ? { ...DEFAULT_FAILURE_MODES, ...failureModes } : BY_FAILURE
  const mode = Object.hasOwn(modes, failure ?? riskClass!) ? modes[failure ?? riskClass!] : undefined
  if (mode === 'allow' || mode === 'challenge' || mode === 'deny') return mode
  throw new TypeError(failure === undefined ? 'decide: riskClass must be low, elevated, high or critical, and its failure mode allow, challenge or deny' : 'decide: failure must be closed or open')
}

const BY_FAILURE: Readonly<Record<'closed' | 'open', FailureMode>> = { closed: 'deny', open: 'allow' }
