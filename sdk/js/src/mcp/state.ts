import { createHmac, timingSafeEqual } from 'node:crypto'
import { canonical } from '@countersign/sdk/server'

/** What a call that waits brings along. */
export interface State {
  authorization: string
  /** The nonce that the proof must have. */
  nonce: string
}

/** What a state is for: it goes on with this call and no other. */
export interface StateOf {
  subject: string
  action: string
  /** The digest of the context: agent, tool and arguments. */
  digest: string
}

/** Seconds that a state is valid: the longest that a hold waits, and a day. */
const LIFE = 31 * 86_400

/**
 * Seals the state of a call under a key that all replicas have: `payload.mac`, both base64url. The MAC covers the method, what the state is
 * for and its expiry, so that a client can neither change it nor use it for a different call.
 */
export function seal(key: Uint8Array, of: StateOf, s: State, now = Date.now()): string {
  const payload = Buffer.from(canonical({ a: s.authorization, n: s.nonce, e: Math.floor(now / 1000) + LIFE })).toString('base64url')
  return `${payload}.${mac(key, of, payload).toString('base64url')}`
}

/** Opens a state; null for one that was changed, is for a different call, or has expired. */
export function open(key: Uint8Array, of: StateOf, sealed: string, now = Date.now()): State | null {
  const [payload = '', tag = '', ...rest] = sealed.split('.')
  const want = mac(key, of, payload)
  const got = Buffer.from(tag, 'base64url')
  if (rest.length > 0 || got.length !== want.length || !timingSafeEqual(got, want)) return null
  const { a, n, e } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { a: string; n: string; e: number }
  return e * 1000 > now ? { authorization: a, nonce: n } : null
}

function mac(key: Uint8Array, of: StateOf, payload: string): Buffer {
  const covered = canonical({ method: 'tools/call', subject: of.subject, action: of.action, digest: of.digest, payload })
  return createHmac('sha256', key).update(covered).digest()
}
