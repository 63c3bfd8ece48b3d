/**
 * Guards the tools of an MCP server with Countersign actions (docs/agents.md). Before a tool runs, the person for whom the agent
 * works is authorized: a challenge becomes a URL elicitation to the hosted page, a hold waits for its review, and the tool runs
 * only if a proof for exactly this call was verified and consumed. No call runs while the service is unavailable, or if a quota or rate
 * limit of the service refuses it (429).
 *
 * It works with @modelcontextprotocol/server (2.x), for clients of every revision up to 2026-07-28, and with @modelcontextprotocol/sdk (1.x).
 * Their types are matched by shape, so that this package depends on neither.
 */
import { ProofError, canonical, complete, digest, isRateLimited, isUnavailable, type Ask, type Countersign, type Output, type ProofVerifier } from '@countersign/sdk/server'
import { refuseUnknown } from '../options.js'
import { ArgumentsError, plain } from './arguments.js'
import { META_AUTHORIZATION, QUESTION, received, type ElicitingServer, type Received, type ToolContext, type ToolExtra } from './request.js'
import { open, seal } from './state.js'

export { META_AUTHORIZATION } from './request.js'
export type { ElicitingServer, ToolContext, ToolExtra } from './request.js'

export interface ToolGateOptions {
  countersign: Countersign
  verifier: ProofVerifier
  server: ElicitingServer
  /** The audience of the decisions. */
  audience: string
  /**
   * The key under which the state of a waiting call is sealed, 32 bytes or more. Processes that serve the same clients share it. Default: derived
   * from the API key.
   */
  stateKey?: Uint8Array
  /**
   * Milliseconds that a call waits for the person or a reviewer before it returns its state. Default 50 seconds: clients give up after 60
   * unless they are set otherwise.
   */
  waitMS?: number
  /** Milliseconds between two questions for the result. Default 2000. */
  pollMS?: number
  /** Receives errors whose text an agent must not see. */
  onError?: (error: unknown) => void
}

/** Take subject and agent from the session that the server authenticated, never from the arguments, which the agent chooses. */
export interface ToolCall {
  action: string
  /** The person for whom the agent works. */
  subject: string
  /** The agent, such as the client id of its token. */
  agent: string
  resource: { type: string; id: string }
  /** Pins an observation session. */
  session?: string
  /** Arguments that become part of the context, to be shown and checked by the action's context_schema. */
  show?: readonly string[]
}

/** The result of a call that did not run. */
export interface Refusal {
  [key: string]: unknown
  isError: true
  content: { type: 'text'; text: string }[]
  _meta?: Record<string, unknown>
}

/** A result that asks the client to open the hosted page and to call again (2026-07-28). */
export interface Question {
  [key: string]: unknown
  resultType: 'input_required'
  inputRequests: Record<string, { method: 'elicitation/create'; params: { mode: 'url'; message: string; url: string } }>
  requestState: string
}

/** The result of a call whose tool did not run. */
export type Stopped = Refusal | Question

/** What a guarded handler may return instead of the tool's result: with @modelcontextprotocol/sdk there are no questions. */
export type Stops<Extra> = Extra extends ToolContext ? Stopped : Refusal

/** A guarded handler, for a tool with or without an inputSchema. */
export type GatedTool<Args, Extra, Result> = ((extra: Extra) => Promise<Result | Stops<Extra>>) & ((args: Args, extra: Extra) => Promise<Result | Stops<Extra>>)

const UNAVAILABLE = 'The call could not be authorized now. Try again in a moment.'
const CONFIRM = 'Confirm this call on the page.'
const LIMITED = 'The call could not be authorized now: too many requests. Try again later.'

type Trace = Output<'getAuthorization'>

/** What the gate knows of a call, and the nonce that the proof must have. */
interface Run {
  call: ToolCall
  from: Received
  context: Record<string, unknown>
  nonce: string
  until: number
}

/** Guards tools. It holds no state: another process can continue a call that waits for a review. */
export class ToolGate {
  private readonly key: Uint8Array

  constructor(private readonly o: ToolGateOptions) {
    refuseUnknown('ToolGate', o, ['countersign', 'verifier', 'server', 'audience', 'stateKey', 'waitMS', 'pollMS', 'onError'])
    if (o.stateKey && o.stateKey.length < 32) throw new TypeError('stateKey must have 32 bytes or more')
    this.key = o.stateKey ?? o.countersign.deriveKey('mcp state')
  }

