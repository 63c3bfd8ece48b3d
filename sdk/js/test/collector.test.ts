import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Collector } from '../src/collector/collector.js'
import type { CollectorError, CollectorOptions, EndReason, Frame, State } from '../src/collector/options.js'
import { retryAfter } from '../src/retry.js'
import { TestPage, type TestElement, ack, element, later, problem, settled, text, tree } from './page.js'

function start(over: Partial<CollectorOptions> = {}) {
  const page = new TestPage()
  const seen = { states: [] as [State, EndReason | undefined][], errors: [] as CollectorError[], tokens: 0 }
  const collector = new Collector({
    baseURL: 'https://countersign.example/', session: 'ses_1', consent: true, token: () => 'token-' + ++seen.tokens,
    onState: (s, r) => seen.states.push([s, r]), onError: (e) => seen.errors.push(e), ...over,
  }, page).start()
  return { page, collector, seen }
}

test('fifty keys make one frame of features without any content', async () => {
  const { page } = start()
  page.type(text(50), element())
  await settled()
  assert.equal(page.requests.length, 1)
  const { url, init, body } = page.requests[0]!
  assert.equal(url, 'https://countersign.example/api/v1/sessions/ses_1/evidence')
  assert.equal((init.headers as Record<string, string>).Authorization, 'Bearer token-1')
  assert.equal(body.features.keystroke.events, 50)
  assert.equal(body.purpose, 'score')
  assert.equal(body.duration_ms, 4960)
  assert.equal(body.timestamp, body.window_end)
  assert.ok(Math.abs(body.window_end - body.window_start - 4.96) < 1e-6)
  const sent = JSON.stringify(body)
  for (const trace of ['Key', 'Space', 'never read', 'THE']) assert.ok(!sent.includes(trace), trace)
  for (const [n] of Object.values(body.features.keystroke.cells) as [number, number][]) assert.ok(n === 2 || n === 7)
})

test('nothing is observed before consent, and withdrawing it deletes unsent data', async () => {
  const { page, collector, seen } = start({ consent: false })
  page.type(text(60))
  await settled()
  assert.equal(collector.state, 'waiting')
  assert.equal(page.requests.length, 0)
  collector.grantConsent()
  assert.equal(collector.state, 'listening')
  page.type(text(30))
  collector.withdrawConsent()
  page.type(text(60))
  await page.pass(60_000)
  assert.equal(page.requests.length, 0)
  assert.deepEqual(seen.states, [['listening', undefined], ['ended', 'consent_withdrawn']])
})

const secretFields: [string, Record<string, string>][] = [
  ['a password field', { type: 'password' }], ['a password field in capitals', { type: 'Password' }],
  ['a field of a code', { autocomplete: 'One-Time-Code' }], ['a field of a card', { autocomplete: 'section-pay CC-Number' }],
]

for (const [name, attributes] of secretFields) {
  test('nothing is sent of presses in ' + name, async () => {
    const { page, collector } = start()
    page.type(text(15), element(attributes))
    await collector.flush()
    assert.deepEqual(page.requests, [])
  })
}

test('the frames before, beside and after a secret do not count its presses', async () => {
  const { page, collector } = start()
  const secret = element({ type: 'password' })
  page.type(text(10), element())
  page.type(text(7), secret)
  const moved = page.time
  page.move(20)
  page.type(text(8), secret)
  page.type(text(12), element())
  await collector.flush()
  await settled()
  const [before, beside, after] = page.requests.map((r) => r.body)
  assert.equal(before!.features.rhythm.events, 10)
  assert.equal(beside!.features.keystroke, undefined)
  assert.equal(beside!.features.rhythm.events, 20)
  assert.equal(beside!.duration_ms, 19 * 16)
  assert.equal(beside!.window_end, (page.epoch + moved + 20 * 16) / 1000)
  assert.equal(after!.features.rhythm.events, 12)
})

