import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { extract } from '../src/features/extract.js'
import { keyOf } from '../src/features/keys.js'
import type { Features } from '../src/features/frame.js'
import type { PointerKind } from '../src/features/steps.js'

interface Golden {
  name: string
  clock_ms: number
  keys?: { code: string; press: number; release: number }[]
  pointer?: { type: PointerKind; t: number; x: number; y: number; button: number }[]
  scroll?: { t: number; dx: number; dy: number }[]
  features: Features
}

const file = JSON.parse(readFileSync('../../internal/behavior/features/testdata/golden_extraction.json', 'utf8')) as { cases: Golden[] }

for (const c of file.cases) {
  test('extract matches the service: ' + c.name, () => {
    const got = extract({
      keys: (c.keys ?? []).map((k) => ({ key: keyOf(k.code), press: k.press, release: k.release })),
      pointer: (c.pointer ?? []).map((p) => ({ t: p.t, x: p.x, y: p.y, kind: p.type, right: p.button === 2 })),
      scroll: (c.scroll ?? []).map((s) => ({ t: s.t, dx: s.dx, dy: s.dy })),
      clockMS: c.clock_ms,
    })
    assert.deepEqual(JSON.parse(JSON.stringify(got)), c.features)
  })
}

test('the golden file has cases', () => assert.ok(file.cases.length >= 5))
