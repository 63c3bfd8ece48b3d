import { readFileSync } from 'node:fs'
import type { Ask } from '../src/server/index.js'

/** A response of a running service, with its request. */
export interface Recorded {
  request: Ask & { action: string; subject: string }
  answer: string
}

/** The four decisions, allow first. */
export const recorded: readonly Recorded[] = JSON.parse(readFileSync('../go/testdata/decisions.json', 'utf8'))

/** The response that a client receives. */
export interface Given {
  kind: string
  /** Index of the recorded decision, and so of its request. */
  of: number
  status: number
  contentType: string | undefined
  body: Buffer
  /** The connection ends before the body does. */
  cut?: boolean
  /** It may be accepted as a decision other than allow: a flipped bit may hit a text for people. */
  readable?: boolean
}

export const whole = (of: number): Given =>
  ({ kind: 'none', of, status: 200, contentType: 'application/json', body: Buffer.from(recorded[of]!.answer) })

/** Returns a fetch that gives this response to every request. */
export const giving = (given: Given): typeof fetch => async () => {
  const body = new ReadableStream({
    start(controller) {
      if (given.body.length > 0) controller.enqueue(given.body)
      if (given.cut) controller.error(new TypeError('terminated'))
      else controller.close()
    },
  })
  const headers = { Location: 'http://127.0.0.1:9/elsewhere', ...(given.contentType === undefined ? {} : { 'Content-Type': given.contentType }) }
  const empty = [204, 205, 304].includes(given.status) // a Response with these statuses has no body
  return new Response(empty ? null : body, { status: given.status, headers })
}

