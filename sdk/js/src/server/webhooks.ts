import { createHmac, timingSafeEqual } from 'node:crypto'
import { refuseUnknown } from '../options.js'
import { CountersignError } from './errors.js'
import type { EventData } from './events.js'

/** A refused webhook. Respond with 400 and discard it. */
export class WebhookError extends CountersignError {
  override readonly name = 'WebhookError'
}

export type EventType = keyof EventData

/** One event. Narrow it by its type, with a default branch: a later version of the service may send further types. */
export type WebhookEvent<T extends EventType = EventType> = { [K in T]: {
  /** The event's id: the same for every attempt and replay. Store it to discard duplicates. */
  id: string
  type: K
  timestamp: string
  data: EventData[K]
} & (K extends `hold.${string}` ? { /** Only for endpoints with include_details. */ display?: { details: { label: string; value: string }[] } } : unknown) }[T]

export interface WebhookOptions {
  /** Allowed difference of the timestamp in seconds. Default 300. */
  toleranceSeconds?: number
  /** Unix seconds, for tests. */
  now?: number
}

/** A Headers object or a map, an object with names in any case, Node's rawHeaders, a list of pairs, or anything with get. */
export type WebhookHeaders =
  | { get(name: string): string | null | undefined }
  | Record<string, string | readonly string[] | undefined>
  | readonly string[]
  | Iterable<readonly [string, string]>

/**
 * Verifies a webhook (Standard Webhooks 1.0.0) and returns its event. body must be the raw body: parsing and serialising it again
 * changes the bytes. Pass several secrets during a rotation; one that is undefined or empty, because there is no rotation, is left out.
 */
export function verifyWebhook(
  body: string | Uint8Array, headers: WebhookHeaders, secret: string | undefined | readonly (string | undefined)[], o: WebhookOptions = {},
): WebhookEvent {
  refuseUnknown('verifyWebhook', o, ['toleranceSeconds', 'now'])
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) throw new WebhookError('body must be the raw body, before it is parsed')
  const header = (name: string): string => {
    const [value, ...more] = new Set(valuesOf(headers, name))
    if (typeof value !== 'string' || value === '') throw new WebhookError(`header ${name} is missing`)
    if (more.length > 0) throw new WebhookError(`header ${name} has several values`)
    return value
  }
  const id = header('webhook-id')
  const timestamp = header('webhook-timestamp')
  const given = header('webhook-signature')
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookError('webhook-timestamp is not a time')
  if (Math.abs((o.now ?? Date.now() / 1000) - Number(timestamp)) > (o.toleranceSeconds ?? 300)) throw new WebhookError('webhook-timestamp differs too much from the current time')
  const secrets = [secret].flat().filter((s) => s !== undefined && s !== null && s !== '') as string[]
  if (secrets.length === 0) throw new WebhookError('no secret was passed')
  const expected = secrets.map((s) => createHmac('sha256', keyOf(s)).update(`${id}.${timestamp}.`).update(body).digest())
  if (!signatures(given).some((s) => expected.some((e) => s.length === e.length && timingSafeEqual(s, e)))) {
    throw new WebhookError('no signature matches')
  }
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  try {
    return { ...JSON.parse(text), id } as WebhookEvent
  } catch {
    throw new WebhookError('the body is not JSON')
  }
}

/** Returns the values of a header in any of the forms of WebhookHeaders. */
function valuesOf(headers: WebhookHeaders, name: string): unknown[] {
  let pairs: (readonly [unknown, unknown])[]
  if (Array.isArray(headers) && typeof headers[0] === 'string') pairs = headers.flatMap((v, i) => (i % 2 ? [[headers[i - 1], v] as const] : []))
  else if (Symbol.iterator in headers) pairs = [...(headers as Iterable<readonly [string, string]>)]
  else if (typeof headers.get === 'function') pairs = [[name, headers.get(name) ?? undefined]]
  else pairs = Object.entries(headers)
  return pairs.filter(([n]) => typeof n === 'string' && n.toLowerCase() === name).flatMap(([, v]) => v).filter((v) => v !== undefined)
}

function keyOf(secret: string): Buffer {
  const encoded = typeof secret === 'string' ? secret.replace(/^whsec_/, '') : ''
  const key = Buffer.from(encoded, 'base64') // which skips what is not base64
  if (key.length < 24 || key.length > 64 || key.toString('base64') !== encoded) {
    throw new WebhookError('a secret must be whsec_ and the base64 of 24 to 64 bytes')
  }
  return key
}

const signatures = (header: string): Buffer[] =>
  header.split(' ').filter((s) => s.startsWith('v1,')).map((s) => Buffer.from(s.slice(3), 'base64'))
