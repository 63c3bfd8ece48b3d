import { createHash } from 'node:crypto'

/**
 * RFC 8785 canonical JSON, whose number and string forms are those of JavaScript, of what JSON.stringify sends for v: members that are
 * undefined are omitted, a Date is its text, NaN is null. Throws a TypeError if v has no JSON, or a text that is not Unicode.
 */
export function canonical(v: unknown): string {
  const text = JSON.stringify(v) as string | undefined
  if (text === undefined) throw new TypeError('the value has no JSON')
  return write(JSON.parse(text))
}

function write(v: unknown): string {
  if (Array.isArray(v)) return '[' + v.map(write).join(',') + ']'
  if (v !== null && typeof v === 'object') {
    const o = v as Record<string, unknown>
    return '{' + Object.keys(o).sort().map((k) => write(k) + ':' + write(o[k])).join(',') + '}'
  }
  if (typeof v === 'string' && /\p{Surrogate}/u.test(v)) throw new TypeError('a text has half of a surrogate pair, which is not Unicode')
  return JSON.stringify(v)
}

/** sha256:<hex> over the canonical form. */
export const digest = (v: unknown): string => 'sha256:' + createHash('sha256').update(canonical(v)).digest('hex')

export const resourceDigest = (resource: { type: string; id: string }): string => digest({ id: text(resource.id, 'resource.id'), type: text(resource.type, 'resource.type') })

/** Returns a field that must be a string: JSON would omit one that is undefined. */
function text(v: unknown, field: string): string {
  if (typeof v !== 'string') throw new TypeError(`${field} must be a string`)
  return v
}

export interface ActionHashInput {
  action: { key: string; policy_version: number; content_hash: string }
  subject: string
  actor?: { id: string; type?: 'human' } | null
  resource: { type: string; id: string }
  audience: string
  nonce: string
  context?: Record<string, unknown> | null
  environment: string
}

/** Computes the action_hash of a request, to compare with act.hash of its proof. It covers the context as JSON sends it. */
export function actionHash(a: ActionHashInput): string {
  const { key, policy_version, content_hash } = a.action
  if (typeof policy_version !== 'number') throw new TypeError('action.policy_version must be a number')
  return digest({
    v: 'countersign.action.v1', action: { key: text(key, 'action.key'), policy_version, content_hash: text(content_hash, 'action.content_hash') },
    subject: text(a.subject, 'subject'), actor: a.actor ? { type: 'human', id: text(a.actor.id, 'actor.id') } : null,
    resource: { type: text(a.resource.type, 'resource.type'), id: text(a.resource.id, 'resource.id') },
    audience: text(a.audience, 'audience'), nonce: text(a.nonce, 'nonce'), context: contextOf(a.context),
    environment: text(a.environment, 'environment'),
  })
}

/** The context as the service receives it: {} if JSON sends none. */
function contextOf(context: unknown): unknown {
  const sent = JSON.stringify({ context })
  return (JSON.parse(sent) as { context?: unknown }).context ?? {}
}
