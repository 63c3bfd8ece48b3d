import type { components } from './contract.js'
import type { Operation } from './operations.js'
import type { Parts } from './http.js'

type Schemas = components['schemas']

/** What JSON Schema cannot say: an answer agrees with itself and with what was asked. */
const RULES: Readonly<Record<string, (asked: Parts, told: any) => string | undefined>> = {
  'POST /api/v1/authorize': (asked, told) => ofDecision(told) ?? echoed(asked.body as Schemas['AuthorizeRequest'], told),
  'POST /api/v1/verify': (asked, told) => ofVerification(asked.body as Schemas['ProofVerifyRequest'], told),
  'POST /api/v1/challenges/{challenge_id}/complete': (asked, told) => same('challenge', asked.path?.['challenge_id'], told.challenge),
  'GET /api/v1/authorizations/{authorization_id}': (asked, told) => same('id', asked.path?.['authorization_id'], told.id),
  'POST /api/v1/authorizations/{authorization_id}/review': (asked, told) =>
    (told.decision ? ofDecision(told.decision) : undefined) ?? same('authorization', asked.path?.['authorization_id'], told.authorization),
  'GET /api/v1/proofs/{jti}/status': (asked, told) => same('jti', asked.path?.['jti'], told.jti),
}

/** How an answer that follows its schema contradicts itself or the request; undefined if it does not. */
export function contradiction(op: Operation, asked: Parts, told: unknown): string | undefined {
  return RULES[`${op.method} ${op.path}`]?.(asked, told)
}

const same = (name: string, asked: unknown, told: unknown): string | undefined =>
  String(asked) === told ? undefined : `${name} is not the one asked for`

const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/
const LONGEST_PROOF = 8192 // characters

function ofDecision(told: Schemas['AuthorizeResponse']): string | undefined {
  const proven = told.decision === 'allow' && told.mode === 'enforce'
  const stepUp = told.decision === 'challenge' && told.mode !== 'shadow'
  if (!told.id || !told.environment || !told.action_hash) return 'id, environment or action_hash is empty'
  if (proven !== !!told.proof || proven !== !!told.proof_id) return 'a proof comes with allow in mode enforce, and with nothing else'
  if (told.proof && (told.proof.length > LONGEST_PROOF || !COMPACT.test(told.proof))) return 'proof is not a compact JWS'
  if (stepUp !== !!told.challenge) return 'a challenge comes with the decision challenge in the modes test and enforce, and with nothing else'
  if (told.challenge && (!told.challenge.id || told.challenge.methods.length === 0)) return 'challenge has no id or no method'
  return undefined
}

function echoed(asked: Schemas['AuthorizeRequest'], told: Schemas['AuthorizeResponse']): string | undefined {
  return same('action', asked.action, told.action) ?? same('assurance.subject', asked.subject, told.assurance.subject)
}

function ofVerification(asked: Schemas['ProofVerifyRequest'], told: Schemas['ProofVerification']): string | undefined {
  if (!told.valid) return undefined
  const claims = told.claims
  if (!claims) return 'valid comes without claims'
  if (told.status !== (asked.consume ? 'consumed' : 'active')) return 'valid does not go with status'
  if (told.reason_codes.length > 0) return 'valid does not go with reason_codes'
  const key = (claims.act as { key?: unknown } | undefined)?.key
  return (asked.audience ? same('claims.aud', asked.audience, claims.aud) : undefined)
    ?? (asked.action ? same('claims.act.key', asked.action, key) : undefined)
    ?? (asked.nonce ? same('claims.nonce', asked.nonce, claims.nonce) : undefined)
}