const shown: { name: string; see: (page: TestPage, field: TestElement) => void }[] = [
  { name: 'after a key', see: (p, field) => p.type(text(1), field) },
  { name: 'before the first key', see: (p, field) => { p.elements.push(field); p.hide('hidden'); p.hide('visible') } },
  { name: 'in a form that appeared later', see: (p, field) => { p.elements.push(field); p.press(element()) } },
  { name: 'after the focus', see: (p, field) => { p.elements.push(field); p.fire('focusin', { target: field }) } },
  { name: 'by a button in the same shadow tree', see: (p, field) => p.press(element(), tree([field])) },
]

for (const { name, see } of shown) {
  test('a password field whose text is shown stays secret: ' + name, async () => {
    const { page, collector } = start()
    const attributes: Record<string, string> = { type: 'password' }
    const field = element(attributes)
    see(page, field)
    attributes.type = 'text'
    page.type(text(20), field)
    await collector.flush()
    assert.deepEqual(page.requests, [])
  })
}

test('events in an ignored element are not recorded', async () => {
  const { page, collector } = start()
  page.type(text(60), element({}, true))
  page.fire('wheel', { deltaX: 0, deltaY: 5, deltaMode: 0, target: element({}, true) })
  await collector.flush()
  assert.equal(page.requests.length, 0)
})

test('scripted events, key repeats and unknown keys are ignored', async () => {
  const { page, collector } = start()
  for (let i = 0; i < 60; i++) {
    page.time += 50
    page.fire('keydown', { code: 'KeyA', isTrusted: false })
    page.fire('keyup', { code: 'KeyA', isTrusted: false })
    page.fire('keydown', { code: 'KeyA', repeat: true })
    page.fire('keydown', { code: '' })
    page.fire('pointermove', { pointerType: 'touch', clientX: i, clientY: i, buttons: 1 })
  }
  await collector.flush()
  assert.equal(page.requests.length, 0)
})

test('a hidden page pauses, and pending data is sent with keepalive', async () => {
  const { page, collector } = start()
  page.type(text(20))
  page.hide('hidden')
  await settled()
  assert.equal(collector.state, 'paused')
  assert.equal(page.requests.length, 1)
  assert.equal(page.requests[0]!.init.keepalive, true)
  page.type(text(60))
  await settled()
  assert.equal(page.requests.length, 1)
  page.hide('visible')
  assert.equal(collector.state, 'listening')
  page.type(text(50))
  await settled()
  assert.equal(page.requests.length, 2)
})

test('leaving the page sends everything at once', async () => {
  const { page } = start()
  page.responses = [new Error('offline')]
  page.type(text(50))
  await settled()
  page.type(text(70))
  page.requests = []
  page.window.dispatchEvent(new Event('pagehide'))
  await settled()
  assert.equal(new Set(page.requests.map((r) => r.body.frame_id)).size, 3)
  await page.pass(30_000)
  assert.equal(page.requests.length, 3, 'each frame is sent once')
})

test('a collector without a session throws', () => {
  assert.throws(() => start({ session: '' }), /session is missing/)
})

test('a frame is sent when the user stops typing', async () => {
  const { page } = start()
  page.type(text(20))
  await page.pass(25_000)
  assert.equal(page.requests.length, 1)
  assert.ok(page.requests[0]!.body.duration_ms < 3000)
})

test('pointer frames contain the clock resolution', async () => {
  const { page } = start()
  page.move(60)
  await page.pass(25_000)
  const features = page.requests[0]!.body.features
  assert.equal(features.pointer.events, 60)
  assert.equal(features.clock_ms, 2)
  assert.ok('sd_lv' in features.presence)
})

test('the clock resolution is omitted after a few events', async () => {
  const { page, collector } = start()
  page.type(text(4))
  await collector.flush()
  assert.equal('clock_ms' in page.requests[0]!.body.features, false)
})

