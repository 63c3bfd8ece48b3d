import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'

test('the collector is under 15 kB gzipped in one file without imports', () => {
  const file = readFileSync('dist/collector.js')
  const size = gzipSync(file, { level: 9 }).length
  assert.ok(size < 15_000, `${size} bytes`)
  assert.doesNotMatch(file.toString(), /\bimport\b\s*[{*"'(]/)
})

test('the package has no runtime dependency', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
  assert.equal(manifest.dependencies, undefined)
})
