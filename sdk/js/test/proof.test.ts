import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { CompactSign, exportJWK, generateKeyPair } from 'jose'
import { ProofError, ProofVerifier, ProtocolError, UnreachableError, actionHash, canonical, digest } from '../src/server/index.js'
import { importKeys } from '../src/server/jwks.js'
import { verifyCompact } from '../src/server/proof.js'

const read = (path: string): any => JSON.parse(readFileSync('../../internal/' + path, 'utf8'))
const sample = read('authz/proof/testdata/sample.json')
const about = { audience: 'bank.example', action: 'payments.transfer', subject: 'user-1', resource: { type: 'account', id: 'acc_1' }, context: {}, nonce: '0123456789abcdef' }
const at = (sample.claims.iat + 10) * 1000

function verifier(over: object = {}, sets: unknown[] = [sample.jwks]) {
  const fetched = { n: 0 }
  const v = new ProofVerifier({
    baseURL: 'https://countersign.example', issuer: 'https://countersign.example', environment: 'env_1', now: () => at,
    fetch: async () => Response.json(sets[Math.min(fetched.n++, sets.length - 1)], { headers: { 'Cache-Control': 'public, max-age=300' } }), ...over,
  })
  return { v, fetched }
}

const refused = (code: string) => (e: unknown): boolean => {
  assert.ok(e instanceof ProofError, String(e))
  assert.equal(e.code, code)
  return true
}

test('the published sample verifies with one fetch of the key set', async () => {
  const { v, fetched } = verifier()
  assert.deepEqual(await v.verify(sample.proof, about), sample.claims)
  await v.verify(sample.proof, { ...about, actionHash: sample.claims.act.hash })
  assert.equal(fetched.n, 1)
})

for (const [what, over, code] of [
  ['audience', { audience: 'other' }, 'proof_audience_mismatch'], ['action', { action: 'other' }, 'proof_action_mismatch'],
  ['nonce', { nonce: 'other' }, 'proof_nonce_mismatch'], ['resource', { resource: { type: 'account', id: 'acc-2' } }, 'proof_resource_mismatch'],
  ['resource type', { resource: { type: 'card', id: 'acc-1' } }, 'proof_resource_mismatch'], ['hash', { actionHash: 'sha256:0' }, 'proof_action_mismatch'],
  ['subject', { subject: 'user-2' }, 'proof_action_mismatch'], ['context', { context: { amount: 99_999 } }, 'proof_action_mismatch'],
] as const) {
  test(`a proof with a different ${what} is refused`, () => assert.rejects(verifier().v.verify(sample.proof, { ...about, ...over }), refused(code)))
}

test('an empty expectation is an error and not a wildcard', () =>
  assert.rejects(verifier().v.verify(sample.proof, { ...about, audience: '' }), /expected audience is missing/))

for (const name of ['audience', 'action', 'subject', 'resource', 'context'] as const) {
  test(`an expectation without ${name} is an error`, () =>
    assert.rejects(verifier().v.verify(sample.proof, { ...about, [name]: undefined } as never), new RegExp(`expected ${name} is missing`)))
}

test('an unbound expectation compares what it has', async () => {
  const { audience, action } = about
  await verifier().v.verify(sample.proof, { audience, action, unbound: true })
  await assert.rejects(verifier().v.verify(sample.proof, { audience, action, unbound: true, subject: 'user-2' }), refused('proof_action_mismatch'))
  await assert.rejects(verifier().v.verify(sample.proof, { audience, action, unbound: true, context: { amount: 1 } }), refused('proof_action_mismatch'))
  await assert.rejects(verifier().v.verify(sample.proof, { audience, action, unbound: 1 } as never), /expected subject is missing/)
})

test('the key set is that of the issuer', async () => {
  let asked = ''
  await verifier({ fetch: async (url: string) => { asked = url; return Response.json(sample.jwks) } }).v.verify(sample.proof, about)
  assert.equal(asked, 'https://countersign.example/.well-known/service-proof-keys.json?issuer=https%3A%2F%2Fcountersign.example')
})

test('a proof of a different issuer or environment is refused', async () => {
  await assert.rejects(verifier({ issuer: 'https://evil.example' }).v.verify(sample.proof, about), refused('proof_issuer_mismatch'))
  await assert.rejects(verifier({ environment: 'env_2' }).v.verify(sample.proof, about), refused('proof_environment_mismatch'))
})

