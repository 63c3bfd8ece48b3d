import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import {
  Countersign, CountersignError, ProblemError, ProofVerifier, ProtocolError, complete, decide, isRateLimited, isUnavailable, type OperationId,
  type ServiceEvent,
} from '../src/server/index.js'
import { fault, parseJSON } from '../src/server/check.js'
import { OPERATIONS } from '../src/server/operations.js'
import { damaged, giving, random, recorded, whole, type Given } from './damage.js'
import { json, service } from './service.js'

const at = { baseURL: 'https://countersign.example', apiKey: 'sk_test_x', retries: 0 }
const given = (g: Given): Countersign => new Countersign({ ...at, fetch: giving(g) })
const says = (status: number, body: unknown, contentType = 'application/json'): Countersign =>
  given({ kind: '', of: 0, status, contentType, body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) })
const claims = { iss: 'i', sub: 's', aud: 'bank.example', iat: 1, nbf: 1, exp: 2, jti: 'prf_1' }

test('decide returns every undamaged decision', async () => {
  for (const [of, decision] of ['allow', 'challenge', 'hold', 'deny'].entries()) {
    const d = await decide(given(whole(of)), recorded[of]!.request, { riskClass: 'high' })
    assert.deepEqual([d.source, d.decision], ['service', decision])
  }
})

test('unknown fields are tolerated', async () => {
  const g = whole(0)
  g.body = Buffer.from(recorded[0]!.answer.replace('"assurance":{', '"added":{"by":["a later version"]},"assurance":{"added":1,'))
  g.contentType = 'Application/JSON; charset=utf-8'
  assert.equal((await given(g).authorize(recorded[0]!.request)).decision, 'allow')
})

test('decide never returns allow for a damaged response', async () => {
  const r = random(17)
  const kinds = new Set<string>()
  for (let n = 0; n < 10_000; n++) {
    const g = damaged(r)
    kinds.add(g.kind)
    const context = `response ${n}: ${g.kind}: ${g.status} ${g.contentType} ${g.body.subarray(0, 4000)}`
    const d = await decide(given(g), recorded[g.of]!.request, { riskClass: 'high', timeoutMS: 60_000, attemptTimeoutMS: 60_000 }).catch((error) => {
      assert.ok(error instanceof ProtocolError && error.status >= 400 && error.status < 500 && error.status !== 429, `${error}: ${context}`)
    })
    if (!d) continue // a refusal, by a proxy it may be
    if (d.source === 'service') {
      assert.ok(g.readable && d.decision !== 'allow', context)
      continue
    }
    assert.equal(d.decision, 'deny')
    assert.ok(d.error instanceof ProtocolError, `${d.error}: ${context}`)
  }
  assert.ok(kinds.size > 20)
})

test('failure closed refuses and failure open allows without a decision, as in Go', async () => {
  for (const [failure, allowed] of [['closed', false], ['open', true]] as const) {
    const d = await decide(says(503, { type: '/docs/errors#unavailable', title: 'x', status: 503, detail: 'x', code: 'unavailable', request_id: 'r' }, 'application/problem+json'), recorded[0]!.request, { failure })
    assert.deepEqual([d.source, d.allowed], ['fallback', allowed])
  }
})

test('a refusal by a firewall never opens, as in Go', async () => {
  const page = { kind: '', of: 0, status: 403, contentType: 'text/html', body: Buffer.from('<html>') }
  for (const o of [{ failure: 'open' }, { riskClass: 'low' }] as const) await assert.rejects(decide(given(page), recorded[0]!.request, o), ProtocolError)
})

test('a rate limit never opens, as in Go', async () => {
  const limited = { type: '/docs/errors#rate_limited', title: 'x', status: 429, detail: 'x', code: 'rate_limited', request_id: 'r' }
  const page = { kind: '', of: 0, status: 429, contentType: 'text/html', body: Buffer.from('<html>') }
  for (const c of [says(429, limited, 'application/problem+json'), given(page)]) {
    for (const o of [{ failure: 'open' }, { failure: 'closed' }, { riskClass: 'low' }, { riskClass: 'elevated' }, { riskClass: 'high', failureModes: { high: 'allow' } }] as const) {
      const d = await decide(c, recorded[0]!.request, o)
      assert.deepEqual([d.source, d.allowed, d.decision], ['fallback', false, 'deny'])
      assert.ok(d.source === 'fallback' && isRateLimited(d.error) && !isUnavailable(d.error))
    }
  }
})

test('mode shadow refuses nothing, as in Go', async () => {
  const denied = JSON.parse(recorded[3]!.answer)
  assert.equal((await decide(says(200, denied), recorded[3]!.request, { failure: 'open' })).allowed, false)
  const d = await decide(says(200, { ...denied, mode: 'shadow' }), recorded[3]!.request, { failure: 'closed' })
  assert.deepEqual([d.decision, d.allowed], ['deny', true])
})

