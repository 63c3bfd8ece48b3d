import { randomBytes, randomUUID } from 'node:crypto'
import { refuseUnknown } from '../options.js'
import type { components, operations } from './contract.js'
import { ProtocolError } from './errors.js'
import { Transport, type CallOptions, type Parts, type TransportOptions } from './http.js'
import { OPERATIONS, type Operation } from './operations.js'
import { follow, type ServiceEvent } from './stream.js'

export type OperationId = keyof typeof OPERATIONS & keyof operations

type Params<Op extends OperationId> = operations[Op]['parameters']
type Present<T> = T extends undefined | never ? never : T
type PathOf<Op extends OperationId> = Params<Op> extends { path: infer P } ? { path: P } : { path?: never }
type QueryOf<Op extends OperationId> = Params<Op> extends { query: infer Q } ? { query: Q } : Params<Op> extends { query?: infer Q } ? { query?: Q } : { query?: never }
type BodyOf<Op extends OperationId> = operations[Op] extends { requestBody: { content: { 'application/json': infer B } } }
  ? { body: B }
  : operations[Op] extends { requestBody?: { content: { 'application/json': infer B } } } ? { body?: Present<B> } : { body?: never }

/** The input of an operation: path, query and body of the contract. */
export type Input<Op extends OperationId> = PathOf<Op> & QueryOf<Op> & BodyOf<Op>

type Content<R> = R extends { content: { 'application/json': infer T } } ? T : undefined

/** The response body of an operation. */
export type Output<Op extends OperationId> = Op extends 'authorize' ? AuthorizeResponse : { [S in keyof operations[Op]['responses']]: Content<operations[Op]['responses'][S]> }[keyof operations[Op]['responses']]

type Method<Op extends OperationId> = object extends Input<Op>
  ? (input?: Input<Op>, call?: CallOptions) => Promise<Output<Op>>
  : (input: Input<Op>, call?: CallOptions) => Promise<Output<Op>>

/** Every operation of the contract under its own name. */
export type Operations = { [Op in Exclude<OperationId, 'streamEvents' | 'authorize'>]: Method<Op> }

export type AuthorizeRequest = components['schemas']['AuthorizeRequest']
type Flat = components['schemas']['AuthorizeResponse']
type Decided<D extends Flat['decision'], M extends Flat['mode']> = Omit<Flat, 'decision' | 'mode' | 'challenge' | 'proof' | 'proof_id'> & { decision: D; mode: M }
interface Unproven { proof?: null; proof_id?: null }
interface NoStepUp { challenge?: null }

/** A decision. An allow in mode enforce has its proof, and a challenge has its step-up unless the mode is shadow. */
export type AuthorizeResponse =
  | (Decided<'allow', 'enforce'> & NoStepUp & { proof: string; proof_id: string })
  | (Decided<'allow', 'test' | 'shadow'> & NoStepUp & Unproven)
  | (Decided<'challenge', 'test' | 'enforce'> & Unproven & { challenge: components['schemas']['ChallengeDescriptor'] })
  | (Decided<'challenge', 'shadow'> & NoStepUp & Unproven)
  | (Decided<'hold' | 'deny', Flat['mode']> & NoStepUp & Unproven)

type Own = 'requested_at' | 'nonce' | 'idempotency_key'

/** An authorize request; the time, the nonce and the idempotency key are generated if they are omitted. */
export type Ask = Omit<AuthorizeRequest, Own> & Partial<Pick<AuthorizeRequest, Own>>

type ListOp = { [Op in OperationId]: Output<Op> extends readonly unknown[] ? Op : never }[OperationId]
type Item<Op extends ListOp> = Output<Op> extends readonly (infer T)[] ? T : never

export interface Countersign extends Operations {}

/** Client of the service for a relying party's backend. */
export class Countersign {
  private readonly transport: Transport

  constructor(options: TransportOptions) {
    this.transport = new Transport(options)
    const methods: Record<string, unknown> = {}
    for (const id of Object.keys(OPERATIONS) as OperationId[]) {
      if (id === 'streamEvents' || id === 'authorize') continue
      methods[id] = (input: Parts = {}, call?: CallOptions) => this.call(OPERATIONS[id], input, call)
    }
    Object.assign(this, methods)
  }

  /** Returns 32 secret bytes for a purpose of yours. Every process with this API key derives the same, and from it no one learns the key. */
  deriveKey(purpose: string): Uint8Array {
    return this.transport.deriveKey(purpose)
  }

  /** Requests a decision. Retries use the same idempotency key, so there is one decision. */
  async authorize(ask: Ask, call?: CallOptions): Promise<AuthorizeResponse> {
    return (await this.call(OPERATIONS.authorize, { body: complete(ask) }, call)) as AuthorizeResponse
  }

  /** Iterates over every entry of a list, page by page. */
  async *each<Op extends ListOp>(op: Op, input?: Input<Op>, call?: CallOptions): AsyncGenerator<Item<Op>, void, undefined> {
    if (!lists(op)) throw new TypeError(`the contract has no list operation ${op}`) // what it has and is no list would be carried out
    let parts: Parts = { ...(input as Parts | undefined) }
    for (;;) {
      const result = await this.transport.send(OPERATIONS[op], parts, call)
      yield* result.value as Item<Op>[]
      const cursor = nextCursor(result.headers.get('Link'))
      if (!cursor) return
      if (cursor === parts.query?.['cursor']) throw new ProtocolError(200, `${OPERATIONS[op].path}: the link to the next page repeats this page's cursor`)
      parts = { ...parts, query: { ...parts.query, cursor } }
    }
  }

  /** Iterates over events as they happen, without end. A lost connection is reopened after the last event. */
  events(input?: Input<'streamEvents'> & { lastEventId?: string; signal?: AbortSignal }): AsyncGenerator<ServiceEvent, void, undefined> {
    refuseUnknown('events', input, ['query', 'lastEventId', 'signal'])
    return follow(this.transport, OPERATIONS.streamEvents, input ?? {})
  }

  private async call(op: Operation, input: Parts, call?: CallOptions): Promise<unknown> {
    return (await this.transport.send(op, input, call)).value
  }
}

/** Fills in the omitted fields of an authorize request. Store the result if you may have to repeat the request. */
export function complete(ask: Ask): AuthorizeRequest {
  return {
    requested_at: Math.floor(Date.now() / 1000), nonce: randomBytes(18).toString('base64url'), idempotency_key: randomUUID(), ...ask,
  } as AuthorizeRequest
}

function lists(op: string): boolean {
  const operation: Operation | undefined = Object.hasOwn(OPERATIONS, op) ? OPERATIONS[op as OperationId] : undefined
  return operation?.method === 'GET' && operation.responses[200]?.type === 'array'
}

function nextCursor(link: string | null): string | null {
  const target = /<([^>]*)>\s*;[^,]*\brel="?next"?/.exec(link ?? '')?.[1]
  if (!target) return null
  try {
    return new URL(target, 'http://any').searchParams.get('cursor')
  } catch (cause) {
    throw new ProtocolError(200, 'the link to the next page is not a URL', { cause })
  }
}
