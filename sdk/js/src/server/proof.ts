import { refuseUnknown, requireGiven } from '../options.js'
import { digest, resourceDigest } from './canonical.js'
import { parseJSON } from './check.js'
import { CountersignError } from './errors.js'
import { KeySet, type Key } from './jwks.js'

export interface ProofClaims {
  iss: string
  sub: string
  aud: string
  iat: number
  nbf: number
  exp: number
  jti: string
  nonce: string
  env: string
  env_kind: 'sandbox' | 'live'
  mode: string
  azn: string
  act: { key: string; hash: string; policy_version: number; content_hash: string }
  res: { type: string; digest: string }
  ctx: string
  assurance: { coverage: string; freshness_ms: number | null; claims: Record<string, string> }
  amr: string[]
}

/** A refused proof; code is a reason code of kind proof of the service's catalogue. */
export class ProofError extends CountersignError {
  override readonly name = 'ProofError'

  constructor(readonly code: string, message: string) {
    super(`${code}: ${message}`)
  }
}

interface Expected {
  audience: string
  action: string
  /** Your own id of the user. */
  subject: string
  resource: { type: string; id: string }
  /** As you are about to act on it: without it, a proof for 10 is as good as one for 10,000. {} if there is none. */
  context: Record<string, unknown>
  /** The nonce of the request, if you made it. */
  nonce?: string
  /** Computed with actionHash. */
  actionHash?: string
}

/**
 * What is about to be done, which the proof must be for. With `unbound: true`, subject, resource and context may be missing: compare the
 * claims yourself before you act.
 */
export type ProofExpectation =
  | (Expected & { unbound?: false })
  | (Omit<Expected, 'subject' | 'resource' | 'context'> & Partial<Pick<Expected, 'subject' | 'resource' | 'context'>> & { unbound: true })

export interface ProofVerifierOptions {
  /** The service's address; the keys of the issuer are fetched from there unless keySetURL is set. */
  baseURL: string
  keySetURL?: string
  /** proof_issuer of GET /api/v1/credential. */
  issuer: string
  /** The id of your environment, of GET /api/v1/credential: a sandbox proof is not valid in live. */
  environment: string
  /** Allowed clock difference in seconds, 0 to 60. Default 5. */
  leewaySeconds?: number
  fetch?: typeof fetch
  /** Milliseconds since 1970, for tests. */
  now?: () => number
}

const MAX_SIZE = 8192
const FORM = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/

/**
 * Verifies proofs offline (docs/proof.md). It cannot detect that a proof was consumed or revoked: store jti until exp, or call
 * verifyProof with consume. Requires the package jose.
 *
 * If the key is not cached and the key set cannot be fetched, verify throws UnreachableError or ProtocolError: retry later. Code
 * proof_key_unknown means that a fetched key set lacks the key.
 */
export class ProofVerifier {
  private readonly keys: KeySet
  private readonly now: () => number

  constructor(private readonly o: ProofVerifierOptions) {
    refuseUnknown('ProofVerifier', o, ['baseURL', 'keySetURL', 'issuer', 'environment', 'leewaySeconds', 'fetch', 'now'])
    requireGiven('ProofVerifier', o, ['issuer', 'environment'])
    this.now = o.now ?? Date.now
    const url = o.keySetURL ?? `${o.baseURL.replace(/\/+$/, '')}/.well-known/service-proof-keys.json?issuer=${encodeURIComponent(o.issuer)}`
    this.keys = new KeySet(url, o.fetch ?? globalThis.fetch, this.now)
  }

  async verify(proof: string, expect: ProofExpectation): Promise<ProofClaims> {
    refuseUnknown('verify', expect, ['audience', 'action', 'subject', 'resource', 'context', 'nonce', 'actionHash', 'unbound'])
    for (const name of expect.unbound === true ? ['audience', 'action'] as const : ['audience', 'action', 'subject', 'resource', 'context'] as const) {
      if (!expect[name]) throw new CountersignError(`expected ${name} is missing`)
    }
    const payload = await verifyCompact(proof, (kid) => this.keys.find(kid), 'poa+jwt')
    const claims = shaped(payload)
    this.checkClaims(claims, expect)
    this.checkTimes(claims)
    return claims
  }

