// Bundles the tests (Node.js 20 cannot run TypeScript) and runs them with Node.js's test runner.
import { spawnSync } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { build } from 'esbuild'

const tests = readdirSync('test').filter((name) => name.endsWith('.test.ts'))
const out = process.env.BUILD ?? '.build' // another folder for a second run at the same time
rmSync(out, { recursive: true, force: true })
await build({
  entryPoints: tests.map((name) => 'test/' + name), outdir: out, outExtension: { '.js': '.mjs' }, bundle: true, format: 'esm',
  target: 'node20', platform: 'node', sourcemap: 'inline', external: ['jose', 'zod', '@modelcontextprotocol/*', 'express', 'fastify'], logLevel: 'warning',
})
const only = process.argv[2] ?? ''
const files = tests.filter((name) => name.includes(only)).map((name) => out + '/' + name.replace('.ts', '.mjs'))
const flags = ['--test-concurrency=' + availableParallelism(), '--test-reporter=' + (process.env.REPORTER ?? 'dot')] // Node.js leaves one processor idle
const run = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...flags, ...files], { stdio: 'inherit' })
process.exit(run.status ?? 1)