test('a frame is resent with its id until the service responds', async () => {
  const { page, seen } = start()
  page.responses = [new Error('offline'), problem(503, 'unavailable', { 'Retry-After': '7' }), ack()]
  page.type(text(50))
  await settled()
  await page.pass(1000)
  assert.equal(page.requests.length, 2)
  await page.pass(6000)
  assert.equal(page.requests.length, 2)
  await page.pass(2000)
  assert.equal(page.requests.length, 3)
  assert.equal(new Set(page.requests.map((r) => r.body.frame_id)).size, 1)
  assert.deepEqual(seen.errors.map((e) => e.kind), ['network', 'service'])
})

test('the online event sends the queue immediately, in order', async () => {
  const { page } = start()
  page.responses = [new Error('offline')]
  page.type(text(50))
  await settled()
  page.type(text(50))
  await settled()
  page.window.dispatchEvent(new Event('online'))
  await settled()
  await settled()
  const ids = page.requests.map((r) => r.body.frame_id)
  assert.deepEqual(ids.slice(-2), ['frame-1', 'frame-2'])
})

test('the queue is bounded, and stale evidence is dropped', async () => {
  const { page, seen } = start({ queueLimit: 3 })
  page.responses = Array.from({ length: 50 }, () => new Error('offline'))
  for (let i = 0; i < 6; i++) {
    page.type(text(50))
    await settled()
  }
  assert.equal(seen.errors.filter((e) => e.kind === 'dropped').length, 3)
  page.time += 11 * 60_000
  page.responses = []
  const before = page.requests.length
  page.window.dispatchEvent(new Event('online'))
  await settled()
  assert.equal(page.requests.length, before)
  assert.equal(seen.errors.filter((e) => e.kind === 'dropped').length, 6)
})

test('a refused token is requested again, once', async () => {
  const { page, collector, seen } = start()
  page.responses = [problem(401, 'unauthenticated'), ack(), problem(401, 'unauthenticated'), problem(401, 'unauthenticated')]
  page.type(text(50))
  await settled()
  await settled()
  assert.equal(seen.tokens, 2)
  assert.equal(collector.state, 'listening')
  page.type(text(50))
  await settled()
  await settled()
  assert.equal(collector.state, 'ended')
  assert.deepEqual(seen.states.at(-1), ['ended', 'unauthorized'])
})

const refusal = (): Response => problem(401, 'unauthenticated')
const tokensOf = (page: TestPage): string[] => page.requests.map((r) => (r.init.headers as Record<string, string>).Authorization!.replace('Bearer ', ''))

/** Starts a collector with two frames in flight: one that was sent as usual, and one that was sent as the user left. */
async function twoInFlight() {
  const started = start()
  const [first, second] = [later<Response>(), later<Response>()]
  started.page.responses = [first.promise, second.promise]
  started.page.type(text(50))
  await settled()
  started.page.type(text(30))
  started.page.window.dispatchEvent(new Event('pagehide'))
  await settled()
  assert.deepEqual(tokensOf(started.page), ['token-1', 'token-1'])
  return { ...started, first, second }
}

for (const late of [false, true]) {
  test(`a token that two requests used is replaced once, the second refusal ${late ? 'after' : 'before'} the new token`, async () => {
    const { page, collector, seen, first, second } = await twoInFlight()
    first.resolve(refusal())
    if (late) await settled()
    second.resolve(refusal())
    await page.pass(1000)
    assert.equal(collector.state, 'listening')
    assert.deepEqual(tokensOf(page), ['token-1', 'token-1', 'token-2', 'token-2'])
    assert.deepEqual(new Set(page.requests.slice(2).map((r) => r.body.frame_id)), new Set(['frame-1', 'frame-2']))
    assert.equal(seen.tokens, 2)
  })
}

test('a frame that was sent as the user left is sent again when its token was refused', async () => {
  const { page, first, second } = await twoInFlight()
  first.resolve(ack())
  await settled()
  second.resolve(refusal())
  await page.pass(1000)
  assert.deepEqual(page.requests.map((r) => r.body.frame_id), ['frame-1', 'frame-2', 'frame-2'])
  assert.equal(tokensOf(page)[2], 'token-2')
})

