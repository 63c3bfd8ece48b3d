import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Collector } from '../src/collector/collector.js'
import { TestPage, element, settled, text } from './page.js'

function start() {
  const page = new TestPage()
  const collector = new Collector({ baseURL: 'https://countersign.example/', session: 'ses_1', consent: true, token: () => 'token' }, page).start()
  const sent = async (): Promise<any[]> => {
    await collector.flush()
    await settled()
    return page.requests.map((r) => r.body.features)
  }
  return { page, sent }
}

test('fifty taps make one frame that no keystroke template can be compared with', async () => {
  const { page, sent } = start()
  page.tap(50)
  const [first, ...more] = await sent()
  assert.equal(more.length, 0)
  assert.equal(first.touch.events, 50)
  assert.equal(first.keystroke, undefined)
  assert.equal(first.presence, undefined)
  assert.deepEqual(first.touch.cells['t:key'], [7, Math.round(100 * Math.log(180)) / 100])
  assert.deepEqual(first.touch.cells['tw:all'], [7, 0])
  assert.equal(first.touch.cells['th:key'], undefined) // the release came with the press
})

test('keys that iOS names while they are tapped are taps', async () => {
  const { page, sent } = start()
  page.tapNamed(20)
  const [frame] = await sent()
  assert.equal(frame.touch.events, 20)
  assert.equal(frame.keystroke, undefined)
})

test('holds count where the browser reports them', async () => {
  const { page, sent } = start()
  page.finger()
  for (let i = 0; i < 10; i++) {
    page.fire('keydown', { code: '', target: element() })
    page.input('insertText', 1)
    page.time += 70
    page.fire('keyup', { code: '', target: element() })
    page.time += 120
  }
  const [frame] = await sent()
  assert.deepEqual(frame.touch.cells['th:key'], [7, Math.round(100 * Math.log(70)) / 100])
})

test('swiped words are recorded as such, and no time is measured across them', async () => {
  const { page, sent } = start()
  page.finger()
  for (let i = 0; i < 6; i++) {
    page.compose(4 + i)
    page.time += 700
  }
  const [frame] = await sent()
  assert.deepEqual(frame.touch, { events: 6, active_ms: 3500, cells: { 'tw:all': [7, 1] } })
})

test('deletions and characters are counted apart', async () => {
  const { page, sent } = start()
  page.tap(5)
  for (let i = 0; i < 5; i++) {
    page.input('deleteContentBackward', 0)
    page.time += 60
  }
  const [frame] = await sent()
  assert.deepEqual(frame.touch.cells['td:all'], [7, 0.5])
  assert.ok(frame.touch.cells['t:to_del'])
})

test('a paste and the text of physical keys leave no tap', async () => {
  const { page, sent } = start()
  page.type(text(10), element())
  page.input('insertText', 1)
  page.input('insertFromPaste', 400)
  const [frame] = await sent()
  assert.equal(frame.keystroke.events, 10)
  assert.equal(frame.touch, undefined)
})

test('taps in secret and ignored fields are not recorded', async () => {
  const { page, sent } = start()
  page.tap(30, element({ type: 'password' }))
  page.tap(30, element({}, true))
  page.tap(30, element({ autocomplete: 'one-time-code' }))
  assert.deepEqual(await sent(), [])
})