/** A seeded generator of random numbers (mulberry32). */
export function random(seed: number): (below: number) => number {
  return (below) => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

type Random = (below: number) => number
const one = <T>(r: Random, ...values: T[]): T => values[r(values.length)]!
const noise = (r: Random, n: number): Buffer => Buffer.from(Array.from({ length: n }, () => r(256)))

/** Required parts of a decision and their types. */
const FIELDS: [path: string, type: string][] = [
  ['id', 'string'], ['decision', 'string'], ['mode', 'string'], ['action', 'string'], ['action_hash', 'string'], ['environment', 'string'],
  ['policy_version', 'number'], ['reason_codes', 'array'], ['human_readable', 'object'], ['human_readable.status', 'string'],
  ['human_readable.detail', 'string'], ['assurance', 'object'], ['assurance.id', 'string'], ['assurance.subject', 'string'],
  ['assurance.assessed_at', 'string'], ['assurance.model_version', 'string'], ['assurance.claims', 'array'], ['assurance.coverage', 'string'],
  ['assurance.insufficient_evidence', 'boolean'], ['trace_id', 'string'], ['decided_at', 'string'], ['latency_ms', 'number'],
]
const MORE: Record<string, [path: string, type: string][]> = {
  allow: [['proof', 'string'], ['proof_id', 'string']],
  challenge: [['challenge', 'object'], ['challenge.id', 'string'], ['challenge.methods', 'array'], ['challenge.expires_at', 'string']],
}

const VALUES: Record<string, unknown> = { null: null, string: 'allow', number: 7, boolean: true, array: ['allow'], object: { decision: 'allow' } }

function change(g: Given, by: (v: any) => void): void {
  const v = JSON.parse(g.body.toString())
  by(v)
  g.body = Buffer.from(JSON.stringify(v))
}

/** The object that has the field, the field's name, and its type. */
function field(r: Random, v: any): [any, string, string] {
  const [path, type] = one(r, ...FIELDS, ...(MORE[v.decision] ?? []))
  const [first, second] = path.split('.') as [string, string?]
  return second ? [v[first], second, type] : [v, first, type]
}

const KINDS: Record<string, (r: Random, g: Given) => void> = {
  cut: (r, g) => { g.body = g.body.subarray(0, r(g.body.length)) },
  'broken off': (r, g) => { g.body = g.body.subarray(0, r(g.body.length + 1)); g.cut = true },
  status: (r, g) => { g.status = one(r, 201, 202, 203, 204, 205, 206, 226, 299, 300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 409, 418, 422, 429, 500, 502, 503, 504, 599) },
  page: (r, g) => {
    g.body = Buffer.from(one(r, '<!doctype html><title>Sign in to the network</title>', '<html>allow</html>', 'allow', ''))
    g.contentType = one(r, 'text/html; charset=utf-8', 'application/json', undefined)
  },
  'content type': (r, g) => { g.contentType = one(r, undefined, 'text/html', 'text/plain', 'application/octet-stream', 'application/jsonp', 'text/event-stream', 'application/problem+json', ';') },
  garbage: (r, g) => { g.body = Buffer.concat([noise(r, 1 + r(300)), Buffer.of(0)]) },
  'gzip garbage': (r, g) => { g.body = Buffer.concat([Buffer.of(0x1f, 0x8b, 8), noise(r, 60)]) },
  'not UTF-8': (_, g) => {
    const at = g.body.indexOf('"trace_id":"') + 12
    g.body = Buffer.concat([g.body.subarray(0, at), Buffer.of(0xff), g.body.subarray(at)])
  },
  'different body': (r, g) => {
    const s = g.body.toString()
    g.body = Buffer.from(one(r, '{}', '[]', 'null', 'true', '"allow"', '{"decision":"sure"}', '{"decision":"allow"}', `[${s}]`, `{"data":${s}}`, s + s, s + 'x', '"' + s, `{"":${s}}`, `{"__proto__":${s}}`))
  },
  'missing field': (r, g) => change(g, (v) => { const [parent, name] = field(r, v); delete parent[name] }),
  'other type': (r, g) => change(g, (v) => {
    const [parent, name, type] = field(r, v)
    parent[name] = VALUES[one(r, ...Object.keys(VALUES).filter((t) => t !== type))]
  }),
  'unknown value': (r, g) => change(g, (v) => {
    const value = one(r, 'sure', 'ALLOW', 'Allow', ' allow', 'allow ', '', 'enforced', 'allow\0', 'toString', '__proto__')
    const of = r(3)
    if (of === 0) v.decision = value
    else if (of === 1) v.mode = value
    else v.assurance.coverage = value
  }),
  'different decision': (_, g) => change(g, (v) => { v.decision = v.decision === 'allow' ? 'challenge' : 'allow' }),
  proof: (r, g) => change(g, (v) => {
    if (v.decision !== 'allow') v[one(r, 'proof', 'proof_id')] = 'a.b.c' // a proof without an allow
    else if (r(2) === 0) v[one(r, 'proof', 'proof_id')] = one(r, null, '')
    else v.proof = one(r, 'x', 'a.b', 'a.b.c.d', 'a.b.c=', 'a b.c.d', 'a'.repeat(9000) + '.b.c')
  }),
  challenge: (_, g) => change(g, (v) => {
    v.challenge = v.decision === 'challenge' ? null : { id: 'chl_1', methods: ['passkey'], expires_at: '2026-11-22T10:59:20.479Z' }
  }),
  'field twice': (r, g) => {
    const s = g.body.toString()
    const more = one(r, '"decision":"allow"', '"deci\\u0073ion":"allow"', '"decision" : "deny"', '"mode":"shadow"', '"proof":"a.b.c"', '"action":"x"')
    g.body = Buffer.from(r(2) === 0 ? `{${more},${s.slice(1)}` : `${s.slice(0, -1)},${more}}`)
  },
  'added field': (r, g) => {
    g.body = Buffer.from(g.body.toString().slice(0, -1) + ',' + one(r, '"Decision":"allow"', '"__proto__":{"decision":"allow"}', '"toJSON":"allow"') + '}')
  },
  'flipped bits': (r, g) => { for (let n = 1 + r(8); n > 0; n--) g.body[r(g.body.length)]! ^= 1 << r(8) },
  'response to a different request': (r, g) => change(g, (v) => {
    if (r(2) === 0) v.action = 'payments.other'
    else v.assurance.subject = 'other-subject'
  }),
  number: (r, g) => {
    const value = one(r, '1.5', '1e999', '1e400', '99999999999999999999', '-', '01', 'NaN', '0x1')
    g.body = Buffer.from(g.body.toString().replace('"policy_version":1', '"policy_version":' + value))
  },
  huge: (r, g) => {
    // rarely, because a long body takes time
    g.body = r(100) === 0 ? Buffer.concat([g.body, Buffer.alloc(17 << 20, ' ')]) : Buffer.concat([Buffer.alloc(1000, '['), g.body])
  },
}
const READABLE = ['added field', 'flipped bits']

/** Damages a recorded decision. */
export function damaged(r: Random): Given {
  const kind = one(r, ...Object.keys(KINDS))
  const readable = READABLE.includes(kind)
  const g = whole(readable ? 1 + r(3) : r(4)) // these may leave an allow valid
  KINDS[kind]!(r, g)
  return { ...g, kind, readable }
}
