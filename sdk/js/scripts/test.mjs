// Bundles the tests (Node.js 20 cannot run TypeScript) and runs them with Node.js's test runner.
import { spawnSync } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { build } from 'esbuild'

const tests = readdirSync('test').filter((name) => name.endsWith('.test.ts'))
rmSync('.build', { recursive: true, force: true })
await build({
  entryPoints: tests.map((name) => 'test/' + name), outdir: '.build', outExtension: { '.js': '.mjs' }, bundle: true, format: 'esm',
  target: 'node20', platform: 'node', sourcemap: 'inline', external: ['jose'], logLevel: 'warning',
})
const only = process.argv[2] ?? ''
const files = tests.filter((name) => name.includes(only)).map((name) => '.build/' + name.replace('.ts', '.mjs'))
const run = spawnSync(process.execPath, ['--enable-source-maps', '--test', '--test-reporter=' + (process.env.REPORTER ?? 'dot'), ...files], { stdio: 'inherit' })
process.exit(run.status ?? 1)
