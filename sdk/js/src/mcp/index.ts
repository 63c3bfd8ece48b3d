/**
 * Guards the tools of an MCP server with Countersign actions (docs/agents.md). Before a tool runs, the person for whom the agent
 * works is authorized: a challenge becomes a URL elicitation to the hosted page, a hold waits for its review, and the tool runs
 * only if a proof for exactly this call was verified and consumed. No call runs while the service is unavailable, or if a quota or rate
 * limit of the service refuses it (429).
 *
 * The types of @modelcontextprotocol/sdk are matched by shape, so that this package does not depend on it.
 */
import { ProblemError, ProofError, canonical, complete, digest, isRateLimited, isUnavailable, type Ask, type Countersign, type Output, type ProofVerifier } from '@countersign/sdk/server'
import { refuseUnknown } from '../options.js'
import { ArgumentsError, plain } from './arguments.js'

/** The McpServer of @modelcontextprotocol/sdk, as far as a gate uses it. */
export interface ElicitingServer {
  server: {
    getClientCapabilities(): { elicitation?: { url?: object | undefined } | undefined } | undefined
    elicitInput(
      params: { mode: 'url'; message: string; url: string; elicitationId: string },
      options?: { relatedRequestId?: string | number; timeout?: number; signal?: AbortSignal },
    ): Promise<{ action: string }>
  }
}

/** The second argument of a tool's handler, as far as a gate uses it. */
export interface ToolExtra {
  requestId: string | number
  signal: AbortSignal
  _meta?: Record<string, unknown> | undefined
}

export interface ToolGateOptions {
  countersign: Countersign
  verifier: ProofVerifier
  server: ElicitingServer
  /** The audience of the decisions. */
  audience: string
  /** Milliseconds that a call waits for the person or a reviewer. Default 5 minutes. */
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

/** A guarded handler, for a tool with or without an inputSchema. */
export type GatedTool<Args, Extra, Result> = ((extra: ToolExtra) => Promise<Result | Refusal>) & ((args: Args, extra: Extra) => Promise<Result | Refusal>)

/**
 * The key in _meta of a refused call that waits for a review. A call with the same arguments and this entry continues to wait.
 */
export const META_AUTHORIZATION = 'countersign.dev/authorization'

const UNAVAILABLE = 'The call could not be authorized now. Try again in a moment.'
const LIMITED = 'The call could not be authorized now: too many requests. Try again later.'

type Trace = Output<'getAuthorization'>

/** What the gate knows of a call, and the nonce that the proof must have. */
interface Run {
  call: ToolCall
  extra: ToolExtra
  context: Record<string, unknown>
  nonce: string
  until: number
}

/** Guards tools. It holds no state: another process can continue a call that waits for a review. */
export class ToolGate {
  constructor(private readonly o: ToolGateOptions) {
    refuseUnknown('ToolGate', o, ['countersign', 'verifier', 'server', 'audience', 'waitMS', 'pollMS', 'onError'])
  }

  /**
   * Returns a handler for registerTool that runs the given one after the person was authorized. describe and handler receive what the server
   * passes: arguments and extra, or only extra if the tool is registered without inputSchema. The arguments are a copy of those that were
   * authorized. They must be plain JSON data: convert them, for example to a Date, in the handler and not in the schema.
   */
  tool<Args extends Record<string, unknown>, Extra extends ToolExtra, Result>(
    name: string, describe: (args: Args, extra: Extra) => ToolCall | Promise<ToolCall>, handler: (args: Args, extra: Extra) => Result | Promise<Result>,
  ): GatedTool<Args, Extra, Result>
  tool<Extra extends ToolExtra, Result>(
    name: string, describe: (extra: Extra) => ToolCall | Promise<ToolCall>, handler: (extra: Extra) => Result | Promise<Result>,
  ): (extra: Extra) => Promise<Result | Refusal>
  tool(name: string, describe: (...received: any[]) => ToolCall | Promise<ToolCall>, handler: (...received: any[]) => unknown): GatedTool<any, any, any> {
    return async (...received: [unknown, ToolExtra] | [ToolExtra]) => {
      const extra = received.at(-1) as ToolExtra
      let text: string
      try {
        text = canonical(plain(received.length > 1 ? received[0] : {}))
      } catch (error) {
        return this.failed(error, extra)
      }
      const approved = (): unknown[] => (received.length > 1 ? [JSON.parse(text), extra] : [extra]) // parsed afresh: describe may change its copy
      const call = await describe(...approved())
      const stop = await this.check(name, JSON.parse(text) as Record<string, unknown>, call, extra)
      return stop ?? handler(...approved())
    }
  }

  /**
   * Returns null if the tool may run now, once, and otherwise the result of the call. The arguments must be plain JSON data, and the tool must
   * run with exactly these: do not change them in between.
   */
  async check(name: string, args: Record<string, unknown>, call: ToolCall, extra: ToolExtra): Promise<Refusal | null> {
    try {
      refuseUnknown('the description of a call', call, ['action', 'subject', 'agent', 'resource', 'session', 'show'])
      const all = plain(args) as Record<string, unknown>
      const shown = Object.fromEntries((call.show ?? []).filter((key) => Object.hasOwn(all, key)).map((key) => [key, all[key]]))
      const context = {
        agent: call.agent, tool: name, arguments_digest: digest(all), ...(Object.keys(shown).length > 0 ? { arguments: shown } : {}),
      }
      const run = { call, extra, context, nonce: '', until: Date.now() + (this.o.waitMS ?? 300_000) }
      const waiting = extra._meta?.[META_AUTHORIZATION]
      return typeof waiting === 'string' ? await this.resume(run, waiting) : await this.begin(run)
    } catch (error) {
      return this.failed(error, extra)
    }
  }

