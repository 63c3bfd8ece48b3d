import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  Countersign, ProblemError, ProofError, ProofVerifier, ProtocolError, WebhookError, canonical, digest, isRateLimited, isUnavailable, verifyWebhook,
} from '../src/server/index.js'

// The wire kit is the data that every SDK must pass (sdk/kit/README.md).
const kit = (name: string): any => JSON.parse(readFileSync('../kit/' + name, 'utf8'))

const proofs = kit('proofs.json')
for (const c of proofs.cases) {
  test(`kit, a proof: ${c.name}`, async () => {
    const v = new ProofVerifier({
      baseURL: 'https://countersign.example', issuer: proofs.issuer, environment: proofs.environment, leewaySeconds: c.leeway ?? 0,
      now: () => (c.now ?? proofs.now) * 1000, fetch: async () => Response.json(c.jwks ?? proofs.jwks),
    })
    const verified = v.verify(c.proof, { audience: proofs.audience, ...proofs.expect, ...c.expect })
    if (!c.code) return assert.equal((await verified).jti, 'prf_1')
    await assert.rejects(verified, (e) => {
      assert.ok(e instanceof ProofError, String(e))
      assert.ok(c.code.split('|').includes(e.code), `${c.guard}: ${e.code}`)
      return true
    })
  })
}

const webhooks = kit('webhooks.json')
for (const c of webhooks.cases) {
  test(`kit, a webhook: ${c.name}`, () => {
    const verify = () => verifyWebhook(c.body, c.headers, c.secrets, { now: webhooks.now })
    if (c.accepted) assert.equal(verify().type, webhooks.event.type)
    else assert.throws(verify, WebhookError)
  })
}

test('kit, canonical JSON', () => {
  const { cases, refused } = kit('canonical.json')
  for (const c of cases) {
    assert.equal(canonical(JSON.parse(c.json)), c.canonical, c.name)
    assert.equal(digest(JSON.parse(c.json)), c.digest, c.name)
  }
  for (const c of refused) assert.throws(() => canonical(JSON.parse(c.json)), TypeError, c.name)
})

function outcome(e: unknown): string {
  if (isRateLimited(e)) return 'rate_limited'
  if (e instanceof ProtocolError && e.status < 400) return 'protocol_error'
  return isUnavailable(e) ? 'unavailable' : 'refused'
}

function response(c: any): Response {
  if (c.drop) throw new TypeError('fetch failed')
  let sent = false // an error at once would discard the body
  const cut = new ReadableStream({ pull: (s) => { if (sent) s.error(new TypeError('terminated')); else s.enqueue(new TextEncoder().encode(c.body)); sent = true } }, { highWaterMark: 0 })
  return new Response(c.content_length ? cut : c.status === 204 ? null : c.body, { status: c.status, headers: c.headers })
}

/** A request that a script received. */
interface Sent { url: URL; headers: Headers; body: any; method: string }

/** Plays the steps of a script. */
function play(steps: any[]): { fetch: typeof globalThis.fetch; sent: Sent[] } {
  const sent: Sent[] = []
  const fetch = async (url: unknown, init?: RequestInit): Promise<Response> => {
    const body = init?.body ? JSON.parse(String(init.body)) : null
    sent.push({ url: new URL(String(url)), headers: new Headers(init?.headers), body, method: init?.method ?? 'GET' })
    const got = response(steps[(sent.length - 1) % steps.length])
    if (got.status < 300 || got.status > 399 || init?.redirect === 'manual') return got
    if (got.headers.get('Location')?.startsWith('/')) return fetch(url, init)
    throw new TypeError('fetch failed') // the address of a redirect to another host is not reached
  }
  return { fetch: fetch as typeof globalThis.fetch, sent }
}

const played = (steps: any[], retries = 2): { client: Countersign; sent: Sent[] } => {
  const { fetch, sent } = play(steps)
  return { client: new Countersign({ baseURL: 'https://countersign.example', apiKey: 'sk_test_x', retries, fetch }), sent }
}

