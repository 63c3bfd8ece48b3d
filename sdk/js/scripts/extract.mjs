// Reads cases like those of golden_extraction.json as JSON lines and writes the features object of each, to compare it with the
// service's extraction.
import { createInterface } from 'node:readline'
import { build } from 'esbuild'

const entry = "export { extract } from './src/features/extract.ts'; export { keyOf } from './src/features/keys.ts'"
const { outputFiles } = await build({
  stdin: { contents: entry, resolveDir: new URL('..', import.meta.url).pathname, loader: 'ts' }, bundle: true, format: 'esm', write: false, logLevel: 'error',
})
const { extract, keyOf } = await import('data:text/javascript;base64,' + Buffer.from(outputFiles[0].contents).toString('base64'))

for await (const line of createInterface({ input: process.stdin })) {
  const c = JSON.parse(line)
  console.log(JSON.stringify(extract({
    keys: (c.keys ?? []).map((k) => ({ key: keyOf(k.code), press: k.press, release: k.release })),
    pointer: (c.pointer ?? []).map((p) => ({ t: p.t, x: p.x, y: p.y, kind: p.type, right: p.button === 2 })),
    scroll: (c.scroll ?? []).map((s) => ({ t: s.t, dx: s.dx, dy: s.dy })),
    clockMS: c.clock_ms,
  })))
}
