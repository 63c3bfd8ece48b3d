import type { webcrypto } from 'node:crypto'
import { fault, parseJSON } from './check.js'
import { ProtocolError, UnreachableError } from './errors.js'

export type Key = webcrypto.CryptoKey | Uint8Array
type JWK = webcrypto.JsonWebKey & { kid?: string }

const LONGEST_MS = 10 * 60_000
const SHORTEST_MS = 10_000
const REFETCH_MS = 10_000 // an unknown kid may not make us ask more often than this
const WITHIN_MS = 5000

/** A published key set, kept for as long as its Cache-Control says and fetched again, once, for a kid it does not have. */
export class KeySet {
  private keys = new Map<string, Key>()
  private until = -Infinity
  private asked = -Infinity
  private pending: Promise<void> | undefined

  constructor(private readonly url: string, private readonly fetcher: typeof fetch, private readonly now: () => number) {}

  async find(kid: string): Promise<Key | undefined> {
    if (this.now() >= this.until) await this.refresh()
    const known = this.keys.get(kid)
    if (known || this.now() - this.asked < REFETCH_MS) return known
    await this.refresh()
    return this.keys.get(kid)
  }

  /** Callers that come together share one request. Keys in hand outlive a service that does not answer. */
  private refresh(): Promise<void> {
    this.pending ??= this.load().finally(() => { this.pending = undefined })
    return this.pending
  }

  private async load(): Promise<void> {
    this.asked = this.now()
    try {
      const response = await this.fetched()
      const text = await response.text().catch((cause) => { throw notASet(response, cause) })
      if (response.status !== 200 || response.redirected) throw notASet(response)
      this.keys = await importKeys(keysOf(response, text))
      this.until = this.now() + lifetime(response.headers.get('Cache-Control'))
    } catch (error) {
      if (this.keys.size === 0) throw error
      this.until = this.now() + SHORTEST_MS
    }
  }

  private fetched(): Promise<Response> {
    const init: RequestInit = { redirect: 'manual', signal: AbortSignal.timeout(WITHIN_MS), headers: { Accept: 'application/json' } }
    return this.fetcher(this.url, init).catch((cause) => { throw new UnreachableError('the key set was not reached', { cause }) })
  }
}

const notASet = (response: Response, cause?: unknown): ProtocolError =>
  new ProtocolError(response.status, 'what was fetched is not a key set', { cause })

function keysOf(response: Response, text: string): JWK[] {
  let set: unknown
  try {
    set = parseJSON(text)
  } catch {
    throw notASet(response)
  }
  if (fault(SET, set)) throw notASet(response)
  return (set as { keys: JWK[] }).keys
}

/** No more than this: a set may have keys that are not for proofs. */
const SET = { type: 'object', required: ['keys'], properties: { keys: { type: 'array', items: { type: 'object' } } } } as const

/** Public P-256 keys by kid; whatever else a set has is left out. */
export async function importKeys(keys: JWK[]): Promise<Map<string, Key>> {
  const { importJWK } = await import('jose')
  const out = new Map<string, Key>()
  for (const k of keys) {
    if (k.kty !== 'EC' || k.crv !== 'P-256' || !k.kid || k.d !== undefined || (k.alg ?? 'ES256') !== 'ES256' || (k.use ?? 'sig') !== 'sig') continue
    if (Array.isArray(k.key_ops) && !k.key_ops.includes('verify')) continue
    const key = await importJWK({ kty: 'EC', crv: 'P-256', x: k.x!, y: k.y! }, 'ES256').catch(() => undefined) // no point of the curve
    if (key) out.set(k.kid, key)
  }
  return out
}

function lifetime(control: string | null): number {
  const seconds = Number(/max-age=(\d+)/.exec(control ?? '')?.[1] ?? 300)
  return Math.min(Math.max(seconds * 1000, SHORTEST_MS), LONGEST_MS)
}
