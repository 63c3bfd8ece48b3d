import { digest } from './canonical.js'
import { complete, type Ask, type AuthorizeResponse, type Countersign } from './client.js'
import { CountersignError, ProblemError, ProtocolError, ValidationError, isRateLimited, isUnavailable } from './errors.js'
import { ProofError, type ProofClaims, type ProofVerifier } from './proof.js'
import { refuseUnknown, requireGiven } from '../options.js'

/** What a request is about to do. Fill it from the request's session and body, never from what only the page claims about its user. */
export interface GateAsk {
  subject: string
  resource: { type: string; id: string }
  context?: Record<string, unknown>
  session?: string
}

export interface GateOptions {
  countersign: Countersign
  verifier: ProofVerifier
  action: string
  audience: string
  /** While the service is unavailable: closed, the default, refuses the request, open lets it through. A refusal by a quota (429) never goes through. */
  failure?: 'closed' | 'open'
  /** Refuses what comes without a proof, whatever the response says. Set it once the action is in mode enforce. */
  requireProof?: boolean
  /** Milliseconds for a decision before failure applies. Default 2000. */
  timeoutMS?: number
  /** Gets the refusal of a request that the service calls invalid (422), for your log: the page learns no more than that. Default console.error. */
  onInvalid?: (error: ValidationError) => void
}

/** The result of a check. claims are those of the consumed proof; they are missing in modes shadow and test, and if the gate fails open. */
export interface GateOutcome {
  allowed: boolean
  claims?: ProofClaims
  decision?: AuthorizeResponse
  refusal?: ProofError
  /** Why there is no decision. */
  error?: unknown
}

/** A request that cannot be described: thrown by describe, it is 400 with its message. */
export class GateRequestError extends CountersignError {
  override readonly name = 'GateRequestError'
}

/**
 * Thrown by describe for a request whose token is too old or too weak, and which a new login would satisfy: 401 as RFC 9470 says. acrValues are the
 * accepted authentication contexts, the preferred one first; maxAge is in seconds.
 */
export class LoginRequiredError extends CountersignError {
  override readonly name = 'LoginRequiredError'
  constructor(readonly accepts: { acrValues?: string[]; maxAge?: number } = {}) {
    super('A new login is required.')
  }

  /** The value of WWW-Authenticate. */
  get challenge(): string {
    const { acrValues = [], maxAge } = this.accepts
    return 'Bearer error="insufficient_user_authentication", error_description="A new login is required"'
      + (acrValues.length ? `, acr_values=${JSON.stringify(acrValues.join(' '))}` : '') + (maxAge === undefined ? '' : `, max_age="${maxAge}"`)
  }
}

/** The request header in which a page sends the proof that it received after a step-up. */
export const PROOF_HEADER = 'countersign-proof'

/**
 * Guards a route with an action: the route runs only on a proof for exactly its request, which the gate verifies and consumes. In mode shadow no
 * request is refused, and in mode test no proofs are issued: see requireProof.
 */
export class Gate {
  constructor(private readonly o: GateOptions) {
    refuseUnknown('Gate', o, ['countersign', 'verifier', 'action', 'audience', 'failure', 'requireProof', 'timeoutMS', 'onInvalid'])
    requireGiven('Gate', o, ['countersign', 'verifier', 'action', 'audience'])
  }

  /** Reports a request that the service calls invalid, whose page learns no more than that. */
  invalid(error: ValidationError): void {
    if (this.o.onInvalid) this.o.onInvalid(error)
    else console.error(error)
  }

  /** Requests a decision, or takes the proof that a request brought. A request that the service refuses is thrown. */
  async check(ask: GateAsk, brought?: string): Promise<GateOutcome> {
    refuseUnknown('the description of a request', ask, ['subject', 'resource', 'context', 'session'])
    const { action, audience, countersign } = this.o
    try {
      if (brought) return await this.redeem(ask, brought)
      const { subject, resource, session, context = {} } = ask
      const full: Ask = { subject, action, resource, audience, context, ...(session === undefined ? {} : { session }) }
      const request = complete(full)
      const decision = await countersign.authorize(request, { timeoutMS: this.o.timeoutMS ?? 2000 })
      if (decision.decision === 'allow' && decision.proof) return { ...(await this.redeem(ask, decision.proof, request.nonce)), decision }
      const passes = (decision.decision === 'allow' || decision.mode === 'shadow') && decision.mode !== 'enforce'
      return { allowed: passes && !this.o.requireProof, decision }
    } catch (error) {
      if (error instanceof ProofError) return { allowed: false, refusal: error }
      if (!isRateLimited(error) && !isUnavailable(error)) throw error
      return { allowed: this.o.failure === 'open' && !brought && !isRateLimited(error), error }
    }
  }

  private async redeem(ask: GateAsk, proof: string, nonce?: string): Promise<GateOutcome> {
    const { action, audience, countersign, verifier } = this.o
    const { subject, resource, context = {} } = ask
    const claims = await verifier.verify(proof, { audience, action, subject, resource, context, ...(nonce === undefined ? {} : { nonce }) })
    const used = await countersign.verifyProof({ body: { proof, audience, action, consume: true } }, { timeoutMS: this.o.timeoutMS ?? 2000 })
    if (used.valid && used.claims?.jti === claims.jti && claims.ctx === digest(context)) return { allowed: true, claims }
    throw new ProofError(used.reason_codes[0] ?? 'proof_unknown', 'the service does not accept it')
  }
}

