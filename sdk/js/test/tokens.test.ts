import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Collector } from '../src/collector/collector.js'
import { Countersign, ProofVerifier, collectorToken, decide, verifyWebhook } from '../src/server/index.js'
import { TestPage } from './page.js'
import { json, service } from './service.js'

test('collectorToken requests the narrowest token', async () => {
  const made = { client_token: 'ct_test_x', expires_at: 1795254300, ttl_seconds: 900, origin: 'https://app.example.com' }
  const s = await service((_, r) => json(r, 201, made))
  const c = new Countersign({ baseURL: s.baseURL, apiKey: 'sk_test_x' })
  const ask = { subject: 'user-1', session: 'ses_1', origin: 'https://app.example.com' }
  assert.equal((await collectorToken(c, ask)).client_token, 'ct_test_x')
  await collectorToken(c, { ...ask, purpose: 'enroll', ttlSeconds: 60 })
  assert.deepEqual(s.seen.map((r) => r.body), [
    { ...ask, purposes: ['score'], ttl_seconds: 900 }, { ...ask, purposes: ['enroll'], ttl_seconds: 60 },
  ])
})

test('an option that is not known is refused by its name', async () => {
  const s = await service((_, r) => json(r, 500, {}))
  const c = new Countersign({ baseURL: s.baseURL, apiKey: 'sk_test_x' })
  const ask = { subject: 'user-1', session: 'ses_1', origin: 'https://app.example.com' }
  await assert.rejects(collectorToken(c, { ...ask, purposes: ['enroll'] } as never), /the option purposes is not known/)
  await assert.rejects(collectorToken(c, ask, { timeout: 5 } as never), /the option timeout /)
  await assert.rejects(c.createSession({ subject: 'user-1' } as never), /the option subject /)
  await assert.rejects(decide(c, { ...ask, action: 'a', resource: { type: 't', id: '1' }, audience: 'a' } as never, { failure: 'closed', timeoutMs: 5 } as never), /timeoutMs/)
  assert.throws(() => new Countersign({ baseURL: s.baseURL, apiKey: 'sk_test_x', timeout: 1 } as never), /the option timeout /)
  assert.throws(() => c.events({ type: 'hold.*' } as never), /the option type /)
  assert.throws(() => verifyWebhook('', {}, '', { tolerance: 5 } as never), /the option tolerance /)
  const verifier = { baseURL: s.baseURL, issuer: 'i', environment: 'e' }
  assert.throws(() => new ProofVerifier({ ...verifier, leeway: 1 } as never), /the option leeway /)
  await assert.rejects(new ProofVerifier(verifier).verify('', { audience: 'a', action: 'a', resource: { type: 't', id: '1' }, nonce: 'n', hash: 'x' } as never), /the option hash /)
  assert.throws(() => new Collector({ baseURL: s.baseURL, session: 's', token: () => '', purposes: ['score'] } as never, new TestPage()), /the option purposes /)
  assert.equal(s.seen.length, 0)
})
