import { digest } from './canonical.js'
import type { components } from './contract.js'
import type { Operation } from './operations.js'
import type { Parts } from './http.js'

type Schemas = components['schemas']

/** The rules that JSON Schema cannot express: a response is consistent with itself and with its request. */
const RULES: Readonly<Record<string, (request: Parts, response: any) => string | undefined>> = {
  'POST /api/v1/authorize': (request, response) => checkDecision(response) ?? checkEcho(request.body as Schemas['AuthorizeRequest'], response),
  'POST /api/v1/verify': (request, response) => checkVerification(request.body as Schemas['ProofVerifyRequest'], response),
  'POST /api/v1/challenges/{challenge_id}/complete': (request, response) => same('challenge', request.path?.['challenge_id'], response.challenge),
  'GET /api/v1/authorizations/{authorization_id}': (request, response) => same('id', request.path?.['authorization_id'], response.id),
  'POST /api/v1/authorizations/{authorization_id}/review': (request, response) =>
    (response.decision ? checkDecision(response.decision) : undefined) ?? same('authorization', request.path?.['authorization_id'], response.authorization),
  'GET /api/v1/proofs/{jti}/status': (request, response) => same('jti', request.path?.['jti'], response.jti),
}

/** Describes how a response that follows its schema contradicts itself or the request; undefined if it does not. */
export function contradiction(op: Operation, request: Parts, response: unknown): string | undefined {
  return RULES[`${op.method} ${op.path}`]?.(request, response)
}

const same = (name: string, request: unknown, response: unknown): string | undefined =>
  String(request) === response ? undefined : `${name} differs from the request`

const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/
const LONGEST_PROOF = 8192 // characters

function checkDecision(response: Schemas['AuthorizeResponse']): string | undefined {
  const proven = response.decision === 'allow' && response.mode === 'enforce'
  const stepUp = response.decision === 'challenge' && response.mode !== 'shadow'
  if (!response.id || !response.environment || !response.action_hash) return 'id, environment or action_hash is empty'
  if (proven !== !!response.proof || proven !== !!response.proof_id) return 'proof and proof_id must be present if and only if the decision is allow in mode enforce'
  if (response.proof && (response.proof.length > LONGEST_PROOF || !COMPACT.test(response.proof))) return 'proof is not a compact JWS'
  if (stepUp !== !!response.challenge) return 'challenge must be present if and only if the decision is challenge in mode test or enforce'
  if (response.challenge && (!response.challenge.id || response.challenge.methods.length === 0)) return 'challenge has no id or no method'
  return undefined
}

function checkEcho(request: Schemas['AuthorizeRequest'], response: Schemas['AuthorizeResponse']): string | undefined {
  return same('action', request.action, response.action) ?? same('assurance.subject', request.subject, response.assurance.subject)
}

function checkVerification(request: Schemas['ProofVerifyRequest'], response: Schemas['ProofVerification']): string | undefined {
  if (!response.valid) return undefined
  const claims = response.claims
  if (!claims) return 'valid is true without claims'
  if (response.status !== (request.consume ? 'consumed' : 'active')) return 'valid contradicts status'
  if (response.reason_codes.some((code) => code !== 'audience_not_checked')) return 'valid contradicts reason_codes'
  const key = (claims.act as { key?: unknown } | undefined)?.key
  return (request.audience ? same('claims.aud', request.audience, claims.aud) : undefined)
    ?? (request.action ? same('claims.act.key', request.action, key) : undefined)
    ?? (request.nonce ? same('claims.nonce', request.nonce, claims.nonce) : undefined)
    ?? (request.subject ? same('claims.sub', request.subject, claims.sub) : undefined)
    ?? (request.context ? same('claims.ctx', digest(request.context), claims.ctx) : undefined)
}