  /**
   * Returns a handler for registerTool that runs the given one after the person was authorized. describe and handler receive what the server
   * passes: arguments and extra, or only extra if the tool is registered without inputSchema. The arguments are a copy of those that were
   * authorized. They must be plain JSON data: convert them, for example to a Date, in the handler and not in the schema.
   */
  tool<Args extends Record<string, unknown>, Extra extends ToolExtra | ToolContext = ToolExtra, Result = unknown>(
    name: string, describe: (args: Args, extra: Extra) => ToolCall | Promise<ToolCall>, handler: (args: Args, extra: Extra) => Result | Promise<Result>,
  ): GatedTool<Args, Extra, Result>
  tool<Extra extends ToolExtra | ToolContext = ToolExtra, Result = unknown>(
    name: string, describe: (extra: Extra) => ToolCall | Promise<ToolCall>, handler: (extra: Extra) => Result | Promise<Result>,
  ): (extra: Extra) => Promise<Result | Stops<Extra>>
  tool(name: string, describe: (...received: any[]) => ToolCall | Promise<ToolCall>, handler: (...received: any[]) => unknown): GatedTool<any, any, any> {
    return async (...passed: [unknown, ToolExtra | ToolContext] | [ToolExtra | ToolContext]) => {
      const extra = passed.at(-1) as ToolExtra | ToolContext
      let text: string
      try {
        text = canonical(plain(passed.length > 1 ? passed[0] : {}))
      } catch (error) {
        return this.failed(error, received(extra, this.o.server))
      }
      const approved = (): unknown[] => (passed.length > 1 ? [JSON.parse(text), extra] : [extra]) // parsed afresh: describe may change its copy
      const call = await describe(...approved())
      const stop = await this.check(name, JSON.parse(text) as Record<string, unknown>, call, extra)
      return stop ?? handler(...approved())
    }
  }

  /**
   * Returns null if the tool may run now, once, and otherwise the result of the call. The arguments must be plain JSON data, and the tool must
   * run with exactly these: do not change them in between.
   */
  async check(name: string, args: Record<string, unknown>, call: ToolCall, extra: ToolExtra | ToolContext): Promise<Stopped | null> {
    const from = received(extra, this.o.server)
    try {
      refuseUnknown('the description of a call', call, ['action', 'subject', 'agent', 'resource', 'session', 'show'])
      const all = plain(args) as Record<string, unknown>
      const shown = Object.fromEntries((call.show ?? []).filter((key) => Object.hasOwn(all, key)).map((key) => [key, all[key]]))
      const context = {
        agent: call.agent, tool: name, arguments_digest: digest(all), ...(Object.keys(shown).length > 0 ? { arguments: shown } : {}),
      }
      const run = { call, from, context, nonce: '', until: Date.now() + (this.o.waitMS ?? 50_000) }
      return from.state === undefined ? await this.begin(run) : await this.resume(run, from.state)
    } catch (error) {
      return this.failed(error, from)
    }
  }

  private failed(error: unknown, from: Received): Refusal {
    if (from.signal.aborted) return refusal('The call was cancelled.')
    if (isUnavailable(error)) return refusal(UNAVAILABLE)
    if (error instanceof ProofError) return refusal(`The approval cannot be used for this call: ${error.code}.`)
    this.o.onError?.(error)
    if (isRateLimited(error)) return refusal(LIMITED)
    return refusal(error instanceof ArgumentsError ? `The call cannot be authorized: ${error.message}.` : 'The call could not be authorized.')
  }

  /** What the state of this call is for. */
  private of(run: Run): { subject: string; action: string; digest: string } {
    return { subject: run.call.subject, action: run.call.action, digest: digest(run.context) }
  }

  private async begin(run: Run): Promise<Stopped | null> {
    const { call, context, from } = run
    const ask: Ask = { subject: call.subject, action: call.action, resource: call.resource, audience: this.o.audience, context }
    if (call.session !== undefined) ask.session = call.session
    const request = complete(ask)
    const d = await this.o.countersign.authorize(request, { signal: from.signal })
    if (d.mode === 'shadow') return null // decisions have no effect yet
    const known = { ...run, nonce: request.nonce }
    if (d.decision === 'allow') {
      return d.proof ? this.redeem(known, d.proof) : refusal('The tool runs only on a proof, and the action issues none: set its mode to enforce.')
    }
    if (d.decision === 'challenge' && d.challenge) return this.confirm(known, d.id, d.challenge.id, d.human_readable.detail)
    return d.decision === 'hold' ? this.follow(known, d.id) : refusal(d.human_readable.detail)
  }

