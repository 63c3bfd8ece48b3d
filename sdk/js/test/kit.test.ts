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
  const cut = new ReadableStream({ start: (s) => { s.enqueue(new TextEncoder().encode(c.body)); s.error(new TypeError('terminated')) } })
  return new Response(c.content_length ? cut : c.status === 204 ? null : c.body, { status: c.status, headers: c.headers })
}

const responses = kit('responses.json')
for (const c of responses.cases) {
  test(`kit, a response: ${c.name}`, async () => {
    const client = new Countersign({ baseURL: 'https://countersign.example', apiKey: 'sk_test_x', retries: 0, fetch: async () => response(c) })
    const call = client.authorize(responses.recorded[c.of].request)
    if (c.outcome === 'decision') return assert.equal((await call).id, JSON.parse(c.body).id)
    await assert.rejects(call, (e) => {
      const wanted = c.guard === 'length' ? ['unavailable', 'protocol_error'] : [c.outcome]
      assert.ok(wanted.includes(outcome(e)), `${c.guard}: ${String(e)}`)
      if (c.code && e instanceof ProblemError) assert.equal(e.code, c.code)
      if (c.retry_after) assert.equal((e as ProblemError).retryAfter, c.retry_after)
      return true
    })
  })
}

const retries = kit('retries.json')
for (const s of retries.scripts) {
  test(`kit, retries: ${s.name}`, async () => {
    const keys: string[] = []
    const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
      keys.push(JSON.parse(String(init?.body)).idempotency_key)
      return response(s.steps[(keys.length - 1) % s.steps.length])
    }
    const client = new Countersign({ baseURL: 'https://countersign.example', apiKey: 'sk_test_x', fetch: fetch as typeof globalThis.fetch })
    const call = client.authorize(retries.recorded.request)
    if (s.outcome === 'decision') await call
    else await assert.rejects(call, (e) => { assert.equal(outcome(e), s.outcome, String(e)); return true })
    assert.equal(keys.length, s.attempts)
    assert.equal(new Set(keys).size, 1)
  })
}
