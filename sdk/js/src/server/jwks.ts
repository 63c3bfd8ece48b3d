import type { webcrypto } from 'node:crypto'
import { fault, parseJSON } from './check.js'
import { ProtocolError, UnreachableError } from './errors.js'

export type Key = webcrypto.CryptoKey | Uint8Array
type JWK = webcrypto.JsonWebKey & { kid?: string }

const LONGEST_MS = 10 * 60_000
const SHORTEST_MS = 10_000
const REFETCH_MS = 10_000 // the shortest interval between fetches because of an unknown kid
const WITHIN_MS = 5000
const COORDINATE = 43 // characters of 32 bytes in base64url
const BEYOND_MS = 60 * 60_000 // how long after the last successful fetch the keys are used: one may have been removed since

/** A published key set, cached for as long as its Cache-Control says and fetched again, once, for an unknown kid. */
export class KeySet {
  private keys = new Map<string, Key>()
  private until = -Infinity
  private fetchedAt = -Infinity
  private loadedAt = -Infinity
  private failed: unknown // the error of the last fetch
  private pending: Promise<void> | undefined

  constructor(private readonly url: string, private readonly fetcher: typeof fetch, private readonly now: () => number) {}

  /** Returns undefined only if the last fetch succeeded and its set lacks the kid. If it failed, an unknown kid throws its error. */
  async find(kid: string): Promise<Key | undefined> {
    if (this.now() >= this.until) await this.refresh()
    if (!this.keys.has(kid) && (this.pending || this.now() - this.fetchedAt >= REFETCH_MS)) await this.refresh()
    const known = this.keys.get(kid)
    if (!known && this.failed) throw this.failed
    return known
  }

  /** Concurrent callers share one request. Cached keys stay in use for an hour while the service does not respond. */
  private refresh(): Promise<void> {
    this.pending ??= this.load().finally(() => { this.pending = undefined })
    return this.pending
  }

  private async load(): Promise<void> {
    this.fetchedAt = this.now()
    try {
      const response = await this.fetched()
      const text = await response.text().catch((cause) => { throw notASet(response, cause) })
      if (response.status !== 200 || response.redirected) throw notASet(response)
      this.keys = await importKeys(keysOf(response, text))
      this.loadedAt = this.fetchedAt
      this.until = this.now() + lifetime(response.headers.get('Cache-Control'))
      this.failed = undefined
    } catch (error) {
      this.failed = error
      const end = this.loadedAt + BEYOND_MS
      if (this.keys.size === 0 || this.now() > end) throw error
      this.until = Math.min(this.now() + SHORTEST_MS, end)
    }
  }

  private fetched(): Promise<Response> {
    const init: RequestInit = { redirect: 'manual', signal: AbortSignal.timeout(WITHIN_MS), headers: { Accept: 'application/json' } }
    return this.fetcher(this.url, init).catch((cause) => { throw new UnreachableError('the key set could not be reached', { cause }) })
  }
}

const notASet = (response: Response, cause?: unknown): ProtocolError =>
  new ProtocolError(response.status, 'the response is not a key set', { cause })

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

/** The minimum shape: a set may contain keys that are not for proofs. */
const SET = { type: 'object', required: ['keys'], properties: { keys: { type: 'array', items: { type: 'object' } } } } as const

/** Returns the public P-256 keys by kid and ignores all other keys. */
export async function importKeys(keys: JWK[]): Promise<Map<string, Key>> {
  const { importJWK } = await import('jose')
  const out = new Map<string, Key>()
  for (const k of keys) {
    if (k.kty !== 'EC' || k.crv !== 'P-256' || !k.kid || k.d !== undefined || (k.alg ?? 'ES256') !== 'ES256' || (k.use ?? 'sig') !== 'sig') continue
    if (Array.isArray(k.key_ops) && !k.key_ops.includes('verify')) continue
    if (k.x?.length !== COORDINATE || k.y?.length !== COORDINATE) continue
    const key = await importJWK({ kty: 'EC', crv: 'P-256', x: k.x, y: k.y }, 'ES256').catch(() => undefined) // not a point on the curve
    if (key) out.set(k.kid, key)
  }
  return out
}

function lifetime(control: string | null): number {
  const seconds = Number(/max-age=(\d+)/.exec(control ?? '')?.[1] ?? 300)
  return Math.min(Math.max(seconds * 1000, SHORTEST_MS), LONGEST_MS)
}
