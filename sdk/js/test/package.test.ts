import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { after, before, test } from 'node:test'

const folder = mkdtempSync(tmpdir() + '/countersign-package-')
const clone = folder + '/clone'
let tarball = ''
let files: string[] = []

/** Packs a copy of the sources without dist, as in a fresh clone. Only node_modules is shared, to save its download. */
before(() => {
  cpSync('.', clone, { recursive: true, filter: (path) => !/^(node_modules|dist|\.build)\b/.test(path) })
  symlinkSync(process.cwd() + '/node_modules', clone + '/node_modules')
  const [packed] = JSON.parse(npm(['pack', '--json', '--silent', '--pack-destination', folder], clone)) as [{ filename: string; files: { path: string }[] }]
  tarball = `${folder}/${packed.filename}`
  files = packed.files.map((f) => f.path)
})
after(() => rmSync(folder, { recursive: true, force: true }))

function npm(args: string[], cwd: string): string {
  return execFileSync('npm', args, { cwd, encoding: 'utf8' })
}

/** Installs the package into a new project, with the packages of node_modules that a consumer needs. */
function project(name: string, packages: string[]): string {
  const dir = `${folder}/${name}`
  mkdirSync(dir + '/node_modules/@countersign/sdk', { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', dir + '/node_modules/@countersign/sdk', '--strip-components=1'])
  writeFileSync(dir + '/package.json', '{}')
  for (const p of packages) {
    symlinkSync(`${process.cwd()}/node_modules/${p}`, `${dir}/node_modules/${p}`)
  }
  return dir
}

function run(command: string, args: string[], cwd: string): string {
  const done = spawnSync(command, args, { cwd, encoding: 'utf8' })
  return done.status === 0 ? 'ok ' + done.stdout : `exit code ${done.status}: ${done.stdout}${done.stderr}`
}

test('npm pack in a fresh clone contains the whole package', () => {
  for (const f of ['README.md', 'package.json', 'server/package.json', 'dist/collector.js', 'dist/server.js', 'dist/types/collector/index.d.ts',
    'dist/types/server/index.d.ts', 'dist/cjs/package.json', 'dist/cjs/collector.js', 'dist/cjs/server.js', 'dist/cjs/types/server/index.d.ts']) {
    assert.ok(files.includes(f), f + ' is missing')
  }
  assert.deepEqual(files.filter((f) => !/^(dist|server|mcp)\/|^README\.md$|^LICENSE$|^package\.json$/.test(f)), [])
})

test('arethetypeswrong finds nothing in any way to import', () => {
  assert.match(run('node_modules/.bin/attw', [tarball, '--format', 'ascii', '--no-emoji'], '.'), /^ok .*No problems found/s)
})

test('publint finds nothing', () => {
  assert.match(run('node_modules/.bin/publint', ['run', tarball, '--strict'], '.'), /^ok .*All good/s)
})

const PROGRAM = `
import { Countersign, actionHash } from '@countersign/sdk/server'
import { createCollector } from '@countersign/sdk'
const client: Countersign = new Countersign({ baseURL: 'https://countersign.example', apiKey: 'sk_test_x' })
console.log(typeof client.getMeta, typeof actionHash, typeof createCollector)
`
for (const [module, moduleResolution] of [['commonjs', 'node10'], ['node16', 'node16'], ['es2022', 'bundler']] as const) {
  test(`a TypeScript project with module ${module} and moduleResolution ${moduleResolution} compiles`, () => {
    const dir = project(`typescript-${module}`, ['@types', 'undici-types', 'typescript', 'jose'])
    const compilerOptions = { module, moduleResolution, target: 'es2022', lib: ['es2022', 'dom'], types: ['node'], strict: true, outDir: 'out' }
    writeFileSync(dir + '/program.ts', PROGRAM)
    writeFileSync(dir + '/tsconfig.json', JSON.stringify({ compilerOptions, files: ['program.ts'] }))
    assert.equal(run(process.cwd() + '/node_modules/.bin/tsc', ['--project', dir], dir), 'ok ')
    if (module !== 'es2022') assert.match(run(process.execPath, ['out/program.js'], dir), /^ok function function function/)
  })
}

for (const [name, program] of Object.entries({
  'program.cjs': `const { verifyWebhook } = require('@countersign/sdk/server'); const { createCollector } = require('@countersign/sdk')
    console.log(typeof verifyWebhook, typeof createCollector)`,
  'program.mjs': `import { verifyWebhook } from '@countersign/sdk/server'; import { createCollector } from '@countersign/sdk'
    console.log(typeof verifyWebhook, typeof createCollector)`,
})) {
  test(`${name} runs in Node.js`, () => {
    const dir = project(name.replace('.', '-'), [])
    writeFileSync(`${dir}/${name}`, program)
    assert.match(run(process.execPath, [name], dir), /^ok function function/)
  })
}
