import { createHmac, randomUUID } from 'node:crypto'
import { refuseUnknown } from '../options.js'
import { isStream, readResponse, refusal, type Result } from './response.js'
import { CountersignError, ProblemError, ProtocolError, TimeoutError, UnreachableError, isRateLimited, isUnavailable } from './errors.js'
import type { Operation } from './operations.js'

export interface TransportOptions {
  /** The service's address. */
  baseURL: string
  /** A server key, or an admin key for operations that require one. Never use it in a browser. */
  apiKey: string
  /** Milliseconds that a call may take with all its attempts. Default 10000. */
  timeoutMS?: number
  /** Milliseconds that one attempt may take. Default 5000. */
  attemptTimeoutMS?: number
  /** Attempts after the first. Default 2. */
  retries?: number
  fetch?: typeof fetch
}

export interface CallOptions {
  timeoutMS?: number
  attemptTimeoutMS?: number
  retries?: number
  signal?: AbortSignal
  /** Generated once per call if it is omitted, and used for every attempt, so that the operation happens once. */
  idempotencyKey?: string
}

export interface Parts {
  path?: Record<string, unknown>
  query?: Record<string, unknown>
  body?: unknown
  headers?: Record<string, string>
}

const PAUSE_MS = 100

export const CALL_OPTIONS = ['timeoutMS', 'attemptTimeoutMS', 'retries', 'signal', 'idempotencyKey'] as const

/** Sends requests within a deadline, and retries those that are safe to repeat. */
export class Transport {
  private readonly fetch: typeof fetch
  private readonly base: string

  constructor(private readonly o: TransportOptions) {
    refuseUnknown('Countersign', o, ['baseURL', 'apiKey', 'timeoutMS', 'attemptTimeoutMS', 'retries', 'fetch'])
    if (!/^https?:\/\//.test(o.baseURL)) throw new CountersignError('baseURL must be an http or https address')
    if (!o.apiKey) throw new CountersignError('apiKey is missing')
    this.base = o.baseURL.replace(/\/+$/, '')
    this.fetch = o.fetch ?? globalThis.fetch
  }

  /** Returns 32 bytes for a purpose that every process with this API key derives. */
  deriveKey(purpose: string): Uint8Array {
    return createHmac('sha256', this.o.apiKey).update('countersign ' + purpose).digest()
  }

  url(op: Operation, parts: Parts): string {
    const path = op.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = parts.path?.[name]
      if (value === undefined || value === null || value === '') throw new CountersignError(`path parameter ${name} is missing`)
      return encodeURIComponent(String(value))
    })
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(parts.query ?? {})) {
      for (const v of Array.isArray(value) ? value : [value]) if (v !== undefined && v !== null) query.append(name, String(v))
    }
    return this.base + path + (query.size > 0 ? '?' + query : '')
  }

  /** Sends a request and returns its response, checked against the contract, or throws an error of this package. */
  async send(op: Operation, parts: Parts, call: CallOptions = {}): Promise<Result> {
    refuseUnknown('the input of a call', parts, ['path', 'query', 'body', 'headers'])
    refuseUnknown('a call', call, CALL_OPTIONS)
    const deadline = performance.now() + (call.timeoutMS ?? this.o.timeoutMS ?? 10_000)
    const key = op.key ? (call.idempotencyKey ?? randomUUID()) : undefined
    const retries = call.retries ?? this.o.retries ?? 2
    let limited: unknown // of an earlier attempt
    for (let n = 0; ; n++) {
      try {
        return await this.attempt(op, parts, call, key, deadline)
      } catch (error) {
        if (isRateLimited(error)) limited = error
        else if (limited && (error instanceof TimeoutError || error instanceof UnreachableError)) error.cause = limited // see isRateLimited
        const left = deadline - performance.now()
        const pause = pauseAfter(error, n)
        if (n >= retries || call.signal?.aborted || !mayRetry(op, error) || pause >= left) throw error
        await new Promise((resolve) => setTimeout(resolve, pause))
      }
    }
  }

  private async attempt(op: Operation, parts: Parts, call: CallOptions, key: string | undefined, deadline: number): Promise<Result> {
    const left = Math.min(deadline - performance.now(), call.attemptTimeoutMS ?? this.o.attemptTimeoutMS ?? 5000)
    const timeout = AbortSignal.timeout(Math.max(Math.ceil(left), 1))
    const signal = call.signal ? AbortSignal.any([timeout, call.signal]) : timeout
    let response: Response | undefined
    try {
      response = await this.fetch(this.url(op, parts), this.init(op, parts, key, signal))
      return await readResponse(op, parts, response) // the body is read within the deadline as well
    } catch (error) {
      if (error instanceof CountersignError) throw error
      if (call.signal?.aborted) throw call.signal.reason
      if (timeout.aborted && response?.status !== 429) throw new TimeoutError(`${op.method} ${op.path}: no response in time`, { cause: error })
      if (response) throw new ProtocolError(response.status, `${op.method} ${op.path}: the body ended early`, { cause: error })
      throw new UnreachableError(`${op.method} ${op.path}: the service could not be reached`, { cause: error })
    }
  }

  /** Redirects are not followed, so that the key is sent only to the service. */
  private init(op: Operation, parts: Parts, key: string | undefined, signal: AbortSignal): RequestInit {
    const body = parts.body === undefined ? undefined : JSON.stringify(parts.body)
    return {
      method: op.method, redirect: 'manual', signal,
      headers: {
        Authorization: 'Bearer ' + this.o.apiKey, Accept: op.stream ? 'text/event-stream' : 'application/json', ...parts.headers,
        ...(key ? { 'Idempotency-Key': key } : {}), ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    }
  }

  /** Opens a response that lasts as long as the caller reads it. */
  async open(op: Operation, parts: Parts, signal: AbortSignal): Promise<Response> {
    const response = await this.fetch(this.url(op, parts), this.init(op, parts, undefined, signal))
    if (response.status >= 400) throw await refusal(response)
    if (!isStream(response)) throw new ProtocolError(response.status, `${op.method} ${op.path}: the response is not a stream of events`)
    return response
  }
}

/** Operations with an idempotency key in the body are as safe to repeat as those with one in a header. */
const keyedByBody = new Set(['/api/v1/authorize', '/api/v1/sessions/{session_id}/evidence'])

function mayRetry(op: Operation, error: unknown): boolean {
  if (!isUnavailable(error) && !isRateLimited(error)) return false
  if (error instanceof ProtocolError && error.status >= 300 && error.status < 400) return false
  if (op.method !== 'POST' || op.key || keyedByBody.has(op.path)) return true
  return error instanceof ProblemError && (error.status === 429 || error.status === 503) // the service did not perform the operation
}

function pauseAfter(error: unknown, n: number): number {
  const wanted = error instanceof ProblemError || error instanceof ProtocolError ? (error.retryAfter ?? 0) * 1000 : 0
  return Math.max(wanted, PAUSE_MS * 2 ** n * (0.5 + Math.random() / 2))
}
