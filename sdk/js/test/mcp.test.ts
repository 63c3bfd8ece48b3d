import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { CallToolResultSchema, ElicitRequestSchema, type CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { META_AUTHORIZATION, ToolGate } from '../src/mcp/index.js'
import { Countersign, ProofVerifier, isRateLimited, type components } from '../src/server/index.js'

// A running service, a replica whose clock is ahead, and keys of an admin and a reviewer. The service's own tests set them.
const { COUNTERSIGN_URL: url = '', COUNTERSIGN_AHEAD_URL: aheadURL = '', COUNTERSIGN_KEY: key = '', COUNTERSIGN_REVIEWER_KEY: reviewerKey = '' } = process.env
const live = { skip: url === '' && 'COUNTERSIGN_URL names no running service' }

type Requirements = components['schemas']['PolicyRequirements']
/** What a person does with the page of a challenge; the result is the action that their client responds with. */
type User = (bank: Bank, link: string, challenge: string) => Promise<'accept' | 'decline'>

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
  readonly service = new Countersign({ baseURL: url, apiKey: key, fetch: (at, init) => fetch(this.ahead ? String(at).replace(url, aheadURL) : at, init) })
  readonly reviewer = new Countersign({ baseURL: url, apiKey: reviewerKey })
  private action = ''
  private actionID = ''
  private verifier!: ProofVerifier

  static async open(requirements: Requirements): Promise<Bank> {
    const bank = new Bank()
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

  /** Connects the official client of a person. Without a user it opens no pages. */
  async client(name: string, user?: User): Promise<Client> {
    const server = new McpServer({ name: 'bank', version: '1' })
    const gate = new ToolGate({ countersign: this.service, verifier: this.verifier, server, audience: 'bank.example', waitMS: this.waitMS, pollMS: 20 })
    server.registerTool('transfer', { inputSchema: { payee: z.string(), amount: z.number(), memo: z.string().optional() } }, gate.tool('transfer', () => ({
      action: this.action, subject: this.people[name]!, agent: 'shopping-agent', resource: { type: 'account', id: 'acc-1' }, show: ['amount'],
    }), ({ amount }): CallToolResult => {
      this.ran++
      return { content: [{ type: 'text', text: `moved ${amount}` }] }
    }))
    const client = new Client({ name: 'agent', version: '1' }, { capabilities: user ? { elicitation: { url: {} } } : {} })
    if (user) {
      client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
        assert.equal(params.mode, 'url')
        if (params.mode !== 'url') throw new Error('unreachable')
        return { action: await user(this, params.url, params.elicitationId) }
      })
    }
    const [here, there] = InMemoryTransport.createLinkedPair()
    await Promise.all([server.connect(there), client.connect(here)])
    return client
  }

  async call(client: Client, args: Record<string, unknown> = { payee: 'eve', amount: 10 }, _meta?: Record<string, unknown>): Promise<CallToolResult> {
    return client.request({ method: 'tools/call', params: { name: 'transfer', arguments: args, ...(_meta ? { _meta } : {}) } }, CallToolResultSchema)
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

test('an allowed call runs on its proof', live, async () => {
  const bank = await Bank.open(allowing)
  assert.equal(text(await bank.call(await bank.client('alice'))), 'moved 10')
  const [decided] = await bank.service.listAuthorizations({ query: { subject: bank.people['alice']! } })
  assert.equal(decided?.proof?.status, 'consumed')
})

test('a confirmed call runs, and the person sees its arguments', live, async () => {
  const bank = await Bank.open(challenging)
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

test('a declined call does not run', live, async () => {
  const bank = await Bank.open(challenging)
  let opened = ''
  const client = await bank.client('alice', async (_, __, challenge) => {
    opened = challenge
    return 'decline'
  })
  refused(await bank.call(client), /declined/)
  assert.equal((await bank.service.getChallenge({ path: { challenge_id: opened } })).status, 'cancelled')
  assert.equal(bank.ran, 0)
})

test('an expired call does not run', live, async () => {
  const bank = await Bank.open(challenging)
  const client = await bank.client('alice', async (b) => {
    b.ahead = true
    return 'accept'
  })
  refused(await bank.call(client), /not approved in time/)
  assert.equal(bank.ran, 0)
})

test('a held call waits for its review', live, async () => {
  for (const [resolution, pattern] of [['approve', /^moved 10$/], ['reject', /not approved/]] as const) {
    const bank = await Bank.open(holding)
    const [result] = await Promise.all([bank.client('alice').then((c) => bank.call(c)), bank.review('alice', resolution)])
    assert.match(text(result), pattern)
    assert.equal(bank.ran, resolution === 'approve' ? 1 : 0)
  }
})

test('an approval is for one call of one person', live, async () => {
  const bank = await Bank.open(holding)
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
  const [id] = String(state[META_AUTHORIZATION]).split('~')
  refused(await bank.call(alice, undefined, { [META_AUTHORIZATION]: `${id}~0123456789abcdef` }), /proof_nonce_mismatch/)
  refused(await bank.call(alice, undefined, { [META_AUTHORIZATION]: 'azn_01jqx3k5v8e2sbyk0c4m7t9wzd~' }), /unknown/)
  assert.equal(bank.ran, 0)
  const results = await Promise.all([1, 2, 3].map(() => bank.call(alice, undefined, state)))
  assert.equal(results.filter((r) => text(r) === 'moved 10').length, 1)
  refused(await bank.call(alice, undefined, state), /used or has expired/)
  assert.equal(bank.ran, 1)
})

test('a call is refused', live, async () => {
  const denied = await Bank.open(denying)
  assert.equal((await denied.call(await denied.client('alice'))).isError, true)
  const plain = await Bank.open(challenging)
  refused(await plain.call(await plain.client('alice')), /mode url/)
  const unproven = await Bank.open(allowing)
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
  assert.match(r!.content[0]!.text, /could not be authorized now/)
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
  assert.match(r!.content[0]!.text, /too many requests/)
  assert.ok(errors.length === 1 && isRateLimited(errors[0]))
})
