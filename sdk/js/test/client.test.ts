import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Countersign, CountersignError, ProblemError, TimeoutError, UnreachableError, ValidationError, decide, isRateLimited } from '../src/server/index.js'
import { recorded } from './damage.js'
import { json, refuse, service } from './service.js'

const apiKey = 'sk_test_x'
const [allowed, , held] = recorded
const ask = allowed!.request
const examples: Record<string, { examples: any[] }> = JSON.parse(readFileSync('../../api/openapi/openapi.json', 'utf8')).components.schemas

/** The contract's example of a schema, with changes. */
const example = (name: string, over: object = {}): any => ({ ...examples[name]!.examples[0], ...over })

test('an operation sends the request of the contract', async () => {
  const s = await service((_, r) => json(r, 201, example('PolicyVersion', { version: 2 })))
  const c = new Countersign({ baseURL: s.baseURL + '/', apiKey })
  const made = await c.createPolicyVersion({ path: { action_id: 'act/1' }, body: { requirements: { coverage_min: 'partial' } } })
  assert.equal(made.version, 2)
  const [request] = s.seen
  assert.equal(request!.method, 'POST')
  assert.equal(request!.url, '/api/v1/actions/act%2F1/policy-versions')
  assert.equal(request!.headers.authorization, 'Bearer sk_test_x')
  assert.deepEqual(request!.body, { requirements: { coverage_min: 'partial' } })
  assert.match(String(request!.headers['idempotency-key']), /^[0-9a-f-]{36}$/)
})

test('a retry reuses the idempotency key and waits for Retry-After', async () => {
  const s = await service((_, r, n) => (n === 1 ? refuse(r, 503, 'unavailable', { 'Retry-After': '1' }) : json(r, 201, example('Session'))))
  const before = performance.now()
  await new Countersign({ baseURL: s.baseURL, apiKey }).createSession({ body: { subject: 'user-1' } })
  assert.ok(performance.now() - before >= 990)
  assert.equal(s.seen.length, 2)
  assert.equal(s.seen[0]!.headers['idempotency-key'], s.seen[1]!.headers['idempotency-key'])
})

test('a caller may set the idempotency key', async () => {
  const s = await service((_, r) => json(r, 201, example('Session')))
  await new Countersign({ baseURL: s.baseURL, apiKey }).createSession({ body: { subject: 'user-1' } }, { idempotencyKey: 'sign-in-4711' })
  assert.equal(s.seen[0]!.headers['idempotency-key'], 'sign-in-4711')
})

test('a retry of authorize sends the same body', async () => {
  const s = await service((_, r, n) => (n < 3 ? r.destroy() : json(r, 200, JSON.parse(allowed!.answer))))
  const got = await new Countersign({ baseURL: s.baseURL, apiKey }).authorize(ask)
  assert.equal(got.decision, 'allow')
  assert.equal(s.seen.length, 3)
  assert.deepEqual(s.seen[0]!.body, s.seen[2]!.body)
})

test('an operation without a key is not retried if it may have happened', async () => {
  const s = await service((_, r) => refuse(r, 500, 'internal'))
  const c = new Countersign({ baseURL: s.baseURL, apiKey })
  await assert.rejects(c.legacyAuth({ body: { user_id: 'u', reaction_times: [1], keystroke_intervals: [1] } }), ProblemError)
  assert.equal(s.seen.length, 1)
})

test('a refusal is an error with a code, and is not retried', async () => {
  const s = await service((_, r) => refuse(r, 409, 'no_active_policy'))
  await assert.rejects(new Countersign({ baseURL: s.baseURL, apiKey }).authorize(ask), (e: ProblemError) => {
    assert.deepEqual([e.status, e.code, e.requestId, e.detail], [409, 'no_active_policy', 'req_1', 'Because.'])
    return true
  })
  assert.equal(s.seen.length, 1)
})

test('a validation error names every fault', async () => {
  const s = await service((_, r) => json(r, 422, { detail: [{ loc: ['body', 'subject'], msg: 'too long', type: 'max_length' }] }))
  await assert.rejects(new Countersign({ baseURL: s.baseURL, apiKey }).authorize(ask), (e: ValidationError) => {
    assert.equal(e.faults[0]!.type, 'max_length')
    assert.match(e.message, /body\.subject: too long/)
    return e instanceof ValidationError
  })
})

test('a call to an unresponsive service ends at the deadline', async () => {
  const s = await service(() => undefined)
  const before = performance.now()
  await assert.rejects(new Countersign({ baseURL: s.baseURL, apiKey, timeoutMS: 300, attemptTimeoutMS: 100 }).getMeta(), TimeoutError)
  assert.ok(performance.now() - before < 2000)
  assert.ok(s.seen.length >= 2)
  await assert.rejects(new Countersign({ baseURL: 'http://127.0.0.1:9', apiKey, retries: 0 }).getMeta(), UnreachableError)
})

test('a caller may abort', async () => {
  const s = await service(() => undefined)
  const stop = new AbortController()
  const pending = new Countersign({ baseURL: s.baseURL, apiKey }).getMeta({}, { signal: stop.signal })
  stop.abort(new Error('enough'))
  await assert.rejects(pending, /enough/)
})

