import type { components } from './contract.js'

/** Every error of this package. */
export class CountersignError extends Error {
  override readonly name: string = 'CountersignError'
}

/** The service answered with a refusal (RFC 9457). code is stable: see the service's catalogue of errors. */
export class ProblemError extends CountersignError {
  override readonly name: string = 'ProblemError'

  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    /** Quote it to support. */
    readonly requestId: string,
    /** Seconds to wait before trying again, where the service says. */
    readonly retryAfter?: number,
  ) {
    super(`${status} ${code}: ${detail}`)
  }
}

export type Fault = components['schemas']['ValidationError']

/** The request breaks the contract (422): each fault says where and which rule. */
export class ValidationError extends ProblemError {
  override readonly name = 'ValidationError'

  constructor(readonly faults: Fault[], requestId: string) {
    super(422, 'validation_failed', faults.map((f) => `${f.loc.join('.')}: ${f.msg}`).join('; '), requestId)
  }
}

/** No answer within the deadline. The operation may have happened. */
export class TimeoutError extends CountersignError {
  override readonly name = 'TimeoutError'
}

/** The service was not reached. */
export class UnreachableError extends CountersignError {
  override readonly name = 'UnreachableError'
}

export interface ProtocolErrorOptions extends ErrorOptions {
  retryAfter?: number | undefined
}

/**
 * What came back is not an answer of the contract: a page of a portal or proxy, a redirect, a body that is cut, empty or too long,
 * a field that is missing or of another type, a decision that is not known, an allow without its proof, an answer to another
 * question. Nothing in it is to be believed. The operation may have happened.
 */
export class ProtocolError extends CountersignError {
  override readonly name = 'ProtocolError'
  /** Seconds to wait before trying again, if the answer says so. */
  readonly retryAfter: number | undefined

  /** message says what is wrong and never quotes the answer. */
  constructor(readonly status: number, message: string, options: ProtocolErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.retryAfter = options.retryAfter
  }
}

/** Whether the error says that there is no answer to go by now, and not that the request was wrong. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof ProblemError) return error.status >= 500 || error.status === 429
  return error instanceof TimeoutError || error instanceof UnreachableError || error instanceof ProtocolError
}
