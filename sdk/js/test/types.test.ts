import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'

const options = { module: 'nodenext', target: 'es2022', strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true }

/** Compiles a program that uses the package with its published types. */
function compiles(name: string, code: string, more: object): string {
  const dir = '.build/consumer-' + name
  mkdirSync(dir, { recursive: true })
  writeFileSync(dir + '/program.mts', code)
  writeFileSync(dir + '/tsconfig.json', JSON.stringify({ compilerOptions: { ...options, ...more }, files: ['program.mts'] }))
  return spawnSync('node_modules/.bin/tsc', ['--project', dir], { encoding: 'utf8' }).stdout
}

test('the page example of the README compiles', () => {
  const code = /```ts\n([\s\S]*?)```/.exec(readFileSync('README.md', 'utf8'))![1]!
  assert.equal(compiles('page', code, { lib: ['es2022', 'dom'], types: [] }), '')
  assert.match(compiles('wrong', code.replace('baseURL:', 'baseUrl:'), { lib: ['es2022', 'dom'], types: [] }), /baseUrl/)
})

test('operations, request bodies and response bodies have types', () => {
  const code = `
    import { Countersign, decide, type Output } from '@countersign/sdk/server'
    const c = new Countersign({ baseURL: 'https://countersign.example', apiKey: 'sk_test_x' })
    const made: Output<'createAction'> = await c.createAction({ body: { key: 'a.b', name: 'A', consequence: 'B', allowed_audiences: ['c'] } })
    const risk: 'low' | 'elevated' | 'high' | 'critical' = made.risk_class
    await c.archiveAction({ path: { action_id: made.id } })
    await c.getMeta()
    for await (const s of c.each('listSubjects')) s.status satisfies 'active' | 'revoked'
    const d = await decide(c, { subject: 's', action: 'a.b', resource: { type: 't', id: 'i' }, audience: 'c' }, { riskClass: risk })
    if (d.source === 'service') d.response.proof satisfies string | null | undefined
    // @ts-expect-error a path parameter is missing
    await c.getAction({})
    // @ts-expect-error an unknown field
    await c.createSubject({ body: { name: 'x' } })
    // @ts-expect-error not a list
    c.each('getMeta')
  `
  assert.equal(compiles('server', code, { lib: ['es2022'], types: ['node'] }), '')
})

test('a narrowed decision has its proof or its step-up', () => {
  const code = `
    import { Countersign, decide, type AuthorizeResponse } from '@countersign/sdk/server'
    declare const r: AuthorizeResponse
    if (r.decision === 'allow' && r.mode === 'enforce') { r.proof satisfies string; r.proof_id satisfies string }
    // @ts-expect-error in mode test there is no proof
    if (r.decision === 'allow') r.proof satisfies string
    if (r.decision === 'challenge' && r.mode !== 'shadow') r.challenge.id satisfies string
    if (r.decision === 'hold') r.proof satisfies null | undefined
    const d = await decide({} as Countersign, {} as Parameters<typeof decide>[1], { riskClass: 'high' })
    if (d.source === 'service' && d.decision === 'allow' && d.mode === 'enforce') d.response.proof satisfies string
    if (d.source === 'service' && d.decision === 'challenge' && d.mode === 'enforce') d.response.challenge.methods satisfies string[]
  `
  assert.equal(compiles('decisions', code, { lib: ['es2022'], types: ['node'] }), '')
})

test('an event has the payload of its type', () => {
  const code = `
    import { verifyWebhook, Countersign, type WebhookEvent } from '@countersign/sdk/server'
    const event = verifyWebhook('', {}, '')
    switch (event.type) {
      case 'hold.approved': event.data.resolved_by satisfies string; event.display?.details[0]?.label satisfies string | undefined; break
      case 'challenge.requested': event.data.methods satisfies string[]; break
      // @ts-expect-error not a type of event
      case 'hold.forgotten': break
    }
    // @ts-expect-error the event is not narrowed
    event.data.child_authorization
    const expired = (e: WebhookEvent<'hold.opened'>) => e.data.due_at satisfies string
    for await (const e of ({} as Countersign).events()) if (e.type === 'hold.rejected') e.data.data.outcome
  `
  assert.equal(compiles('events', code, { lib: ['es2022'], types: ['node'] }), '')
})