  private failed(error: unknown, extra: ToolExtra): Refusal {
    if (extra.signal.aborted) return refusal('The call was cancelled.')
    if (isUnavailable(error)) return refusal(UNAVAILABLE)
    if (error instanceof ProofError) return refusal(`The approval cannot be used for this call: ${error.code}.`)
    this.o.onError?.(error)
    if (isRateLimited(error)) return refusal(LIMITED)
    return refusal(error instanceof ArgumentsError ? `The call cannot be authorized: ${error.message}.` : 'The call could not be authorized.')
  }

  private async begin(run: Run): Promise<Refusal | null> {
    const { call, context, extra } = run
    const ask: Ask = { subject: call.subject, action: call.action, resource: call.resource, audience: this.o.audience, context }
    if (call.session !== undefined) ask.session = call.session
    const request = complete(ask)
    const d = await this.o.countersign.authorize(request, { signal: extra.signal })
    if (d.mode === 'shadow') return null // decisions have no effect yet
    const known = { ...run, nonce: request.nonce }
    if (d.decision === 'allow') {
      return d.proof ? this.redeem(known, d.proof) : refusal('The tool runs only on a proof, and the action issues none: set its mode to enforce.')
    }
    if (d.decision === 'challenge' && d.challenge) return this.confirm(known, d.id, d.challenge.id, d.human_readable.detail)
    return d.decision === 'hold' ? this.follow(known, d.id) : refusal(d.human_readable.detail)
  }

  /** Continues a call that waits for a review. The caller chose the id and the nonce: record and proof must be for this call. */
  private async resume(run: Run, waiting: string): Promise<Refusal | null> {
    const [id = '', nonce = ''] = waiting.split('~')
    let t: Trace
    try {
      t = await this.o.countersign.getAuthorization({ path: { authorization_id: id } }, { signal: run.extra.signal })
    } catch (error) {
      if (error instanceof ProblemError && error.status === 404) return refusal('The approval is unknown. Call the tool again without it.')
      throw error
    }
    if (t.subject !== run.call.subject || t.action !== run.call.action || t.context_digest !== digest(run.context)) {
      return refusal('The approval is for a different call. Call the tool again without it.')
    }
    return this.next({ ...run, nonce }, t)
  }

  /** Has the client open the hosted page. Its link is for the person only: it is never part of a text that the agent reads. */
  private async confirm(run: Run, authorization: string, challenge: string, message: string): Promise<Refusal | null> {
    const { server } = this.o.server
    if (!server.getClientCapabilities()?.elicitation?.url) {
      return refusal('The person must confirm this call, and the client cannot open pages: it must support elicitation in mode url.')
    }
    const { countersign } = this.o
    const link = await countersign.createChallengeLink({ path: { challenge_id: challenge } }, { signal: run.extra.signal })
    const { action } = await server.elicitInput({ mode: 'url', message, url: link.url, elicitationId: challenge }, {
      relatedRequestId: run.extra.requestId, timeout: Math.max(run.until - Date.now(), 1), signal: run.extra.signal,
    })
    if (action !== 'accept') {
      await countersign.cancelChallenge({ path: { challenge_id: challenge } }).catch(() => undefined) // it expires by itself
      return refusal('The person declined the call.')
    }
    return this.follow(run, authorization)
  }

  /** Waits until a challenge or a hold is settled, and continues with the follow-up decision. */
  private async follow(run: Run, authorization: string): Promise<Refusal | null> {
    for (;;) {
      const t = await this.o.countersign.getAuthorization({ path: { authorization_id: authorization } }, { signal: run.extra.signal })
      if (t.child_authorization) {
        return this.next(run, await this.o.countersign.getAuthorization({ path: { authorization_id: t.child_authorization } }, { signal: run.extra.signal }))
      }
      if (t.challenge ? !['open', 'completed'].includes(t.challenge.status) : !['pending', 'approved'].includes(t.review_status ?? '')) {
        return refusal('The call was not approved: it was declined, or not approved in time.')
      }
      if (Date.now() >= run.until) {
        return { ...refusal(`The call waits for approval. Call the tool again with the same arguments and the entry ${META_AUTHORIZATION} of _meta.`),
          _meta: { [META_AUTHORIZATION]: `${authorization}~${run.nonce}` } }
      }
      await pause(this.o.pollMS ?? 2000, run.extra.signal)
    }
  }

  private async next(run: Run, t: Trace): Promise<Refusal | null> {
    if (t.decision === 'allow') {
      return t.proof?.compact ? this.redeem(run, t.proof.compact) : refusal('The approval was used or has expired. Call the tool again without it.')
    }
    if (t.child_authorization || t.decision === 'hold') return this.follow(run, t.id)
    if (t.decision === 'challenge' && t.challenge) return this.confirm(run, t.id, t.challenge.id, 'Confirm this call on the page.')
    return refusal('The call is not allowed.')
  }

  /** Verifies a proof offline against this call, and consumes it at the service, so that it lets one call through. */
  private async redeem(run: Run, compact: string): Promise<Refusal | null> {
    const { call } = run
    const claims = await this.o.verifier.verify(compact, {
      audience: this.o.audience, action: call.action, resource: call.resource, nonce: run.nonce,
    })
    if (claims.sub !== call.subject) throw new ProofError('proof_action_mismatch', 'the proof is for a different person')
    if (claims.ctx !== digest(run.context)) throw new ProofError('proof_action_mismatch', 'the proof is for different arguments')
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
