import type { components } from './contract.js'

/** Base class of the errors of this package. */
export class CountersignError extends Error {
  override readonly name: string = 'CountersignError'
}

/** The service refused the request (RFC 9457). code is stable: see the service's catalogue of errors. */
export class ProblemError extends CountersignError {
  override readonly name: string = 'ProblemError'

  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    /** Quote it to support. */
    readonly requestId: string,
    /** Seconds to wait before a retry, if the service sent them. */
    readonly retryAfter?: number,
  ) {
    super(`${status} ${code}: ${detail}`)
  }
}

export type Fault = components['schemas']['ValidationError']

/** The request violates the contract (422): each fault names the field and the rule. */
export class ValidationError extends ProblemError {
  override readonly name = 'ValidationError'

  constructor(readonly faults: Fault[], requestId: string) {
    super(422, 'validation_error', faults.map((f) => `${f.loc.join('.')}: ${f.msg}`).join('; '), requestId)
  }
}

/** No response within the deadline. The operation may have happened. */
export class TimeoutError extends CountersignError {
  override readonly name = 'TimeoutError'
}

/** The service could not be reached. */
export class UnreachableError extends CountersignError {
  override readonly name = 'UnreachableError'
}

export interface ProtocolErrorOptions extends ErrorOptions {
  retryAfter?: number | undefined
}

/**
 * The response violates the contract: a page of a portal or proxy, a redirect, a truncated, empty or oversized body, a missing
 * field or one of the wrong type, an unknown decision, an allow without its proof, the response to a different request. Do not
 * trust any part of it. The operation may have happened.
 */
export class ProtocolError extends CountersignError {
  override readonly name = 'ProtocolError'
  /** Seconds to wait before a retry, if the response has them. */
  readonly retryAfter: number | undefined

  /** message describes the violation and never quotes the response. */
  constructor(readonly status: number, message: string, options: ProtocolErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.retryAfter = options.retryAfter
  }
}

/**
 * Reports whether the error means that no usable response was received, as opposed to a wrong request. A refusal (4xx) is not
 * unavailability, whether by the service or by a proxy: who sends a request may be able to cause it, by a quota that is used up
 * (isRateLimited) or by content that a firewall rejects.
 */
export function isUnavailable(error: unknown): boolean {
  if (isRateLimited(error)) return false
  if (error instanceof ProblemError) return error.status >= 500
  if (error instanceof ProtocolError) return error.status < 400 || error.status >= 500
  return error instanceof TimeoutError || error instanceof UnreachableError
}

/**
 * Reports whether a quota or rate limit refused the call (429), or refused an attempt after which no response was received. Refuse such
 * a request, and never go on without a decision: an attacker who can cause requests can use up a quota.
 */
export function isRateLimited(error: unknown): boolean {
  if (error instanceof TimeoutError || error instanceof UnreachableError) return isRateLimited(error.cause)
  return (error instanceof ProblemError || error instanceof ProtocolError) && error.status === 429
}
