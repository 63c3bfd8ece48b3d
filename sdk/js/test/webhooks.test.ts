import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { WebhookError, verifyWebhook } from '../src/server/index.js'

const secret = 'whsec_' + randomBytes(32).toString('base64')
const other = 'whsec_' + randomBytes(32).toString('base64')
const body = '{"type":"hold.opened","timestamp":"2026-11-21T09:30:00.000Z","data":{"name":"Ålesund"}}'
const now = 1_795_231_234

function headers(over: Record<string, string> = {}, by = secret): Record<string, string> {
  const mac = createHmac('sha256', Buffer.from(by.slice(6), 'base64')).update(`evt_1.${now}.${body}`).digest('base64')
  return { 'webhook-id': 'evt_1', 'webhook-timestamp': String(now), 'webhook-signature': `v1,${mac}`, ...over }
}

test('a signed event is verified and parsed', () => {
  const event = verifyWebhook(body, headers(), secret, { now })
  assert.deepEqual(event, { id: 'evt_1', type: 'hold.opened', timestamp: '2026-11-21T09:30:00.000Z', data: { name: 'Ålesund' } })
  verifyWebhook(Buffer.from(body), new Headers(headers()), secret, { now })
})

test('both secrets verify during a rotation', () => {
  verifyWebhook(body, headers(), [other, secret], { now })
  const both = headers()['webhook-signature'] + ' ' + headers({}, other)['webhook-signature']
  verifyWebhook(body, headers({ 'webhook-signature': both }), other, { now })
})

for (const [what, attempt] of Object.entries({
  'a different body': () => verifyWebhook(body + ' ', headers(), secret, { now }),
  'a different secret': () => verifyWebhook(body, headers(), other, { now }),
  'a different id': () => verifyWebhook(body, headers({ 'webhook-id': 'evt_2' }), secret, { now }),
  'an old timestamp': () => verifyWebhook(body, headers(), secret, { now: now + 301 }),
  'a future timestamp': () => verifyWebhook(body, headers(), secret, { now: now - 301 }),
  'a timestamp that is not a number': () => verifyWebhook(body, headers({ 'webhook-timestamp': 'NaN' }), secret, { now }),
  'no signature': () => verifyWebhook(body, headers({ 'webhook-signature': '' }), secret, { now }),
  'an empty signature': () => verifyWebhook(body, headers({ 'webhook-signature': 'v1,' }), secret, { now }),
  'no secret': () => verifyWebhook(body, headers(), [], { now }),
  'an empty secret': () => verifyWebhook(body, headers(), '', { now }),
  'no secret that is set': () => verifyWebhook(body, headers(), [undefined, ''], { now }),
  'a secret that is no text': () => verifyWebhook(body, headers(), [secret, 5 as never], { now }),
  'two ids': () => verifyWebhook(body, { ...headers(), 'Webhook-Id': 'evt_2' }, secret, { now }),
  'two ids in a list': () => verifyWebhook(body, { ...headers(), 'webhook-id': ['evt_1', 'evt_2'] }, secret, { now }),
  'a parsed body': () => verifyWebhook(JSON.parse(body), headers(), secret, { now }),
})) test(`refused: ${what}`, () => assert.throws(attempt, WebhookError))

for (const [what, malformed] of Object.entries({
  'not base64': 'whsec_my-own-secret-of-more-than-24-bytes', 'a space': secret + ' ', 'short': 'whsec_' + Buffer.alloc(23).toString('base64'),
  'long': 'whsec_' + Buffer.alloc(65).toString('base64'),
})) test(`refused: a malformed secret, ${what}`, () => assert.throws(() => verifyWebhook(body, headers(), malformed, { now }), /whsec_ and the base64 of 24 to 64 bytes/))

for (const [what, given] of Object.entries({
  'names in capitals': Object.fromEntries(Object.entries(headers()).map(([n, v]) => [n.toUpperCase(), v])),
  'names as in Standard Webhooks': { 'Webhook-Id': 'evt_1', 'Webhook-Timestamp': String(now), 'Webhook-Signature': headers()['webhook-signature']! },
  'lists of one': Object.fromEntries(Object.entries(headers()).map(([n, v]) => [n, [v]])),
  'the raw headers of Node': ['Host', 'webhook-id', ...Object.entries(headers()).flatMap(([n, v]) => [n.replace('w', 'W'), v])],
  'pairs': Object.entries(headers()), 'a map': new Map(Object.entries(headers())), 'Headers': new Headers(headers()),
  'an object with get': { get: (n: string) => headers()[n.toLowerCase()] }, 'an object without a prototype': Object.assign(Object.create(null), headers()),
  'a header of undefined': { ...headers(), 'Webhook-Id': undefined }, 'a value twice': { ...headers(), 'Webhook-Id': 'evt_1' },
})) test(`headers are read from: ${what}`, () => assert.equal(verifyWebhook(body, given, [secret, undefined], { now }).id, 'evt_1'))