const responses = kit('responses.json')
for (const c of responses.cases) {
  test(`kit, a response: ${c.name}`, async () => {
    const call = played([c], 0).client.authorize(responses.recorded[c.of].request)
    if (c.outcome === 'decision') return assert.equal((await call).id, JSON.parse(c.body).id)
    await assert.rejects(call, (e) => {
      const wanted = c.guard === 'length' ? ['unavailable', 'protocol_error'] : [c.outcome]
      assert.ok(wanted.includes(outcome(e)), `${c.guard}: ${String(e)}`)
      if (c.code && e instanceof ProblemError) assert.equal(e.code, c.code)
      if (c.outcome === 'refused') assert.equal(e instanceof ProblemError, c.code !== undefined, String(e))
      if (c.retry_after !== undefined) assert.equal((e as ProblemError).retryAfter ?? 0, c.retry_after)
      return true
    })
  })
}

const rejects = (call: Promise<unknown>, s: any): Promise<void> =>
  assert.rejects(call, (e) => { assert.equal(outcome(e), s.outcome, String(e)); return true })

const retries = kit('retries.json')
for (const s of retries.scripts) {
  test(`kit, retries: ${s.name}`, async () => {
    const { client, sent } = played(s.steps)
    const call = client.authorize(retries.recorded.request)
    await (s.outcome === 'decision' ? call : rejects(call, s))
    assert.equal(sent.length, s.attempts)
    assert.equal(new Set(sent.map((q) => q.body.idempotency_key)).size, 1)
  })
}

for (const c of kit('requests.json').cases) {
  test(`kit, a request: ${c.name}`, async () => {
    const { client, sent } = played([c.response])
    await (client as any)[c.operation](c.body ?? { path: c.path, query: c.query })
    const [q] = sent as [Sent]
    assert.equal(q.method, c.request.method)
    assert.deepEqual(q.url.pathname.split('/').slice(1).map(decodeURIComponent), c.request.segments)
    assert.deepEqual(Object.fromEntries(q.url.searchParams), c.request.query ?? {})
    for (const [name, value] of Object.entries(c.request.headers)) {
      if (value === '*') assert.ok(q.headers.get(name))
      else assert.equal(q.headers.get(name) ?? '', value, name)
    }
    if (c.request.body) assert.deepEqual(q.body, c.request.body)
  })
}

const pages = kit('pages.json')
for (const s of pages.scripts) {
  test(`kit, pages: ${s.name}`, async () => {
    const { client, sent } = played(s.steps)
    const ids: string[] = []
    const read = async (): Promise<void> => {
      for await (const p of client.each('listPasskeys', { path: { subject_id: pages.subject }, query: { limit: pages.limit } })) ids.push(p.id)
    }
    await (s.outcome === 'entries' ? read() : rejects(read(), s))
    if (s.outcome === 'entries') assert.deepEqual(ids, s.entries ?? [])
    assert.deepEqual(sent.map((q) => q.url.searchParams.get('cursor') ?? ''), s.cursors)
    for (const q of sent) assert.deepEqual([q.url.host, q.url.searchParams.get('limit')], ['countersign.example', String(pages.limit)])
  })
}

for (const s of kit('streams.json').scripts) {
  test(`kit, a stream: ${s.name}`, async () => {
    const { client, sent } = played(s.steps)
    const got: unknown[] = []
    const read = async (): Promise<void> => {
      for await (const e of client.events({ lastEventId: s.last_event_id })) if (got.push(e) >= (s.events?.length ?? 1)) break
    }
    await (s.outcome === 'events' ? read() : rejects(read(), s))
    assert.deepEqual(got, s.events ?? [])
    assert.deepEqual(sent.map((q) => q.headers.get('Last-Event-ID') ?? ''), s.resumed)
  })
}

const keySets = kit('keys.json')
for (const s of keySets.scripts) {
  test(`kit, a key set: ${s.name}`, async () => {
    let at = 0
    const { fetch, sent } = play(s.steps)
    const v = new ProofVerifier({
      baseURL: 'https://countersign.example', issuer: keySets.issuer, environment: keySets.environment, now: () => (keySets.now + at) * 1000, fetch,
    })
    for (const c of s.checks) {
      at = c.at
      const got = await v.verify(c.proof, { audience: keySets.audience, ...keySets.expect })
        .then(() => 'valid', (e) => (e instanceof ProofError ? e.code : isUnavailable(e) ? 'unavailable' : String(e)))
      assert.equal(got, c.outcome, `${s.guard}, after ${c.at} s`)
    }
    assert.equal(sent.length, s.fetches)
    for (const q of sent) assert.deepEqual([q.url.searchParams.get('issuer'), q.headers.get('Authorization')], [keySets.issuer, null])
  })
}