test('a missing path parameter is an error before anything is sent', async () => {
  const c = new Countersign({ baseURL: 'http://127.0.0.1:9', apiKey })
  await assert.rejects(c.getAction({ path: { action_id: '' } }), CountersignError)
  assert.throws(() => new Countersign({ baseURL: 'ftp://x', apiKey }), CountersignError)
})

test('each iterates over every page of a list', async () => {
  const s = await service((q, r, n) => json(r, 200, [example('ProtectedAction', { id: 'act_' + n })], n < 3 ? { Link: `<${q.url.split('?')[0]}?limit=1&cursor=c${n}>; rel="next"` } : {}))
  const ids: string[] = []
  for await (const a of new Countersign({ baseURL: s.baseURL, apiKey }).each('listActions', { query: { limit: 1 } })) ids.push(a.id)
  assert.deepEqual(ids, ['act_1', 'act_2', 'act_3'])
  assert.deepEqual(s.seen.map((q) => q.url), ['/api/v1/actions?limit=1', '/api/v1/actions?limit=1&cursor=c1', '/api/v1/actions?limit=1&cursor=c2'])
})

test('each sends nothing for an operation that is no list', async () => {
  const s = await service(() => undefined)
  const each = (op: string) => new Countersign({ baseURL: s.baseURL, apiKey }).each(op as 'listActions').next()
  for (const op of ['listAction', 'createSubject', 'getMeta', 'toString']) await assert.rejects(each(op), { name: 'TypeError', message: `the contract has no list operation ${op}` })
  assert.equal(s.seen.length, 0)
})

test('a response without content is undefined', async () => {
  const s = await service((_, r) => { r.writeHead(204); r.end() })
  assert.equal(await new Countersign({ baseURL: s.baseURL, apiKey }).archiveAction({ path: { action_id: 'act_1' } }), undefined)
})

test('events continue after the last one when the connection is lost', async () => {
  const s = await service((_, r, n) => {
    r.writeHead(200, { 'Content-Type': 'text/event-stream' })
    r.write(`: hello\n\nid: evt_${n}\nevent: hold.opened\ndata: {"id":"evt_${n}"}\n\n`)
    if (n < 2) r.end()
  })
  const stop = new AbortController()
  const ids: (string | undefined)[] = []
  for await (const e of new Countersign({ baseURL: s.baseURL, apiKey }).events({ signal: stop.signal })) {
    ids.push(e.id)
    if (ids.length === 2) break
  }
  stop.abort()
  assert.deepEqual(ids, ['evt_1', 'evt_2'])
  assert.equal(s.seen[1]!.headers['last-event-id'], 'evt_1')
})

test('decide falls back by risk class if the service is slow', async () => {
  const s = await service(() => undefined)
  const c = new Countersign({ baseURL: s.baseURL, apiKey })
  const by = async (riskClass: 'low' | 'elevated' | 'high' | 'critical', over = {}) => {
    const d = await decide(c, ask, { riskClass, timeoutMS: 50, retries: 0, ...over })
    assert.equal(d.source, 'fallback')
    assert.ok(d.request.idempotency_key)
    return d.decision
  }
  assert.deepEqual(await Promise.all([by('low'), by('elevated'), by('high'), by('critical')]), ['allow', 'challenge', 'deny', 'deny'])
  assert.equal(await by('low', { failureModes: { low: 'deny' } }), 'deny')
})

test('decide does not allow if no response follows a rate limit within the deadline', async () => {
  const silent = await service((_, r, n) => { if (n === 1) refuse(r, 429, 'rate_limited') })
  const cut = await service((_, r) => { r.writeHead(429, { 'Content-Type': 'application/problem+json' }); r.write('{') })
  for (const s of [silent, cut]) {
    const d = await decide(new Countersign({ baseURL: s.baseURL, apiKey }), ask, { failure: 'open', timeoutMS: 400 })
    assert.ok(d.source === 'fallback' && !d.allowed && isRateLimited(d.error), String(d.source === 'fallback' && d.error))
  }
  assert.equal(silent.seen.length, 2)
})

test('decide never falls back for a refused request', async () => {
  const s = await service((_, r) => refuse(r, 403, 'audience_not_allowed'))
  await assert.rejects(decide(new Countersign({ baseURL: s.baseURL, apiKey }), ask, { riskClass: 'low' }), ProblemError)
})

test('decide refuses options whose fault only an outage would show', async () => {
  const s = await service((_, response) => json(response, 200, {}))
  const c = new Countersign({ baseURL: s.baseURL, apiKey })
  for (const options of [undefined, {}, { riskClass: 'hihg' }, { failure: 'deny' }, { failure: 'Open' }, { riskClass: 'low', failureModes: { low: 'alow' } }, { riskClass: 'toString' }, { risk: 'high' }]) {
    await assert.rejects(decide(c, ask, options as never), TypeError)
  }
  assert.equal(s.seen.length, 0)
})

test('decide returns a decision that arrives in time', async () => {
  const s = await service((_, r) => json(r, 200, JSON.parse(held!.answer)))
  const d = await decide(new Countersign({ baseURL: s.baseURL, apiKey }), held!.request, { riskClass: 'high' })
  assert.deepEqual([d.source, d.decision], ['service', 'hold'])
})
