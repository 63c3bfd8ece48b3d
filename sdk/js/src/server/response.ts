import { retryAfter as wanted } from '../retry.js'
import { contradiction } from './consistency.js'
import { fault, parseJSON } from './check.js'
import { ProblemError, ProtocolError, ValidationError, type Fault } from './errors.js'
import type { Parts } from './http.js'
import type { Operation } from './operations.js'
import { SCHEMAS } from './schemas.js'

/** The result of an operation. */
export interface Result {
  /** undefined for an operation without a body. */
  value: unknown
  headers: Headers
}

const EXPORT = '/api/v1/subjects/{subject_id}/export'
const MOST_BYTES = 16 << 20
const MOST_BYTES_OF_EXPORT = 256 << 20

/**
 * Reads a response and checks it against the contract. Throws ProblemError if the service refused, and ProtocolError if the
 * response violates the contract. Connection errors are not wrapped.
 */
export async function readResponse(op: Operation, request: Parts, response: Response): Promise<Result> {
  const { status, headers } = response
  const fail = (what: string, cause?: unknown): never => {
    throw new ProtocolError(status, `${op.method} ${op.path}: ${what}`, { cause, retryAfter: retryAfter(response) })
  }
  if (response.redirected || response.type === 'opaqueredirect' || status < 200 || (status >= 300 && status < 400)) {
    fail('the response is a redirect, which is never followed')
  }
  const schema = op.responses[status]
  if (!response.ok) throw problem(response, await read(response, MOST_BYTES, fail)) ?? fail(`status ${status} without a problem body`)
  if (schema === undefined) fail(`the contract has no response with status ${status}`)
  const text = await read(response, op.path === EXPORT ? MOST_BYTES_OF_EXPORT : MOST_BYTES, fail)
  if (!schema) return text === '' ? { value: undefined, headers } : fail('the response has a body, but the contract has none')
  if (mediaType(response) !== 'application/json') fail('the content type is not application/json')
  let value: unknown
  try {
    value = parseJSON(text)
  } catch {
    fail('the body is not JSON with unique names') // no cause: its message quotes the body
  }
  const broken = fault(schema, value) ?? contradiction(op, request, value)
  return broken ? fail(broken) : { value, headers }
}

async function read(response: Response, most: number, fail: (what: string, cause?: unknown) => never): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = response.body?.getReader()
  for (let chunk = await reader?.read(); chunk && !chunk.done; chunk = await reader!.read()) {
    size += chunk.value.length
    if (size > most) {
      await reader!.cancel().catch(() => undefined)
      fail(`the body is longer than ${most} bytes`)
    }
    chunks.push(chunk.value)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks))
  } catch (error) {
    return fail('the body is not UTF-8', error)
  }
}

const mediaType = (response: Response): string => (response.headers.get('Content-Type') ?? '').split(';')[0]!.trim().toLowerCase()

const retryAfter = (response: Response): number | undefined => wanted(response.headers, Date.now())

/** Parses a refusal by the service (RFC 9457, or the faults of a 422); undefined if the body is not one. */
export function problem(response: Response, text: string): ProblemError | undefined {
  if (!['application/problem+json', 'application/json'].includes(mediaType(response))) return undefined
  let body: any
  try {
    body = parseJSON(text)
  } catch {
    return undefined
  }
  const requestId = response.headers.get('X-Request-Id') ?? ''
  if (response.status === 422 && !fault(SCHEMAS['HTTPValidationError']!, body) && body.detail.length > 0) return new ValidationError(body.detail as Fault[], requestId)
  if (fault({ ...SCHEMAS['Problem'], required: ['code'] }, body) || !/^[a-z][a-z0-9_]*$/.test(body.code)) return undefined
  if (body.status !== undefined && body.status !== response.status) return undefined
  return new ProblemError(response.status, body.code, body.detail ?? body.title ?? response.statusText, requestId, retryAfter(response))
}

/** Returns the error for a refused request whose response is not read by readResponse. */
export async function refusal(response: Response): Promise<Error> {
  const text = await response.text().catch(() => '')
  return problem(response, text) ?? new ProtocolError(response.status, `status ${response.status} without a problem body`)
}

/** Reports whether the response is a stream of events. */
export const isStream = (response: Response): boolean => response.status === 200 && !response.redirected && mediaType(response) === 'text/event-stream'