test('the token callback receives session and purpose', async () => {
  const requests: unknown[] = []
  const { page } = start({ purpose: 'enroll', token: (ask) => { requests.push(ask); return 'token' } })
  page.type(text(60))
  await settled()
  assert.deepEqual(requests[0], { session: 'ses_1', purpose: 'enroll' })
})

test('a token is renewed before it expires', async () => {
  let n = 0
  const page = new TestPage()
  const expires = (): number => page.date() / 1000 + 60
  new Collector({
    baseURL: 'https://c.example', session: 's', consent: true, token: () => ({ client_token: 'token-' + ++n, expires_at: expires() }),
  }, page).start()
  page.type(text(50))
  await settled()
  await page.pass(40_000)
  page.type(text(50))
  await settled()
  assert.deepEqual(page.requests.map((r) => (r.init.headers as Record<string, string>).Authorization), ['Bearer token-1', 'Bearer token-2'])
})

test('a failed token callback is retried later', async () => {
  let calls = 0
  const { page, seen } = start({ token: () => { if (++calls === 1) throw new Error('unavailable'); return 'token' } })
  page.type(text(50))
  await settled()
  assert.equal(page.requests.length, 0)
  assert.deepEqual(seen.errors.map((e) => e.kind), ['token'])
  await page.pass(1500)
  assert.equal(page.requests.length, 1)
})

for (const [status, code, reason] of [[409, 'session_closed', 'session_closed'], [404, 'not_found', 'session_not_found'], [403, 'origin_not_allowed', 'forbidden']] as const) {
  test(`status ${status} ends the collector`, async () => {
    const { page, collector, seen } = start()
    page.responses = [problem(status, code)]
    page.type(text(50))
    await settled()
    assert.deepEqual(seen.states.at(-1), ['ended', reason])
    page.type(text(100))
    await page.pass(60_000)
    assert.equal(page.requests.length, 1)
    assert.equal(collector.state, 'ended')
  })
}

test('a refused frame is dropped, and the next is sent', async () => {
  const { page, seen } = start()
  page.responses = [problem(422, 'invalid')]
  page.type(text(100))
  await settled()
  await settled()
  assert.equal(page.requests.length, 2)
  assert.deepEqual(seen.errors, [{ kind: 'refused', status: 422, code: 'invalid', detail: 'the service refused a frame: invalid' }])
})

test('stop sends pending data and ends the collector', async () => {
  const { page, collector, seen } = start({ purpose: 'enroll' })
  page.type(text(20))
  await collector.stop()
  assert.equal(page.requests[0]!.body.purpose, 'enroll')
  assert.deepEqual(seen.states.at(-1), ['ended', 'stopped'])
  page.type(text(60))
  await page.pass(30_000)
  assert.equal(page.requests.length, 1)
  assert.equal(page.timers.length, 0)
})

test('key repeats count as one press', async () => {
  const { page, collector } = start()
  for (const code of text(10)) {
    page.fire('keydown', { code })
    for (let i = 0; i < 5; i++) {
      page.time += 30
      page.fire('keydown', { code, repeat: true })
    }
    page.fire('keyup', { code })
    page.time += 50
  }
  await collector.flush()
  const { events, active_ms } = page.requests[0]!.body.features.keystroke
  assert.deepEqual([events, active_ms], [10, 1800])
})

test('a press without a release is not counted', async () => {
  const { page, collector } = start()
  page.type(text(10))
  for (const lose of [() => page.window.dispatchEvent(Object.defineProperty(new Event('blur'), 'isTrusted', { value: true })), () => { page.time += 11_000 }]) {
    page.fire('keydown', { code: 'KeyA' })
    lose()
    page.time += 50
    page.fire('keyup', { code: 'KeyA' })
  }
  await collector.flush()
  assert.equal(page.requests[0]!.body.features.keystroke.events, 10)
})

test('a held key delays the end of a frame until its release', async () => {
  const { page, collector } = start({ frameKeys: 20 })
  page.type(text(19))
  page.fire('keydown', { code: 'ShiftLeft' })
  page.time += 30
  page.type(['KeyA', 'KeyB'])
  assert.equal(page.requests.length, 0)
  page.fire('keyup', { code: 'ShiftLeft' })
  await settled()
  assert.equal(page.requests[0]!.body.features.keystroke.events, 22)
  await collector.stop()
})

