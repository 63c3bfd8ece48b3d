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

/** Whether the error says that the service cannot answer now, and not that the request was wrong. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof ProblemError) return error.status >= 500 || error.status === 429
  return error instanceof TimeoutError || error instanceof UnreachableError
}

/** Reads a refusal. */
export async function refusal(response: Response): Promise<ProblemError> {
  const requestId = response.headers.get('X-Request-Id') ?? ''
  const body = (await response.json().catch(() => ({}))) as { code?: string; detail?: unknown; title?: string }
  if (response.status === 422 && Array.isArray(body.detail)) return new ValidationError(body.detail as Fault[], requestId)
  const seconds = Number(response.headers.get('Retry-After') ?? NaN)
  const detail = typeof body.detail === 'string' ? body.detail : (body.title ?? response.statusText)
  return new ProblemError(response.status, body.code ?? 'unknown', detail, requestId, Number.isFinite(seconds) ? seconds : undefined)
}