test('a proof is valid from nbf to exp', async () => {
  const when = (seconds: number, leewaySeconds: number) => verifier({ now: () => seconds * 1000, leewaySeconds }).v.verify(sample.proof, about)
  const { nbf, exp } = sample.claims
  await when(nbf, 0)
  await when(exp - 1, 0)
  await when(exp + 59, 900)
  await assert.rejects(when(nbf - 1, 0), refused('proof_not_yet_valid'))
  await assert.rejects(when(exp, 0), refused('proof_expired'))
  await assert.rejects(when(exp + 60, 900), refused('proof_expired'))
})

test('an unknown kid is fetched again, once', async () => {
  const empty = { keys: [] }
  let now = at
  const { v, fetched } = verifier({ now: () => now }, [empty, sample.jwks])
  await assert.rejects(v.verify(sample.proof, about), refused('proof_key_unknown'))
  assert.equal(fetched.n, 1)
  now += 11_000
  await v.verify(sample.proof, about)
  assert.equal(fetched.n, 2)
})

test('a kid that the cached set lacks is unknown only after a fetch', async () => {
  const other = { keys: [{ ...sample.jwks.keys[0], kid: 'other' }] }
  for (const cached of [other, { keys: [] }]) {
    let now = at
    let unavailable: (() => Promise<Response>) | undefined
    const { v } = verifier({ now: () => now, fetch: async () => (unavailable ? unavailable() : Response.json(cached)) })
    await assert.rejects(v.verify(sample.proof, about), refused('proof_key_unknown'))
    for (const [how, error] of [[async () => { throw new Error('no route') }, UnreachableError], [async () => new Response('x', { status: 500 }), ProtocolError]] as const) {
      unavailable = how
      now += 11_000
      await assert.rejects(v.verify(sample.proof, about), error)
      await assert.rejects(v.verify(sample.proof, about), error) // within the pause after the failed fetch
    }
    unavailable = undefined
    now += 11_000
    await assert.rejects(v.verify(sample.proof, about), refused('proof_key_unknown'))
  }
})

test('an unknown kid waits for a fetch that has begun', async () => {
  let now = at
  let release = (): void => undefined
  let n = 0
  const { v } = verifier({ now: () => now, fetch: async () => {
    if (n++ === 0) return Response.json({ keys: [] })
    await new Promise<void>((resolve) => { release = resolve })
    return Response.json(sample.jwks)
  } })
  await assert.rejects(v.verify(sample.proof, about), refused('proof_key_unknown'))
  now += 11_000
  const both = Promise.all([v.verify(sample.proof, about), v.verify(sample.proof, about)])
  setTimeout(() => release(), 20)
  await both
  assert.equal(n, 2)
})

test('cached keys stay in use while the key set is unavailable', async () => {
  let now = at
  let unavailable = false
  const { v } = verifier({ now: () => now, fetch: async () => { if (unavailable) throw new Error('unavailable'); return Response.json(sample.jwks, { headers: { 'Cache-Control': 'max-age=10' } }) } })
  await v.verify(sample.proof, about)
  unavailable = true
  now += 60_000
  await v.verify(sample.proof, about)
})

test('cached keys end an hour after the last successful fetch', async () => {
  let now = at
  let unavailable = false
  const { v } = verifier({ now: () => now, leewaySeconds: 60, fetch: async () => { if (unavailable) throw new Error('unavailable'); return Response.json(sample.jwks) } })
  await v.verify(sample.proof, about)
  unavailable = true
  const find = (): Promise<unknown> => v['keys'].find(sample.jwks.keys[0].kid) // the proof itself expires earlier
  now += 3_595_000
  assert.ok(await find())
  now += 5001 // within the pause after the failed fetch
  await assert.rejects(find(), UnreachableError)
  await assert.rejects(find(), UnreachableError)
  unavailable = false
  assert.ok(await find())
})

test('a proof has only one valid spelling', async () => {
  const [h, p, s] = sample.proof.split('.') as [string, string, string]
  const last = s.slice(0, -1) + String.fromCharCode(s.charCodeAt(s.length - 1) + 1)
  for (const text of [` ${sample.proof}`, `${h}.${p}.${s}\n`, `${h}=.${p}.${s}`, `${h}.${p}.${last}`, `${h}.${p}`, `${h}.${p}.${s}.`, '', 'a'.repeat(9000), { toString: () => sample.proof }]) {
    await assert.rejects(verifier().v.verify(text as string, about), refused('proof_malformed'))
  }
})

