import { createHash } from 'node:crypto'

/** RFC 8785 canonical JSON, whose number and string forms are those of JavaScript. */
export function canonical(v: unknown): string {
  if (Array.isArray(v)) return '[' + v.map(canonical).join(',') + ']'
  if (v !== null && typeof v === 'object') {
    const o = v as Record<string, unknown>
    return '{' + Object.keys(o).sort().map((k) => JSON.stringify(k) + ':' + canonical(o[k])).join(',') + '}'
  }
  return JSON.stringify(v)
}

/** sha256:<hex> over the canonical form. */
export const digest = (v: unknown): string => 'sha256:' + createHash('sha256').update(canonical(v)).digest('hex')

export const resourceDigest = (resource: { type: string; id: string }): string => digest({ id: resource.id, type: resource.type })

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

/** Computes the action_hash of a request, to compare with act.hash of its proof. */
export function actionHash(a: ActionHashInput): string {
  const { key, policy_version, content_hash } = a.action
  return digest({
    v: 'countersign.action.v1', action: { key, policy_version, content_hash }, subject: a.subject,
    actor: a.actor ? { type: 'human', id: a.actor.id } : null, resource: { type: a.resource.type, id: a.resource.id },
    audience: a.audience, nonce: a.nonce, context: a.context ?? {}, environment: a.environment,
  })
}