  private checkClaims(c: ProofClaims, expect: ProofExpectation): void {
    const differ = (code: string, name: string, wanted: string, found: string): void => {
      if (wanted !== found) throw new ProofError(code, `claim ${name} differs from the expected value`)
    }
    differ('proof_issuer_mismatch', 'iss', this.o.issuer, c.iss)
    differ('proof_environment_mismatch', 'env', this.o.environment, c.env)
    differ('proof_audience_mismatch', 'aud', expect.audience, c.aud)
    differ('proof_action_mismatch', 'act.key', expect.action, c.act.key)
    if (expect.subject !== undefined) differ('proof_action_mismatch', 'sub', expect.subject, c.sub)
    if (expect.nonce !== undefined) differ('proof_nonce_mismatch', 'nonce', expect.nonce, c.nonce)
    if (expect.context !== undefined) differ('proof_action_mismatch', 'ctx', digest(expect.context), c.ctx)
    if (expect.resource !== undefined) {
      differ('proof_resource_mismatch', 'res', expect.resource.type + ' ' + resourceDigest(expect.resource), c.res.type + ' ' + c.res.digest)
    }
    if (expect.actionHash !== undefined) differ('proof_action_mismatch', 'act.hash', expect.actionHash, c.act.hash)
  }

  private checkTimes(c: ProofClaims): void {
    const leeway = Math.min(Math.max(this.o.leewaySeconds ?? 5, 0), 60)
    const now = this.now() / 1000
    if (now < c.nbf - leeway) throw new ProofError('proof_not_yet_valid', `not valid before ${c.nbf}`)
    if (now >= c.exp + leeway) throw new ProofError('proof_expired', `expired at ${c.exp}`)
  }
}

/** Checks form, header and signature, in this order. An empty typ means that the header must have none. */
export async function verifyCompact(
  text: string, find: (kid: string) => Promise<Key | undefined>, typ: string,
): Promise<unknown> {
  if (typeof text !== 'string' || text.length > MAX_SIZE || !FORM.test(text)) throw new ProofError('proof_malformed', 'not a compact JWS')
  const parts = text.split('.').map((part) => {
    const bytes = Buffer.from(part, 'base64url')
    if (bytes.toString('base64url') !== part) throw new ProofError('proof_malformed', 'not canonical base64url')
    return bytes
  })
  if (parts[2]!.length !== 64) throw new ProofError('proof_malformed', 'the signature is not 64 bytes long')
  const key = await find(kidOf(parts[0]!, typ))
  if (!key) throw new ProofError('proof_key_unknown', "no key with the proof's kid")
  const { compactVerify } = await import('jose')
  try {
    await compactVerify(text, key, { algorithms: ['ES256'] })
  } catch {
    throw new ProofError('proof_signature_invalid', 'the signature does not verify')
  }
  return parsed(parts[1]!, 'proof_claims_invalid', 'the claims are not a JSON object')
}

function parsed(bytes: Buffer, code: string, message: string): Record<string, unknown> {
  try {
    const v: unknown = parseJSON(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
    if (v !== null && typeof v === 'object' && !Array.isArray(v)) return v as Record<string, unknown>
  } catch {
    // reported below
  }
  throw new ProofError(code, message)
}

/** Refuses header members other than alg, kid and typ: they could change the signed bytes or supply a key. */
function kidOf(bytes: Buffer, typ: string): string {
  const header = parsed(bytes, 'proof_malformed', 'the header is not a JSON object')
  if (header['alg'] !== 'ES256') throw new ProofError('proof_algorithm_invalid', 'alg is not ES256')
  if (Object.keys(header).some((name) => !['alg', 'kid', 'typ'].includes(name))) {
    throw new ProofError('proof_header_invalid', 'the header has an unexpected member')
  }
  if ((header['typ'] ?? '') !== typ) throw new ProofError('proof_type_invalid', `typ is not ${typ}`)
  if (typeof header['kid'] !== 'string' || header['kid'] === '') throw new ProofError('proof_header_invalid', 'the header has no kid')
  return header['kid']
}

function shaped(v: unknown): ProofClaims {
  const c = v as ProofClaims
  const texts = [c.iss, c.sub, c.aud, c.jti, c.nonce, c.env, c.env_kind, c.mode, c.azn, c.act?.key, c.act?.hash, c.act?.content_hash,
    c.res?.type, c.res?.digest, c.ctx, c.assurance?.coverage]
  const whole = [c.iat, c.nbf, c.exp, c.act?.policy_version].every(Number.isSafeInteger)
  const life = c.exp - c.nbf
  if (!whole || !texts.every((t) => typeof t === 'string' && t !== '') || !Array.isArray(c.amr) || c.nbf < c.iat || life < 30 || life > 900) {
    throw new ProofError('proof_claims_invalid', 'the claims do not have the shape of a proof')
  }
  return c
}
