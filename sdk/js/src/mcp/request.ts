/**
 * What a handler of a tool receives beside its arguments, in the shapes of both MCP SDKs: that of @modelcontextprotocol/sdk (1.x, revisions
 * up to 2025-11-25) and that of @modelcontextprotocol/server (2.x), which serves 2026-07-28 too.
 */

/** The second argument of a handler of @modelcontextprotocol/sdk, as far as a gate uses it. */
export interface ToolExtra {
  requestId: string | number
  signal: AbortSignal
  _meta?: Record<string, unknown> | undefined
}

/** The second argument of a handler of @modelcontextprotocol/server, as far as a gate uses it. */
export interface ToolContext {
  mcpReq: {
    id: string | number
    signal: AbortSignal
    _meta?: Record<string, unknown> | undefined
    /** Present for clients of 2026-07-28, which send their capabilities with each request. */
    envelope?: Record<string, unknown> | undefined
    inputResponses?: Record<string, unknown> | undefined
    requestState: <T = unknown>() => T | undefined
  }
}

/** A server's way of asking a client before 2026-07-28, in both SDKs. */
export interface ElicitingServer {
  server: {
    getClientCapabilities(): { elicitation?: { url?: object | undefined } | undefined } | undefined
    elicitInput(
      params: { mode: 'url'; message: string; url: string; elicitationId: string },
      options?: { relatedRequestId?: string | number; timeout?: number; signal?: AbortSignal },
    ): Promise<{ action: string }>
  }
}

/** A call as the gate sees it, whichever SDK serves it. */
export interface Received {
  id: string | number
  signal: AbortSignal
  /** The state that an earlier part of the call returned; undefined for a new call. */
  state: string | undefined
  /** The client speaks 2026-07-28: it is asked by the result of the call, and calls again. */
  rounds: boolean
  /** The client can open pages. */
  opensPages: boolean
  /** What the person did with the page, as the client says; undefined if it was not asked. */
  action: string | undefined
}

/** The key of a refused call's _meta with its state. A call with the same arguments and this entry goes on. */
export const META_AUTHORIZATION = 'countersign.dev/authorization'

/** The name of the gate's question among the inputs that a result asks for. */
export const QUESTION = 'countersign'

const VERSION = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

type Capabilities = ReturnType<ElicitingServer['server']['getClientCapabilities']>

/** Reads what the SDK passed. Nothing of it is trusted but the signal: the client wrote it. */
export function received(extra: ToolExtra | ToolContext, server: ElicitingServer): Received {
  const { id, signal, _meta, envelope, inputResponses, requestState } = 'mcpReq' in extra ? extra.mcpReq : classic(extra)
  const rounds = typeof envelope?.[VERSION] === 'string'
  const capabilities = rounds ? (envelope[CAPABILITIES] as Capabilities) : server.server.getClientCapabilities()
  const state = requestState() ?? _meta?.[META_AUTHORIZATION]
  const answer = inputResponses?.[QUESTION] as { action?: unknown } | undefined
  return {
    id, signal, rounds, opensPages: Boolean(capabilities?.elicitation?.url), state: typeof state === 'string' && state !== '' ? state : undefined,
    action: typeof answer?.action === 'string' ? answer.action : undefined,
  }
}

const classic = ({ requestId, signal, _meta }: ToolExtra): ToolContext['mcpReq'] => ({ id: requestId, signal, _meta, requestState: () => undefined })