test('an invalid response uses the failure mode of the risk class', async () => {
  for (const c of [says(200, '<html>', 'text/html'), says(200, {}), says(200, { decision: 'sure' }), says(200, ''), says(200, '{"decision":"al')]) {
    for (const [riskClass, decision] of [['low', 'allow'], ['elevated', 'challenge'], ['high', 'deny'], ['critical', 'deny']] as const) {
      const d = await decide(c, recorded[0]!.request, { riskClass })
      assert.deepEqual([d.source, d.decision], ['fallback', decision])
      assert.ok(d.source === 'fallback' && d.error instanceof ProtocolError && isUnavailable(d.error))
    }
  }
})

test('every operation rejects a response of the wrong form', async () => {
  for (const id of Object.keys(OPERATIONS) as OperationId[]) {
    if (id === 'streamEvents') continue
    const path = Object.fromEntries([...OPERATIONS[id].path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, '1']))
    for (const c of [says(200, '<html>', 'text/html'), says(200, '<html>'), says(200, '"yes"'), says(203, {}), says(200, 'null')]) {
      await assert.rejects((c as any)[id]({ path, body: {} }), ProtocolError, id)
    }
  }
})

test('a response must be consistent with itself and with its request', async () => {
  const verify = (answer: object) => says(200, answer).verifyProof({ body: { proof: 'a.b.c', audience: 'bank.example', consume: true } })
  const valid = { valid: true, status: 'consumed', reason_codes: [], claims }
  assert.equal((await verify(valid)).valid, true)
  assert.equal((await verify({ valid: false, status: 'unknown', reason_codes: ['proof_unknown'], claims: null })).valid, false)
  for (const wrong of [{ status: 'active' }, { status: 'revoked' }, { claims: null }, { reason_codes: ['proof_expired'] }, { valid: 'true' }, { claims: { ...claims, aud: 'shop.example' } }]) {
    await assert.rejects(verify({ ...valid, ...wrong }), ProtocolError, JSON.stringify(wrong))
  }
  const receipt = { challenge: 'chl_1', status: 'completed', authorization: 'azn_1', method: 'passkey' }
  const complete = (answer: object) => says(200, answer).completeChallenge({ path: { challenge_id: 'chl_1' }, body: { method: 'passkey' } })
  assert.equal((await complete(receipt)).authorization, 'azn_1')
  await assert.rejects(complete({ ...receipt, challenge: 'chl_2' }), ProtocolError)
  await assert.rejects(complete({ ...receipt, status: 'open' }), ProtocolError)
  await assert.rejects(says(200, { jti: 'prf_2', status: 'active' }).getProofStatus({ path: { jti: 'prf_1' } }), ProtocolError)
})

test('a refusal without a problem body is a ProtocolError', async () => {
  const ask = (c: Countersign) => c.getMeta()
  await assert.rejects(ask(says(404, { code: 'not_found', title: 'Not found' }, 'application/problem+json')), ProblemError)
  for (const c of [
    says(404, '<html>', 'text/html'), says(404, {}), says(404, { code: 7 }), says(404, { code: 'no such code' }), says(404, { code: 'not_found', status: 500 }),
    says(422, { detail: [{ loc: 'body', msg: 'm', type: 't' }] }), says(422, { detail: [null] }), says(422, { detail: [] }), says(503, ''),
  ]) await assert.rejects(ask(c), ProtocolError)
})

test('complete generates the omitted fields of a request', () => {
  const { nonce, idempotency_key, requested_at, ...rest } = recorded[0]!.request
  const made = complete(rest)
  assert.ok(made.nonce.length >= 16 && made.nonce !== nonce && made.idempotency_key !== idempotency_key && made.requested_at !== requested_at)
})

test('a redirect is not followed', async () => {
  const elsewhere = await service((_, r) => json(r, 200, {}))
  const s = await service((_, r) => { r.writeHead(307, { Location: elsewhere.baseURL }); r.end() })
  const c = new Countersign({ baseURL: s.baseURL, apiKey: 'sk_test_x' })
  await assert.rejects(c.authorize(recorded[0]!.request), (e: ProtocolError) => e instanceof ProtocolError && e.status === 307)
  assert.equal(s.seen.length, 1)
  assert.equal(elsewhere.seen.length, 0)
})

