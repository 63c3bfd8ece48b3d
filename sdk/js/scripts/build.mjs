// Builds the published files: the collector as one file without imports, and the server part with jose as an external import. Each
// exists as an ES module (dist) and as a CommonJS module (dist/cjs) with its own types.
import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { build } from 'esbuild'

rmSync('dist', { recursive: true, force: true })
const common = { bundle: true, target: 'es2022', logLevel: 'warning', legalComments: 'none' }
const collector = { ...common, entryPoints: ['src/collector/index.ts'], platform: 'browser', minify: true }
const server = { ...common, entryPoints: ['src/server/index.ts'], platform: 'node', external: ['jose'] }
// It imports the server part by its name: errors of one package must be instances of one class.
const mcp = { ...common, entryPoints: ['src/mcp/index.ts'], platform: 'node', external: ['@countersign/sdk/server'] }
await Promise.all([
  build({ ...collector, format: 'esm', sourcemap: true, outfile: 'dist/collector.js' }),
  build({ ...server, format: 'esm', sourcemap: true, outfile: 'dist/server.js' }),
  build({ ...mcp, format: 'esm', sourcemap: true, outfile: 'dist/mcp.js' }),
  build({ ...collector, format: 'cjs', outfile: 'dist/cjs/collector.js' }),
  build({ ...server, format: 'cjs', outfile: 'dist/cjs/server.js' }),
  build({ ...mcp, format: 'cjs', outfile: 'dist/cjs/mcp.js' }),
])
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '--project', 'tsconfig.types.json'], { stdio: 'inherit' })
cpSync('dist/types', 'dist/cjs/types', { recursive: true })
writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n')