/** The response to a request that did not go through. */
export interface GateAnswer {
  status: number
  headers: Record<string, string>
  body: { decision: string; message: string; authorization?: string; challenge?: unknown }
}

/**
 * 401 for a challenge (the page completes it and repeats the request with the proof), 403 for a hold, a denial or a refused proof, 503 if
 * there is no decision.
 */
export function answer(outcome: GateOutcome): GateAnswer {
  const headers: Record<string, string> = { 'Cache-Control': 'no-store' }
  const { decision: d, error, refusal } = outcome
  if (error !== undefined) {
    const wait = error instanceof ProblemError || error instanceof ProtocolError ? (error.retryAfter ?? 0) : 0
    return {
      status: 503, headers: { ...headers, 'Retry-After': String(Math.max(2, Math.ceil(wait))) },
      body: { decision: 'unavailable', message: 'Please try again in a moment.' },
    }
  }
  if (refusal) return { status: 403, headers, body: { decision: 'refused', message: `The confirmation cannot be used for this: ${refusal.code}.` } }
  if (!d || d.decision === 'allow' || d.mode === 'shadow') {
    return { status: 403, headers, body: { decision: 'refused', message: 'The action is not enforced, so that there is no proof for it.' } }
  }
  const body = { decision: d.decision, authorization: d.id, message: d.human_readable.detail }
  if (d.decision !== 'challenge') return { status: 403, headers, body }
  return {
    status: 401, headers: { ...headers, 'WWW-Authenticate': 'Countersign error="challenge_required"' },
    body: { ...body, challenge: d.challenge },
  }
}

/** Returns what stops a request; undefined if it may go on. The text of other errors is for the log of the relying party. */
async function stopped<R>(gate: Gate, request: R, describe: Describe<R>, proof: string | undefined, allowed: (o: GateOutcome) => void): Promise<GateAnswer | undefined> {
  const headers = { 'Cache-Control': 'no-store' }
  try {
    const outcome = await gate.check(await describe(request), proof)
    if (!outcome.allowed) return answer(outcome)
    allowed(outcome)
    return undefined
  } catch (error) {
    if (error instanceof LoginRequiredError) {
      return { status: 401, headers: { ...headers, 'WWW-Authenticate': error.challenge }, body: { decision: 'refused', message: error.message } }
    }
    if (error instanceof GateRequestError) return { status: 400, headers, body: { decision: 'refused', message: error.message } }
    if (error instanceof ValidationError) {
      gate.invalid(error)
      return { status: 422, headers, body: { decision: 'refused', message: 'The request cannot be authorized as it is.' } }
    }
    throw new CountersignError('the request could not be authorized', { cause: error }) // frameworks would respond with the status of the cause
  }
}

export type Describe<R> = (request: R) => GateAsk | Promise<GateAsk>

interface NodeRequest { headers: Record<string, string | string[] | undefined> }

const proofOf = (request: NodeRequest): string | undefined => {
  const value = request.headers[PROOF_HEADER]
  return Array.isArray(value) ? value[0] : value
}

interface ExpressResponse { status(code: number): this; set(headers: Record<string, string>): this; json(body: unknown): unknown; locals: Record<string, unknown> }

/** Middleware for Express 4 and 5. The outcome is response.locals.countersign. */
export function expressGate<R extends NodeRequest = any>(gate: Gate, describe: Describe<R>) {
  return async (request: R, response: ExpressResponse, next: (error?: unknown) => void): Promise<void> => {
    let stop: GateAnswer | undefined
    try {
      stop = await stopped(gate, request, describe, proofOf(request), (o) => { response.locals['countersign'] = o })
    } catch (error) {
      return next(error)
    }
    if (stop) response.status(stop.status).set(stop.headers).json(stop.body)
    else next()
  }
}

interface FastifyReply { code(status: number): this; headers(values: Record<string, string>): this; send(body: unknown): unknown }

/** A preHandler for Fastify 4 and 5. */
export function fastifyGate<R extends NodeRequest = any>(gate: Gate, describe: Describe<R>, allowed: (request: R, outcome: GateOutcome) => void = () => undefined) {
  return async (request: R, reply: FastifyReply): Promise<unknown> => {
    const stop = await stopped(gate, request, describe, proofOf(request), (o) => allowed(request, o))
    return stop ? reply.code(stop.status).headers(stop.headers).send(stop.body) : undefined
  }
}

/** Wraps a handler of the Fetch API, such as a route of Next. describe receives a copy of the request, whose body it may read. */
export function nextGate<Rest extends unknown[]>(
  gate: Gate, describe: Describe<Request>, handler: (request: Request, ...rest: Rest) => Response | Promise<Response>,
) {
  return async (request: Request, ...rest: Rest): Promise<Response> => {
    const stop = await stopped(gate, request.clone(), describe, request.headers.get(PROOF_HEADER) ?? undefined, () => undefined)
    return stop ? Response.json(stop.body, { status: stop.status, headers: stop.headers }) : handler(request, ...rest)
  }
}
