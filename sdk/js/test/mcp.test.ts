import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { CallToolResultSchema, ElicitRequestSchema, type CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { Client as Client2, InMemoryTransport as InMemoryTransport2, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { McpServer as McpServer2, createMcpHandler } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { META_AUTHORIZATION, ToolGate, type ElicitingServer, type ToolContext, type ToolExtra } from '../src/mcp/index.js'
import { Countersign, ProofVerifier, digest, isRateLimited, type components } from '../src/server/index.js'

// A running service, a replica whose clock is ahead, and keys of an admin and a reviewer. The service's own tests set them.
const { COUNTERSIGN_URL: url = '', COUNTERSIGN_AHEAD_URL: aheadURL = '', COUNTERSIGN_KEY: key = '', COUNTERSIGN_REVIEWER_KEY: reviewerKey = '' } = process.env
const live = { skip: url === '' && 'COUNTERSIGN_URL names no running service' }

type Requirements = components['schemas']['PolicyRequirements']
/** What a person does with the page of a challenge; the result is the action that their client responds with. */
type User = (bank: Bank, link: string, challenge: string) => Promise<'accept' | 'decline'>

/** How a tool is served: by which MCP SDK, and for which revision of the protocol. */
type Serving = 'SDK 1.x' | 'SDK 2.x, 2025-11-25' | 'SDK 2.x, 2026-07-28'
const servings: Serving[] = ['SDK 1.x', 'SDK 2.x, 2025-11-25', 'SDK 2.x, 2026-07-28']

/** The official client of a person. */
interface Caller {
  call(args: Record<string, unknown>, meta?: Record<string, unknown>): Promise<CallToolResult>
}

const allowing: Requirements = { coverage_min: 'none' }
const challenging: Requirements = { coverage_min: 'none', explicit_approval_required: true }
const holding: Requirements = { insufficient_evidence: 'hold' }
const denying: Requirements = { insufficient_evidence: 'deny' }

const confirms: User = async (bank, _, challenge) => {
  await bank.service.completeChallenge({ path: { challenge_id: challenge }, body: { method: 'sandbox_confirm' } })
  return 'accept'
}

/** The service, an action that guards a tool, and people. */
class Bank {
  ran = 0
  waitMS = 60_000
  ahead = false
  people: Record<string, string> = {}
  serving: Serving = 'SDK 1.x'
  readonly service = new Countersign({ baseURL: url, apiKey: key, fetch: (at, init) => fetch(this.ahead ? String(at).replace(url, aheadURL) : at, init) })
  readonly reviewer = new Countersign({ baseURL: url, apiKey: reviewerKey })
  private action = ''
  private actionID = ''
  private verifier!: ProofVerifier

  static async open(requirements: Requirements, serving: Serving = 'SDK 1.x'): Promise<Bank> {
    const bank = new Bank()
    bank.serving = serving
    const me = await bank.service.getCredential()
    bank.verifier = new ProofVerifier({ baseURL: url, issuer: me.proof_issuer, environment: me.environment })
    const shown = (label: string, format: string): object => ({ label, format })
    const made = await bank.service.createAction({
      body: {
        key: 'mcp.t' + process.hrtime.bigint(), name: 'Send a transfer', consequence: 'Money leaves.', resource_type: 'account',
        allowed_audiences: ['bank.example'], risk_class: 'high', proof_ttl_seconds: 300,
        context_schema: {
          type: 'object', required: ['agent', 'tool', 'arguments_digest'], properties: {
            agent: { type: 'string', 'x-countersign-display': shown('Agent', 'text') },
            arguments: { type: 'object', properties: { amount: { type: 'number', 'x-countersign-display': shown('Amount', 'number') } } },
          },
        },
      },
    })
    bank.action = made.key
    bank.actionID = made.id
    const version = await bank.service.createPolicyVersion({ path: { action_id: made.id }, body: { requirements } })
    await bank.service.activatePolicyVersion({ path: { action_id: made.id, version: version.version } })
    await bank.mode('enforce')
    for (const name of ['alice', 'bob']) bank.people[name] = (await bank.service.createSubject({ body: {} })).id
    return bank
  }

  async mode(mode: 'test' | 'shadow' | 'enforce'): Promise<void> {
    await this.service.updateAction({ path: { action_id: this.actionID }, body: { mode } })
  }

  /** Adds the guarded tool to a server of either SDK. */
  private guard<S extends ElicitingServer & { registerTool: (...args: any[]) => unknown }>(server: S, name: string): S {
    const gate = new ToolGate({ countersign: this.service, verifier: this.verifier, server, audience: 'bank.example', waitMS: this.waitMS, pollMS: 20 })
    const inputSchema = z.object({ payee: z.string(), amount: z.number(), memo: z.string().optional() })
    server.registerTool('transfer', { inputSchema }, gate.tool('transfer', () => ({
      action: this.action, subject: this.people[name]!, agent: 'shopping-agent', resource: { type: 'account', id: 'acc-1' }, show: ['amount'],
    }), ({ amount }: { amount: number }, _: ToolExtra | ToolContext): CallToolResult => {
      this.ran++
      return { content: [{ type: 'text', text: `moved ${amount}` }] }
    }))
    return server
  }

  /** Connects the official client of a person. Without a user it opens no pages. */
  async client(name: string, user?: User): Promise<Caller> {
    const elicited = async (params: { mode?: string | undefined; url?: string }): Promise<{ action: 'accept' | 'decline' }> => {
      assert.equal(params.mode, 'url')
      return { action: await user!(this, params.url!, new URL(params.url!).pathname.split('/').pop()!) }
    }
    const capabilities = user ? { elicitation: { url: {} } } : {}
    if (this.serving === 'SDK 1.x') {
      const client = new Client({ name: 'agent', version: '1' }, { capabilities })
      if (user) client.setRequestHandler(ElicitRequestSchema, ({ params }) => elicited(params))
      const [here, there] = InMemoryTransport.createLinkedPair()
      await Promise.all([this.guard(new McpServer({ name: 'bank', version: '1' }), name).connect(there), client.connect(here)])
      return { call: (args, _meta) => client.request({ method: 'tools/call', params: { name: 'transfer', arguments: args, ...(_meta ? { _meta } : {}) } }, CallToolResultSchema) }
    }
    const latest = this.serving === 'SDK 2.x, 2026-07-28'
    const client = new Client2({ name: 'agent', version: '1' }, { capabilities, ...(latest ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {}) })
    if (user) client.setRequestHandler('elicitation/create', ({ params }) => elicited(params))
    const made = (): McpServer2 => this.guard(new McpServer2({ name: 'bank', version: '1' }), name)
    if (latest) {
      const { fetch } = createMcpHandler(made)
      await client.connect(new StreamableHTTPClientTransport(new URL('http://bank.invalid/mcp'), { fetch: (at, init) => fetch(new Request(at, init)) }))
    } else {
      const [here, there] = InMemoryTransport2.createLinkedPair()
      await Promise.all([made().connect(there), client.connect(here)])
    }
    return { call: async (args, _meta) => (await client.callTool({ name: 'transfer', arguments: args, ...(_meta ? { _meta } : {}) })) as CallToolResult }
  }

  async call(client: Caller, args: Record<string, unknown> = { payee: 'eve', amount: 10 }, meta?: Record<string, unknown>): Promise<CallToolResult> {
    return client.call(args, meta)
  }

  /** Reviews the first hold of a person as soon as there is one. */
  async review(name: string, resolution: 'approve' | 'reject'): Promise<void> {
    for (;;) {
      const [held] = await this.reviewer.listReviews({ query: { subject: this.people[name]! } })
      if (held) {
        await this.reviewer.reviewAuthorization({ path: { authorization_id: held.authorization }, body: { resolution } })
        return
      }
    }
  }
}

const text = (r: CallToolResult): string => (r.content[0]?.type === 'text' ? r.content[0].text : '')

/** Requires that the call was refused with this text, and that the agent does not see the person's link. */
function refused(r: CallToolResult, pattern: RegExp): void {
  assert.equal(r.isError, true, text(r))
  assert.match(text(r), pattern)
  assert.doesNotMatch(JSON.stringify(r), /\/challenge\//)
}

/** A test for each way of serving a tool. */
function every(name: string, run: (serving: Serving) => Promise<void>): void {
  for (const serving of servings) test(`${name} (${serving})`, live, () => run(serving))
}

every('an allowed call runs on its proof', async (serving) => {
  const bank = await Bank.open(allowing, serving)
  assert.equal(text(await bank.call(await bank.client('alice'))), 'moved 10')
  const [decided] = await bank.service.listAuthorizations({ query: { subject: bank.people['alice']! } })
  assert.equal(decided?.proof?.status, 'consumed')
})

every('a confirmed call runs, and the person sees its arguments', async (serving) => {
  const bank = await Bank.open(challenging, serving)
  let details: unknown
  const client = await bank.client('alice', async (b, link, challenge) => {
    assert.ok(link.includes(`/challenge/${challenge}#`))
    assert.equal(b.ran, 0)
    details = (await b.service.getChallenge({ path: { challenge_id: challenge } })).display.details
    return confirms(b, link, challenge)
  })
  assert.equal(text(await bank.call(client)), 'moved 10')
  assert.equal(bank.ran, 1)
  assert.match(JSON.stringify(details), /"Amount","value":"10"/)
})

every('a declined call does not run', async (serving) => {
  const bank = await Bank.open(challenging, serving)
  let opened = ''
  const client = await bank.client('alice', async (_, __, challenge) => {
    opened = challenge
    return 'decline'
  })
  refused(await bank.call(client), /declined/)
  assert.equal((await bank.service.getChallenge({ path: { challenge_id: opened } })).status, 'cancelled')
  assert.equal(bank.ran, 0)
})

every('an expired call does not run', async (serving) => {
  const bank = await Bank.open(challenging, serving)
  const client = await bank.client('alice', async (b) => {
    b.ahead = true
    return 'accept'
  })
  refused(await bank.call(client), /not approved in time/)
  assert.equal(bank.ran, 0)
})

every('a held call waits for its review', async (serving) => {
  for (const [resolution, pattern] of [['approve', /^moved 10$/], ['reject', /not approved/]] as const) {
    const bank = await Bank.open(holding, serving)
    const [result] = await Promise.all([bank.client('alice').then((c) => bank.call(c)), bank.review('alice', resolution)])
    assert.match(text(result), pattern)
    assert.equal(bank.ran, resolution === 'approve' ? 1 : 0)
  }
})

every('an approval is for one call of one person', async (serving) => {
  const bank = await Bank.open(holding, serving)
  bank.waitMS = 0
  const alice = await bank.client('alice')
  const held = await bank.call(alice)
  refused(held, /waits for approval/)
  const state = { [META_AUTHORIZATION]: held._meta?.[META_AUTHORIZATION] }
  await bank.review('alice', 'approve')
  for (const args of [{ payee: 'eve', amount: 11 }, { payee: 'mallory', amount: 10 }, { payee: 'eve', amount: 10, memo: 'x' }]) {
    refused(await bank.call(alice, args, state), /different call/)
  }
  refused(await bank.call(await bank.client('bob'), undefined, state), /different call/)
  const sealed = String(state[META_AUTHORIZATION])
  const [payload = '', mac = ''] = sealed.split('.')
  const bare = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { a: string }
  const forged = Buffer.from(JSON.stringify({ ...bare, n: '0123456789abcdef' })).toString('base64url')
  for (const state of [bare.a, payload, `${forged}.${mac}`, `${payload}.${mac}.`, `${payload}.`, '.', 'null.' + mac]) {
    refused(await bank.call(alice, undefined, { [META_AUTHORIZATION]: state }), /different call, or has expired/)
  }
  assert.equal(bank.ran, 0)
  const results = await Promise.all([1, 2, 3].map(() => bank.call(alice, undefined, state)))
  assert.equal(results.filter((r) => text(r) === 'moved 10').length, 1)
  refused(await bank.call(alice, undefined, state), /used or has expired/)
  assert.equal(bank.ran, 1)
})

every('a call is refused', async (serving) => {
  const denied = await Bank.open(denying, serving)
  assert.equal((await denied.call(await denied.client('alice'))).isError, true)
  const plain = await Bank.open(challenging, serving)
  refused(await plain.call(await plain.client('alice')), /mode url/)
  const unproven = await Bank.open(allowing, serving)
  await unproven.mode('test')
  refused(await unproven.call(await unproven.client('alice')), /mode to enforce/)
  assert.equal(denied.ran + plain.ran + unproven.ran, 0)
  await unproven.mode('shadow')
  assert.equal(text(await unproven.call(await unproven.client('alice'))), 'moved 10')
})

test('a call without a decision is refused', async () => {
  const countersign = new Countersign({ baseURL: 'http://127.0.0.1:9', apiKey: 'sk_test_x', retries: 0 })
  const verifier = new ProofVerifier({ baseURL: 'http://127.0.0.1:9', issuer: 'i', environment: 'e' })
  const gate = new ToolGate({ countersign, verifier, server: new McpServer({ name: 'bank', version: '1' }), audience: 'a' })
  const call = { action: 'a', subject: 's', agent: 'g', resource: { type: 't', id: '1' } }
  const r = await gate.check('transfer', {}, call, { requestId: 1, signal: new AbortController().signal })
  assert.match(text(r as CallToolResult), /could not be authorized now/)
})

test('a call that a rate limit refuses does not run, and may be repeated', async () => {
  const limited = { type: '/docs/errors#rate_limited', title: 'x', status: 429, detail: 'x', code: 'rate_limited', request_id: 'r' }
  const countersign = new Countersign({
    baseURL: 'http://127.0.0.1:9', apiKey: 'sk_test_x', retries: 0,
    fetch: async () => new Response(JSON.stringify(limited), { status: 429, headers: { 'Content-Type': 'application/problem+json' } }),
  })
  const verifier = new ProofVerifier({ baseURL: 'http://127.0.0.1:9', issuer: 'i', environment: 'e' })
  const errors: unknown[] = []
  const gate = new ToolGate({ countersign, verifier, server: new McpServer({ name: 'bank', version: '1' }), audience: 'a', onError: (e) => errors.push(e) })
  const call = { action: 'a', subject: 's', agent: 'g', resource: { type: 't', id: '1' } }
  const r = await gate.check('transfer', {}, call, { requestId: 1, signal: new AbortController().signal })
  assert.match(text(r as CallToolResult), /too many requests/)
  assert.ok(errors.length === 1 && isRateLimited(errors[0]))
})

/** A gate whose service lets every call run, and records the context that it authorized. */
function permitting(): { gate: ToolGate; server: McpServer; authorized: () => Record<string, any> } {
  let context: Record<string, any> = {}
  const countersign = { deriveKey: () => new Uint8Array(32), authorize: async (ask: { context: Record<string, any> }) => {
    context = JSON.parse(JSON.stringify(ask.context))
    return { mode: 'shadow', decision: 'allow' }
  } } as unknown as Countersign
  const verifier = new ProofVerifier({ baseURL: 'http://127.0.0.1:9', issuer: 'i', environment: 'e' })
  const server = new McpServer({ name: 'bank', version: '1' })
  return { gate: new ToolGate({ countersign, verifier, server, audience: 'a' }), server, authorized: () => context }
}

const described = { action: 'a', subject: 's', agent: 'g', resource: { type: 't', id: '1' }, show: ['amount', 'destination', 'toString'] }
const extra = { requestId: 1, signal: new AbortController().signal }

test('the authorized arguments are those that run', async () => {
  const { gate, authorized } = permitting()
  const schema = z.looseObject({ amount: z.number().default(5000), destination: z.string().default('eve') })
  let ran: Record<string, unknown> | undefined
  const tool = gate.tool('transfer', (args: Record<string, unknown>) => {
    args['amount'] = 1
    return described
  }, (args: Record<string, unknown>) => { ran = args })
  let seed = 1
  const random = (n: number): number => (seed = (seed * 48271) % 2147483647) % n
  const one = <T>(...of: T[]): T => of[random(of.length)]!
  const names = ['amount', 'destination', 'Amount', 'memo', '__proto__', 'constructor', 'toJSON', 'de\u017ftination', '', '\u{1f600}', '\ufb33']
  const value = (depth: number): unknown => one<() => unknown>(
    () => one(0, -0, 1.5, 1e21, 5e-324, NaN, Infinity, 2 ** 53), () => one('', 'eve', 'e\u0301', '\ud800', '\u2028'), () => one(true, null, undefined),
    () => one<unknown>(new Date(0), new Map([[1, 2]]), 10n, { toJSON: () => ({ amount: 1 }) }, { get amount() { return random(9) } }, [, 1], [undefined], Object.create({ amount: 1 })),
    () => (depth > 3 ? 1 : object(depth + 1)), () => (depth > 3 ? [] : Array.from({ length: random(3) }, () => value(depth + 1))),
  )()
  const object = (depth: number): Record<string, unknown> => {
    const out: Record<string, unknown> = {}
    for (let n = random(4); n > 0; n--) {
      Object.defineProperty(out, one(...names), { value: random(3) ? one<unknown>('eve', 1, 2.5, true) : value(depth), enumerable: true, configurable: true, writable: true })
    }
    return out
  }
  let runs = 0
  for (let i = 0; i < 10_000; i++) {
    const parsed = schema.safeParse(object(0))
    if (!parsed.success) continue
    ran = undefined
    const result = await tool(parsed.data, extra)
    assert.equal(result === undefined, ran !== undefined)
    if (!ran) continue
    runs++
    assert.equal(digest(ran), authorized()['arguments_digest'])
    assert.deepEqual(authorized()['arguments'], { amount: ran['amount'], destination: ran['destination'] })
  }
  assert.ok(runs > 1000, String(runs))
})

test('arguments that JSON changes or that have two meanings are refused', async () => {
  for (const [name, args] of Object.entries<Record<string, unknown>>({
    'a getter': { get amount() { return 1 } }, 'a date': { at: new Date() }, 'toJSON': { toJSON: () => ({}) }, 'a class': new (class { amount = 1 })() as never,
    'a polluted prototype': Object.create({ amount: 9999 }), 'a member __proto__': JSON.parse('{"__proto__": {"amount": 9999}}'), 'a nested one': { a: JSON.parse('[{"__proto__": 1}]') },
    'two spellings': { amount: 1, AMOUNT: 9999 }, 'not a number': { amount: NaN }, 'a hole': { list: [1, , 2] }, 'a bigint': { amount: 1n }, 'a symbol': { [Symbol('a')]: 1 },
    'half a surrogate pair': { memo: '\ud800' }, 'a map': { amount: new Map() },
  })) {
    const { gate, authorized } = permitting()
    const tool = gate.tool('transfer', () => described, () => assert.fail('it ran'))
    const result = await tool(args, extra)
    assert.ok(result.isError, name)
    assert.ok((await gate.check('transfer', args, described, extra))?.isError, name)
    assert.deepEqual(authorized(), {}, name)
  }
})

test('arguments of another realm are plain, and with a changed Object.prototype no call runs', async () => {
  const { gate, authorized } = permitting()
  const tool = gate.tool('transfer', () => described, (args: Record<string, unknown>) => args)
  assert.deepEqual(await tool(runInNewContext('({ amount: 1, list: [{}] })'), extra), { amount: 1, list: [{}] })
  assert.equal(authorized()['arguments'].amount, 1)
  Object.defineProperty(Object.prototype, 'amount', { value: 9999, enumerable: true, configurable: true })
  try {
    assert.ok((await tool({}, extra) as { isError?: boolean }).isError)
  } finally {
    delete (Object.prototype as { amount?: number }).amount
  }
})

test('a tool without an input schema receives its one argument', async () => {
  const { gate, server, authorized } = permitting()
  const received: unknown[][] = []
  const done = (...all: unknown[]): CallToolResult => {
    received.push(all)
    return { content: [{ type: 'text', text: 'done' }] }
  }
  server.registerTool('ping', {}, gate.tool('ping', () => described, (extra) => done(extra)))
  server.registerTool('pong', {}, gate.tool('pong', () => described, () => done()))
  const client = new Client({ name: 'agent', version: '1' })
  const [here, there] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(there), client.connect(here)])
  for (const name of ['ping', 'pong']) {
    assert.equal(text(await client.callTool({ name, arguments: { ignored: 1 } }) as CallToolResult), 'done')
    assert.equal(authorized()['arguments_digest'], digest({}))
  }
  assert.ok((received[0]![0] as { signal: unknown }).signal instanceof AbortSignal)
  assert.equal(received.length, 2)
})
