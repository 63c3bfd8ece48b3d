// Builds the package before npm packs it, so that npm pack in a fresh clone contains everything.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

// npm prints its result to stdout, which must stay valid JSON for npm pack --json.
const run = (command, args) => execFileSync(command, args, { stdio: ['ignore', 2, 2] })
if (!existsSync('node_modules/esbuild')) run('npm', ['ci', '--ignore-scripts', '--silent'])
run(process.execPath, ['scripts/build.mjs'])