test('a header with other members is refused before the key lookup', async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const jwk = await exportJWK(publicKey)
  const sign = (header: object, claims: object = sample.claims) =>
    new CompactSign(new TextEncoder().encode(JSON.stringify(claims))).setProtectedHeader({ alg: 'ES256', ...header }).sign(privateKey)
  const own = [{ keys: [{ ...jwk, kid: 'k' }] }]
  const good = { kid: 'k', typ: 'poa+jwt' }
  await verifier({}, own).v.verify(await sign(good), about)
  for (const [header, code] of [
    [{ ...good, jwk }, 'proof_header_invalid'], [{ ...good, jku: 'https://evil.example' }, 'proof_header_invalid'], [{ ...good, typ: 'JWT' }, 'proof_type_invalid'],
    [{ typ: 'poa+jwt' }, 'proof_header_invalid'], [{ kid: 'other', typ: 'poa+jwt' }, 'proof_key_unknown'],
  ] as const) await assert.rejects(verifier({}, own).v.verify(await sign(header), about), refused(code))
  for (const claims of [{ ...sample.claims, exp: sample.claims.exp + 3600 }, { ...sample.claims, aud: ['bank.example'] }, { ...sample.claims, amr: null }, {}]) {
    await assert.rejects(verifier({}, own).v.verify(await sign(good, claims), about), refused('proof_claims_invalid'))
  }
  const none = Buffer.from('{"alg":"none","kid":"k","typ":"poa+jwt"}').toString('base64url') + (await sign(good)).slice((await sign(good)).indexOf('.'))
  await assert.rejects(verifier({}, own).v.verify(none, about), refused('proof_algorithm_invalid'))
})

test('the Wycheproof signatures verify as expected', async () => {
  let n = 0
  for (const group of read('authz/proof/testdata/wycheproof_es256.json').testGroups) {
    const keys = await importKeys([group.public]).catch(() => new Map())
    for (const c of group.tests) {
      n++
      const verified = await verifyCompact(c.jws, async (kid) => keys.get(kid), '').then(() => true, (e) => e instanceof ProofError && e.message.includes('not a JSON object'))
      assert.equal(verified, c.result === 'valid', `${c.tcId} ${c.comment}`)
    }
  }
  assert.equal(n, 41)
})

test('actionHash matches the published vectors', () => {
  for (const v of read('platform/canonical/testdata/action_hash_vectors.json')) {
    assert.equal(canonical(v.document), v.canonical, v.name)
    assert.equal(actionHash(v.document), v.action_hash, v.name)
  }
})

test('digests are over what JSON sends', () => {
  const sent = (context: unknown): unknown => JSON.parse(JSON.stringify({ context })).context ?? {}
  const about = { action: { key: 'a', policy_version: 1, content_hash: 'c' }, subject: 's', resource: { type: 't', id: 'i' }, audience: 'a', nonce: 'n', environment: 'e' }
  class Money { constructor(readonly cents: number) {} toJSON(): unknown { return { amount: this.cents / 100 } } }
  for (const [name, context] of Object.entries<any>({
    'undefined': { a: 1, b: undefined }, 'a list of undefined': { a: [undefined, 1] }, 'a function': { a: () => 1, b: [() => 1] }, 'a symbol': { a: Symbol('x'), [Symbol('y')]: 1 },
    'a date': { a: new Date(0) }, 'an invalid date': { a: new Date(NaN) }, 'a map': { a: new Map([['b', 1]]) }, 'bytes': { a: new Uint8Array([1, 2]) }, 'toJSON': { a: new Money(150) },
    'NaN': { a: NaN, b: -Infinity }, '-0': { a: -0 }, 'boxed': { a: new String('x'), b: new Number(1), c: Object(true) }, 'a hole': { a: [1, , 2] }, 'inherited': Object.create({ a: 1 }),
    '__proto__': JSON.parse('{"__proto__": {"a": 1}}'), 'hidden': Object.defineProperty({}, 'a', { value: 1, enumerable: false }), 'a regular expression': { a: /x/ }, 'an error': { a: new Error('x') },
    'nothing': { toJSON: () => undefined }, 'a url': { a: new URL('http://x/') }, 'null': null, 'missing': undefined,
  })) {
    assert.equal(actionHash({ ...about, context }), actionHash({ ...about, context: sent(context) as Record<string, unknown> }), name)
    if (context) assert.equal(digest({ context }), digest(JSON.parse(JSON.stringify({ context }))), name)
  }
  assert.equal(canonical({ b: [undefined, new Date(0)], a: undefined, '': -0 }), '{"":0,"b":[null,"1970-01-01T00:00:00.000Z"]}')
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  for (const bad of [{ a: 1n }, circular, { a: '\ud800' }, { '\udc00': 1 }]) assert.throws(() => actionHash({ ...about, context: bad }), TypeError)
  for (const bad of [undefined, () => 1, Symbol('x')]) assert.throws(() => canonical(bad), TypeError)
  assert.throws(() => actionHash({ ...about, subject: undefined as never }), /subject must be a string/)
})