test('events that are no key events, as autofill sends them, are ignored', async () => {
  const { page, collector, seen } = start()
  for (let i = 0; i < 60; i++) {
    for (const type of ['keydown', 'keyup']) page.fire(type, i % 2 ? { target: element() } : { code: undefined, target: null, composedPath: undefined })
    page.input('insertReplacementText', 8)
    page.time += 30
  }
  await collector.flush()
  assert.deepEqual(collector.typing, { keyboard: 'hidden', keys: 0, taps: 0, inserted: 60, pasted: 0 })
  for (const { body } of page.requests) assert.equal(body.features.keystroke, undefined)
  assert.deepEqual(seen.errors, [])
})

test('an element whose members the page has replaced is ignored', async () => {
  const { page, collector } = start()
  page.type(text(60), Object.assign(element(), { closest: {} }) as never)
  page.type(text(60), Object.assign(element(), { getRootNode: undefined }) as never)
  await collector.flush()
  assert.deepEqual(page.requests, [])
})

const stamps: [string, (time: number, n: number, epoch: number) => number][] = [
  ['0', () => 0], ['now and then 0', (t, n) => (n % 7 === 3 ? 0 : t)], ['before the previous event', (t, n) => (n % 7 === 3 ? t - 5000 : t)], ['counted from 1970', (t, _, epoch) => epoch + t],
  ['once from 1970', (t, n, epoch) => (n === 20 ? epoch + t : t)], ['once not a number', (t, n) => (n === 20 ? NaN : t)], ['once before the page', (t, n) => (n === 20 ? -1 : t)],
  ['once ahead', (t, n) => (n === 20 ? t + 3_600_000 : t)],
]

for (const [name, stamp] of stamps) {
  test('a frame is good if the time of its events is ' + name, async () => {
    const { page } = start()
    page.time = 904_300
    let n = 0
    for (const code of text(50)) {
      page.fire('keydown', { code, target: element(), timeStamp: stamp(page.time, n++, page.epoch) })
      page.time += 60
      page.fire('keyup', { code, target: element(), timeStamp: stamp(page.time, n++, page.epoch) })
      page.time += 40
    }
    await settled()
    assert.equal(page.requests.length, 1)
    const { body } = page.requests[0]!
    assert.equal(body.duration_ms, 4960)
    assert.equal(body.features.keystroke.events, 50)
    assert.ok(body.features.presence.med_hold > 50 && body.features.presence.med_hold < 70)
    assert.ok(body.window_end <= page.date() / 1000 && body.window_end > page.date() / 1000 - 1)
  })
}

test('a busy page does not change how long keys were held', async () => {
  const { page } = start()
  const target = element()
  for (const code of text(50)) {
    const pressed = page.time
    page.time += 100 // the page is busy, and comes to both events of the key only then
    page.fire('keydown', { code, target, timeStamp: pressed })
    page.input('insertText', 1, target)
    page.fire('keyup', { code, target, timeStamp: pressed + 60 })
  }
  await settled()
  const { presence } = page.requests[0]!.body.features
  assert.ok(Math.abs(presence.med_hold - 60) < 5, String(presence.med_hold))
})

test('a frame ends before a pause in which no timer ran', async () => {
  const frames: Frame[] = []
  const { page, collector } = start({ onFrame: (frame) => frames.push(frame) })
  page.type(text(12), element())
  page.fire('keydown', { code: 'KeyA', target: element() })
  page.time += 900_000 // the device sleeps
  page.fire('keyup', { code: 'KeyA', target: element() })
  page.type(text(14), element())
  await collector.flush()
  await settled()
  assert.deepEqual(frames.map((f) => f.features.keystroke!.events), [12, 14])
  for (const frame of frames) assert.ok(frame.duration_ms < 2000, String(frame.duration_ms))
  assert.equal(page.requests.length, 1, 'the first is too old to be sent')
})

