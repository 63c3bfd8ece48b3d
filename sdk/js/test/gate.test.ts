import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import express, { type Request as ExpressRequest } from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { CompactSign, exportJWK, generateKeyPair } from 'jose'
import {
  Countersign, Gate, GateRequestError, LoginRequiredError, ProofVerifier, digest, expressGate, fastifyGate, nextGate, type GateAsk, type GateOptions,
} from '../src/server/index.js'

const issuer = 'https://countersign.example'
const [key, forger] = await Promise.all([generateKeyPair('ES256', { extractable: true }), generateKeyPair('ES256', { extractable: true })])
const jwk = { ...(await exportJWK(key.publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }
const transfer: GateAsk = { subject: 'user-1', resource: { type: 'account', id: 'acc-1' }, context: { amount: 19 } }

interface Setting { decision?: string; mode?: string; alter?: object; forge?: boolean; status?: number; verifyStatus?: number }

/** A service that decides as set and signs the proofs of its allows, and a gate in front of payments.transfer. */
function service(set: Setting = {}, options: Partial<GateOptions> = {}) {
  const { decision = 'allow', mode = 'enforce' } = set
  const consumed = new Set<string>()
  let claims: object = {}
  const sign = async (ask: any): Promise<string> => {
    const now = Math.floor(Date.now() / 1000)
    claims = {
      iss: issuer, sub: ask.subject, aud: ask.audience, iat: now, nbf: now, exp: now + 300, jti: 'prf_1', nonce: ask.nonce, env: 'env_1', env_kind: 'sandbox',
      mode: 'enforce', azn: 'azn_1', act: { key: ask.action, hash: 'sha256:0', policy_version: 1, content_hash: 'sha256:c' },
      res: { type: ask.resource.type, digest: digest(ask.resource) }, ctx: digest(ask.context),
      assurance: { coverage: 'none', freshness_ms: null, claims: {} }, amr: [], ...set.alter,
    }
    return new CompactSign(new TextEncoder().encode(JSON.stringify(claims))).setProtectedHeader({ alg: 'ES256', kid: 'k1', typ: 'poa+jwt' })
      .sign((set.forge ? forger : key).privateKey)
  }
  const problem = (status: number): Response => Response.json({ code: 'some_code' }, { status, headers: { 'Content-Type': 'application/problem+json' } })
  const fetcher = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const path = String(url)
    if (set.status) return problem(set.status)
    if (path.includes('keys.json')) return Response.json({ keys: [jwk] })
    const ask = JSON.parse(String(init?.body))
    if (path.endsWith('/verify')) {
      if (set.verifyStatus) return problem(set.verifyStatus)
      const first = !consumed.has(ask.proof)
      consumed.add(ask.proof)
      return Response.json({ valid: first, status: 'consumed', reason_codes: first ? [] : ['proof_consumed'], claims })
    }
    const proven = decision === 'allow' && mode === 'enforce'
    const at = '2026-11-21T09:30:00.000Z'
    return Response.json({
      id: 'azn_1', decision, mode, action: ask.action, action_hash: 'sha256:' + '0'.repeat(64), environment: 'env_1', policy_version: 1, reason_codes: [],
      human_readable: { status: 's', detail: 'Please confirm.' }, trace_id: 't', decided_at: at, latency_ms: 1, proof: proven ? await sign(ask) : null,
      proof_id: proven ? 'prf_1' : null, challenge: decision === 'challenge' && mode !== 'shadow' ? { id: 'chl_1', methods: ['passkey'], expires_at: at } : null,
      assurance: { id: 'prl_1', subject: ask.subject, assessed_at: at, model_version: 'm', rule_version: 'r', feature_schema_version: 'f', claims: [],
        coverage: 'none', insufficient_evidence: true },
    })
  }
  const fetch = fetcher as typeof globalThis.fetch
  const gate = new Gate({
    countersign: new Countersign({ baseURL: issuer, apiKey: 'sk_test_x', retries: 0, fetch }), action: 'payments.transfer', audience: 'bank.example',
    verifier: new ProofVerifier({ baseURL: issuer, issuer, environment: 'env_1', fetch }), ...options,
  })
  return { gate, consumed }
}

test('an allow goes through by its proof, once, and for this request only', async () => {
  const { gate, consumed } = service()
  const outcome = await gate.check(transfer)
  assert.ok(outcome.allowed && outcome.claims?.sub === 'user-1')
  const [proof] = consumed
  assert.equal((await gate.check(transfer, proof)).refusal?.code, 'proof_consumed')
  assert.equal((await gate.check({ ...transfer, context: { amount: 99_999 } }, proof)).refusal?.code, 'proof_action_mismatch')
})

for (const [what, set, code] of [
  ['signed by no one', { forge: true }, 'proof_signature_invalid'], ['for another amount', { alter: { ctx: digest({ amount: 1 }) } }, 'proof_action_mismatch'],
  ['for another subject', { alter: { sub: 'mallory' } }, 'proof_action_mismatch'], ['for another request', { alter: { nonce: 'fedcba9876543210' } }, 'proof_nonce_mismatch'],
  ['for another audience', { alter: { aud: 'shop.example' } }, 'proof_audience_mismatch'],
] as const) {
  test(`an allow with a proof ${what} is refused`, async () => {
    const { gate, consumed } = service(set, { failure: 'open' })
    const outcome = await gate.check(transfer)
    assert.equal(outcome.allowed, false)
    assert.equal(outcome.refusal?.code, code)
    assert.equal(consumed.size, 0)
  })
}

test('modes without proofs let through what they do not refuse, unless a proof is required', async () => {
  for (const [mode, decision, allowed] of [['shadow', 'deny', true], ['test', 'allow', true], ['test', 'deny', false]] as const) {
    assert.equal((await service({ mode, decision }).gate.check(transfer)).allowed, allowed)
    assert.equal((await service({ mode, decision }, { requireProof: true }).gate.check(transfer)).allowed, false)
  }
})

test('without a decision the failure mode applies, never to a quota or to a proof', async () => {
  const open = { failure: 'open' } as const
  assert.equal((await service({ status: 503 }).gate.check(transfer)).allowed, false)
  assert.equal((await service({ status: 503 }, open).gate.check(transfer)).allowed, true)
  assert.equal((await service({ status: 429 }, open).gate.check(transfer)).allowed, false)
  assert.equal((await service({ status: 503 }, open).gate.check(transfer, 'a.b.c')).allowed, false)
  assert.equal((await service({ verifyStatus: 503 }).gate.check(transfer)).allowed, false)
  await assert.rejects(service({ status: 404 }, open).gate.check(transfer))
})

const described = (body: any): GateAsk => {
  if (body?.login === 'old') throw new LoginRequiredError({ acrValues: ['urn:mfa', 'urn:hwk'], maxAge: 300 })
  if (typeof body?.amount !== 'number') throw new GateRequestError('amount is missing')
  return { ...transfer, context: { amount: body.amount } }
}
const send = { method: 'POST', headers: { 'Content-Type': 'application/json' } }

const THROUGH: Record<string, (gate: Gate, body: string) => Promise<number>> = {
  async Express(gate, body) {
    const app = express().use(express.json())
    app.post('/', expressGate<ExpressRequest>(gate, (request) => described(request.body)), (_, response) => { response.send('moved') })
    app.use((_error: unknown, _request: unknown, response: express.Response, _next: unknown) => { response.status(500).end() })
    const server = app.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    try {
      return (await fetch(`http://127.0.0.1:${port}/`, { ...send, body })).status
    } finally {
      server.close()
    }
  },
  async Fastify(gate, body) {
    const app = fastify()
    app.post('/', { preHandler: fastifyGate<FastifyRequest>(gate, (request) => described(request.body)) }, async () => 'moved')
    return (await app.inject({ method: 'POST', url: '/', headers: send.headers, payload: body })).statusCode
  },
  async Next(gate, body) {
    const route = nextGate(gate, async (request) => described(await request.json()), async (request) => Response.json(await request.json()))
    return route(new Request('http://app/', { ...send, body })).then((r) => r.status, () => 500)
  },
}

for (const [framework, through] of Object.entries(THROUGH)) {
  test(`a route of ${framework} runs only on a consumed proof`, async () => {
    for (const [set, body, status] of [
      [{}, '{"amount":19}', 200], [{ decision: 'challenge' }, '{"amount":19}', 401], [{ decision: 'hold' }, '{"amount":19}', 403],
      [{ alter: { sub: 'mallory' } }, '{"amount":19}', 403], [{ status: 503 }, '{"amount":19}', 503], [{ status: 404 }, '{"amount":19}', 500], [{}, '{}', 400],
      [{}, '{"login":"old"}', 401],
    ] as const) {
      const { gate, consumed } = service(set)
      assert.equal(await through(gate, body), status, JSON.stringify(set))
      assert.equal(consumed.size, status === 200 ? 1 : 0)
    }
  })
}

// Only what a new login would satisfy is a challenge of RFC 9470: a client logs in again for it.
test('a 401 says what would satisfy it', async () => {
  for (const [body, want] of [
    ['{"amount":19}', 'Countersign error="challenge_required"'],
    ['{"login":"old"}', 'Bearer error="insufficient_user_authentication", error_description="A new login is required", acr_values="urn:mfa urn:hwk", max_age="300"'],
  ] as const) {
    const route = nextGate(service({ decision: 'challenge' }).gate, async (request) => described(await request.json()), () => new Response())
    const response = await route(new Request('http://app/', { ...send, body }))
    assert.equal(response.status, 401)
    assert.equal(response.headers.get('WWW-Authenticate'), want)
  }
  assert.equal(new LoginRequiredError().challenge, 'Bearer error="insufficient_user_authentication", error_description="A new login is required"')
})
