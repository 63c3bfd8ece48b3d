import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Collector } from '../src/collector/collector.js'
import type { TypingSeen } from '../src/collector/options.js'
import { TestPage, element, settled, text } from './page.js'

function start(touchscreen = false) {
  const page = new TestPage()
  page.touchscreen = touchscreen
  const seen: TypingSeen[] = []
  const collector = new Collector({
    baseURL: 'https://countersign.example/', session: 'ses_1', consent: true, token: () => 'token', onTyping: (s) => seen.push(s),
  }, page).start()
  return { page, collector, seen }
}

const none = { keyboard: 'none', keys: 0, taps: 0, inserted: 0, pasted: 0 }

const cases: { name: string; act: (page: TestPage) => void; want: Partial<TypingSeen> }[] = [
  { name: 'a physical keyboard', act: (p) => p.type(text(5)), want: { keyboard: 'physical', keys: 5 } },
  { name: 'a physical keyboard and the text that its keys insert', act: (p) => ['KeyA', 'KeyB'].forEach((code) => {
    p.fire('keydown', { code, target: element() })
    p.input('insertText', 1)
    p.fire('keyup', { code, target: element() })
    p.time += 90
  }), want: { keyboard: 'physical', keys: 2 } },
  { name: 'an on-screen keyboard of Android: keys without a position, text by composition', act: (p) => p.tap(4), want: { keyboard: 'touch', taps: 4 } },
  { name: 'an on-screen keyboard of iOS: positions, released in the moment they are pressed', act: (p) => p.tapNamed(4), want: { keyboard: 'touch', taps: 4 } },
  { name: 'a tablet with a physical keyboard', act: (p) => { p.finger(); p.type(text(3)) }, want: { keyboard: 'physical', keys: 3 } },
  { name: 'text without keys and without a finger: a keyboard that hides its keys', act: (p) => { p.input('insertText', 1); p.input('insertText', 1) }, want: { keyboard: 'hidden', taps: 2 } },
  { name: 'a swiped word', act: (p) => { p.finger(); p.compose(6) }, want: { keyboard: 'touch', inserted: 1 } },
  { name: 'a chosen suggestion completes a word', act: (p) => { p.tap(2); p.composed(8) }, want: { keyboard: 'touch', taps: 2, inserted: 1 } },
  { name: 'a correction', act: (p) => { p.tap(3); p.input('insertReplacementText', 4) }, want: { keyboard: 'touch', taps: 3, inserted: 1 } },
  { name: 'dictation', act: (p) => { p.finger(); p.input('insertText', 25) }, want: { keyboard: 'touch', inserted: 1 } },
  { name: 'an input method of a desktop converts what its keys wrote', act: (p) => {
    p.fire('keydown', { code: 'KeyK', target: element() })
    p.compose(1)
    p.time += 80
    p.fire('keyup', { code: 'KeyK', target: element() })
    p.fire('keydown', { code: 'Space', target: element() })
    p.composed(5)
    p.time += 80
    p.fire('keyup', { code: 'Space', target: element() })
  }, want: { keyboard: 'physical', keys: 2 } },
  { name: 'a paste by keys', act: (p) => { p.type(['ControlLeft', 'KeyV']); p.input('insertFromPaste', 40) }, want: { keyboard: 'physical', keys: 2, pasted: 1 } },
  { name: 'a drop', act: (p) => p.input('insertFromDrop', 12), want: { keyboard: 'none', pasted: 1 } },
  { name: 'a password field', act: (p) => { p.tap(4, element({ type: 'password' })); p.type(text(4), element({ type: 'password' })) }, want: {} },
  { name: 'an ignored field', act: (p) => { p.tap(4, element({}, true)); p.type(text(4), element({}, true)) }, want: {} },
  { name: 'a checkbox', act: (p) => p.fire('input', { inputType: undefined, target: element() }), want: {} },
]

for (const c of cases) {
  test('typing seen: ' + c.name, () => {
    const { page, collector, seen } = start()
    assert.deepEqual(collector.typing, none)
    c.act(page)
    assert.deepEqual(collector.typing, { ...none, ...c.want })
    assert.deepEqual(seen.at(-1) ?? none, collector.typing)
  })
}

test('each report of typing is a copy of its own', () => {
  const { page, seen } = start()
  page.tap(2)
  assert.deepEqual(seen.map((s) => s.taps), [1, 2])
})

test('a field that is focused by the page on a device with a touchscreen', () => {
  const { page, collector } = start(true)
  page.input('insertText', 1)
  assert.equal(collector.typing.keyboard, 'touch')
})

const byFinger: { name: string; act: (page: TestPage) => void }[] = [
  { name: 'taps on Android', act: (p) => p.tap(60) },
  { name: 'taps on iOS', act: (p) => p.tapNamed(60) },
  { name: 'swiped words', act: (p) => { p.finger(); for (let i = 0; i < 20; i++) p.compose(6) } },
  { name: 'deletions', act: (p) => { p.finger(); for (let i = 0; i < 60; i++) p.input('deleteContentBackward', 0) } },
  { name: 'dictation', act: (p) => { p.finger(); for (let i = 0; i < 20; i++) p.input('insertText', 25) } },
  { name: 'movements of a finger', act: (p) => {
    for (let i = 0; i < 200; i++) p.fire('pointermove', { pointerType: 'touch', clientX: i, clientY: i, buttons: 1, target: null })
  } },
]

for (const c of byFinger) {
  test('nothing is sent of what is not scored: ' + c.name, async () => {
    const { page, collector } = start(true)
    c.act(page)
    page.time += 60_000
    await collector.flush()
    await settled()
    assert.deepEqual(page.requests, [])
  })
}

test('a key beside taps is sent alone', async () => {
  const { page, collector } = start(true)
  page.tap(20)
  page.type(text(30), element())
  page.tap(20)
  await collector.flush()
  await settled()
  assert.deepEqual(page.requests.map((r) => [r.body.features.keystroke.events, Object.keys(r.body.features).sort()]),
    [[30, ['clock_ms', 'keystroke', 'presence', 'rhythm', 'schema']]])
})