test('a page that is left sends what browsers accept, and reports the rest', async () => {
  const { page, collector, seen } = start({ queueLimit: 100 })
  page.responses = [new Error('offline')]
  for (let i = 0; i < 48; i++) page.type(text(50), element())
  await settled()
  const before = page.requests.length
  const held: ((r: Response) => void)[] = []
  page.responses = Array.from({ length: 100 }, () => { const l = later<Response>(); held.push(l.resolve); return l.promise })
  seen.errors.length = 0
  page.window.dispatchEvent(new Event('pagehide'))
  const [error] = seen.errors
  assert.equal(error?.kind, 'dropped')
  await settled()
  const sent = page.requests.slice(before)
  const outliving = sent.filter((r) => r.init.keepalive)
  const bytes = outliving.reduce((sum, r) => sum + String(r.init.body).length, 0)
  assert.ok(bytes <= 64 * 1024 && bytes > 50_000, String(bytes))
  assert.match(error!.detail, new RegExp(`^${sent.length - outliving.length} frames `))
  assert.equal(sent.length, 48)
  assert.ok(outliving[0]!.body.timestamp > outliving.at(-1)!.body.timestamp, 'newest first')
  held.forEach((answer) => answer(ack())) // the page remains: nothing is lost
  await settled()
  await collector.flush()
  assert.equal(page.requests.length, before + 48)
})

test('Retry-After may be a date', async () => {
  const now = new Date(Date.UTC(2026, 10, 27, 2, 0, 0))
  for (const [header, seconds] of [
    [new Date(now.getTime() + 90_000).toUTCString(), 90], ['Friday, 27-Nov-26 02:01:30 GMT', 90], ['Fri Nov 27 02:01:30 2026', 90], ['45', 45], [' 45 ', 45],
    [new Date(0).toUTCString(), 0], [new Date(now.getTime() + 9e12).toUTCString(), 86_400], ['99999999999999', 86_400],
    ['', undefined], ['soon', undefined], ['-5', undefined], ['1e3', undefined], ['Infinity', undefined], ['2026-11-27', undefined],
  ] as const) {
    assert.equal(retryAfter(new Headers({ 'Retry-After': header }), now.getTime()), seconds, header)
    if (seconds) assert.equal(retryAfter(new Headers({ 'Retry-After': header, Date: now.toUTCString() }), 0), seconds, header)
  }
  assert.equal(retryAfter(new Headers(), 0), undefined)
  const { page } = start()
  page.responses = [problem(503, 'unavailable', { 'Retry-After': new Date(page.date() + 60_000).toUTCString() }), ack()]
  page.type(text(50), element())
  await settled()
  await page.pass(45_000)
  assert.equal(page.requests.length, 1)
  await page.pass(15_000)
  assert.equal(page.requests.length, 2)
})

test('the end of a collector is explained', async () => {
  for (const [status, reason] of [[403, 'forbidden'], [404, 'session_not_found'], [409, 'session_closed']] as const) {
    const { page, seen } = start()
    page.responses = [Response.json({ code: 'insufficient_scope', detail: 'The token is for a different purpose.' }, { status })]
    page.type(text(50), element())
    await settled()
    assert.deepEqual(seen.states.at(-1), ['ended', reason])
    assert.equal(seen.errors[0]!.code, 'insufficient_scope')
    assert.match(seen.errors[0]!.detail, /The token is for a different purpose\.$/)
  }
  const { page, seen } = start({ token: () => Promise.reject(Object.assign(new Error('403 insufficient_scope'), { code: 'insufficient_scope' })) })
  page.type(text(50), element())
  await settled()
  assert.deepEqual([seen.errors[0]!.kind, seen.errors[0]!.code], ['token', 'insufficient_scope'])
  assert.match(seen.errors[0]!.detail, /403 insufficient_scope/)
  const none = start({ token: () => ({}) as never })
  none.page.type(text(50), element())
  await settled()
  assert.equal(none.seen.errors[0]!.kind, 'token')
})