  /** Continues a call that waits. The state is the gate's own, and is for this call. */
  private async resume(run: Run, sealed: string): Promise<Stopped | null> {
    const state = open(this.key, this.of(run), sealed)
    if (!state) return refusal('The approval is for a different call, or has expired. Call the tool again without it.')
    const known = { ...run, nonce: state.nonce }
    const t = await this.o.countersign.getAuthorization({ path: { authorization_id: state.authorization } }, { signal: run.from.signal })
    if (t.challenge?.status !== 'open') return t.challenge ? this.follow(known, t.id) : this.next(known, t)
    if (run.from.action === undefined) return this.confirm(known, t.id, t.challenge.id, CONFIRM)
    return run.from.action === 'accept' ? this.follow(known, t.id) : this.decline(t.challenge.id)
  }

  /** Has the client open the hosted page. Its link is for the person only: it is never part of a text that the agent reads. */
  private async confirm(run: Run, authorization: string, challenge: string, message: string): Promise<Stopped | null> {
    if (!run.from.opensPages) {
      return refusal('The person must confirm this call, and the client cannot open pages: it must support elicitation in mode url.')
    }
    const { signal } = run.from
    const link = await this.o.countersign.createChallengeLink({ path: { challenge_id: challenge }, body: { for: 'client' } }, { signal })
    if (run.from.rounds) {
      return {
        resultType: 'input_required', requestState: seal(this.key, this.of(run), { authorization, nonce: run.nonce }),
        inputRequests: { [QUESTION]: { method: 'elicitation/create', params: { mode: 'url', message, url: link.url } } },
      }
    }
    const { action } = await this.o.server.server.elicitInput({ mode: 'url', message, url: link.url, elicitationId: challenge }, {
      relatedRequestId: run.from.id, timeout: Math.max(run.until - Date.now(), 1), signal,
    })
    return action === 'accept' ? this.follow(run, authorization) : this.decline(challenge)
  }

  private async decline(challenge: string): Promise<Refusal> {
    await this.o.countersign.cancelChallenge({ path: { challenge_id: challenge } }).catch(() => undefined) // it expires by itself
    return refusal('The person declined the call.')
  }

  /** Waits until a challenge or a hold is settled, and continues with the follow-up decision. */
  private async follow(run: Run, authorization: string): Promise<Stopped | null> {
    for (;;) {
      const t = await this.o.countersign.getAuthorization({ path: { authorization_id: authorization } }, { signal: run.from.signal })
      if (t.child_authorization) {
        return this.next(run, await this.o.countersign.getAuthorization({ path: { authorization_id: t.child_authorization } }, { signal: run.from.signal }))
      }
      if (t.challenge ? !['open', 'completed'].includes(t.challenge.status) : !['pending', 'approved'].includes(t.review_status ?? '')) {
        return refusal('The call was not approved: it was declined, or not approved in time.')
      }
      if (Date.now() >= run.until) {
        return { ...refusal(`The call waits for approval. Call the tool again with the same arguments and the entry ${META_AUTHORIZATION} of _meta.`),
          _meta: { [META_AUTHORIZATION]: seal(this.key, this.of(run), { authorization, nonce: run.nonce }) } }
      }
      await pause(this.o.pollMS ?? 2000, run.from.signal)
    }
  }

  private async next(run: Run, t: Trace): Promise<Stopped | null> {
    if (t.decision === 'allow') {
      return t.proof?.compact ? this.redeem(run, t.proof.compact) : refusal('The approval was used or has expired. Call the tool again without it.')
    }
    if (t.child_authorization || t.decision === 'hold') return this.follow(run, t.id)
    if (t.decision === 'challenge' && t.challenge) return this.confirm(run, t.id, t.challenge.id, CONFIRM)
    return refusal('The call is not allowed.')
  }

  /** Verifies a proof offline against this call, and consumes it at the service, so that it lets one call through. */
  private async redeem(run: Run, compact: string): Promise<Stopped | null> {
    const { call } = run
    const claims = await this.o.verifier.verify(compact, {
      audience: this.o.audience, action: call.action, subject: call.subject, resource: call.resource, context: run.context, nonce: run.nonce,
    })
    const used = await this.o.countersign.verifyProof({ body: { proof: compact, audience: this.o.audience, action: call.action, consume: true } })
    if (used.valid && used.claims?.jti === claims.jti) return null
    throw new ProofError(used.reason_codes[0] ?? 'proof_unknown', 'the service does not accept it')
  }
}

function refusal(text: string): Refusal {
  return { isError: true, content: [{ type: 'text', text }] }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