test('a response that is broken on the wire is rejected', async () => {
  const wire: Record<string, (socket: import('node:net').Socket, text: string) => void> = {
    'gzip garbage': (s) => s.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\nConnection: close\r\n\r\n\x1f\x8b\x08garbag'),
    'cut by the connection': (s, text) => s.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text.slice(0, 100)}`),
    'cut between chunks': (s, text) => s.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n${text.slice(0, 0x40)}\r\n`),
    'nothing': (s) => s.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n'),
  }
  for (const [name, answer] of Object.entries(wire)) {
    const server = createServer((request, response) => {
      request.resume().on('end', () => { answer(response.socket!, recorded[0]!.answer) })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    after(() => { server.closeAllConnections(); server.close() })
    const c = new Countersign({ ...at, baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
    const d = await decide(c, recorded[0]!.request, { riskClass: 'high', timeoutMS: 5000 })
    assert.ok(d.source === 'fallback' && d.error instanceof ProtocolError && d.decision === 'deny', name)
  }
})

test('an invalid response is retried with the same key', async () => {
  let n = 0
  const c = new Countersign({ ...at, retries: 2, fetch: (input, init) => giving(++n < 3 ? { ...whole(0), body: Buffer.alloc(0) } : whole(0))(input, init) })
  assert.equal((await c.authorize(recorded[0]!.request)).decision, 'allow')
  assert.equal(n, 3)
})

test('an error does not quote the response', async () => {
  for (const body of ['{"secret-name":"secret-value"}', '{"jti":"secret-value","status":"secret-value"}', 'secret-value']) {
    await assert.rejects(says(200, body).getProofStatus({ path: { jti: 'prf_1' } }), (e: Error) => !JSON.stringify([e.message, e.stack, String(e.cause)]).includes('secret-value'))
  }
})

test('a response that is not a stream is retried, and an event that is not JSON is an error', async () => {
  let n = 0
  const responses = [
    new Response('<html>', { headers: { 'Content-Type': 'text/html' } }),
    new Response('id: evt_1\nevent: hold.opened\ndata: {}\n\nid: evt_2\nevent: hold.opened\ndata: {"cut\n\n', { headers: { 'Content-Type': 'text/event-stream' } }),
  ]
  const events = new Countersign({ ...at, fetch: async () => responses[n++]! }).events()
  assert.equal(((await events.next()).value as ServiceEvent).id, 'evt_1')
  await assert.rejects(events.next(), ProtocolError)
})

test('a link to the same page is an error and not a loop', async () => {
  const link = { 'Content-Type': 'application/json', Link: '</x?cursor=c>; rel="next"' }
  const c = new Countersign({ ...at, fetch: async () => new Response('[]', { headers: link }) })
  await assert.rejects(async () => { for await (const _ of c.each('listSubjects')) assert.fail() }, ProtocolError)
})

test('a response that is not a key set is an error of this package', async () => {
  const proof = JSON.parse(recorded[0]!.answer).proof as string
  const expect = { audience: 'a', action: 'b', subject: 's', nonce: 'c', resource: { type: 't', id: 'i' }, context: {} }
  for (const [status, body] of [[200, '<html>'], [200, '{}'], [200, '{"keys":7}'], [200, '{"keys":[null]}'], [204, null], [302, null], [500, 'x']] as const) {
    const v = new ProofVerifier({ baseURL: at.baseURL, issuer: 'i', environment: 'e', fetch: async () => new Response(body, { status }) })
    await assert.rejects(v.verify(proof, expect), ProtocolError, String(body))
  }
  const unreachable = new ProofVerifier({ baseURL: at.baseURL, issuer: 'i', environment: 'e', fetch: async () => { throw new TypeError('no route') } })
  await assert.rejects(unreachable.verify(proof, expect), CountersignError)
})

test('parseJSON rejects duplicate names', () => {
  for (const text of ['{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '[{"b":{"c":[],"c" :0}}]', '{"a":{},"b":{"x":"}"},"a":[]}', '{"a\\"":1,"a\\"":1}']) assert.throws(() => parseJSON(text), SyntaxError, text)
  for (const text of ['{"a":{"a":["a","a"]},"b":{"a":"a:"}}', '["a","a"]', '"a"', '{"a":"{\\"a\\":1,\\"a\\":1}"}', '{"a":"\\\\","b":"\\\\"}']) parseJSON(text)
})

test('the examples of the contract match its schemas', () => {
  const contract = JSON.parse(readFileSync('../../api/openapi/openapi.json', 'utf8'))
  let n = 0
  for (const op of Object.values(OPERATIONS)) {
    for (const schema of Object.values(op.responses)) {
      const name = (schema as { $ref?: string } | null)?.$ref
      for (const example of name ? contract.components.schemas[name].examples ?? [] : []) {
        assert.equal(fault(schema!, example), undefined, name)
        n++
      }
    }
  }
  assert.ok(n > 40, String(n))
})
