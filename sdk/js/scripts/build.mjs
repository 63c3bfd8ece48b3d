// Builds the published files: the collector as one file without imports, and the server part with jose as an external import.
import { build } from 'esbuild'

const common = { bundle: true, format: 'esm', target: 'es2022', sourcemap: true, logLevel: 'warning', legalComments: 'none' }
await build({ ...common, entryPoints: ['src/collector/index.ts'], outfile: 'dist/collector.js', platform: 'browser', minify: true })
await build({ ...common, entryPoints: ['src/server/index.ts'], outfile: 'dist/server.js', platform: 'node', external: ['jose'] })
