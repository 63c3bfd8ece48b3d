import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Countersign, collectorToken } from '../src/server/index.js'
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
