import { setTimeout as sleep } from 'node:timers/promises'
import { isRateLimited, isUnavailable, CountersignError, ProblemError, ProtocolError } from './errors.js'
import type { Transport, Parts } from './http.js'
import type { Operation } from './operations.js'
import type { components } from './contract.js'
import type { EventData } from './events.js'
import type { EventType } from './webhooks.js'

type Entry = components['schemas']['ActivityEntry']

/**
 * One server-sent event. id is where to resume with lastEventId. Type resync: missed events cannot be sent; read the activity list.
 * Narrow it by its type, with a default branch: a later version of the service may send further types.
 */
export type ServiceEvent =
  | { [K in EventType]: { id: string; type: K; data: Omit<Entry, 'type' | 'data'> & { type: K; data: EventData[K] } } }[EventType]
  | { id: string; type: 'resync'; data: { reason: string } }

const SILENCE_MS = 30_000 // the service sends at least a comment every 15 s
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000

export async function* follow(
  transport: Transport, op: Operation, input: { query?: object; lastEventId?: string; signal?: AbortSignal },
): AsyncGenerator<ServiceEvent, void, undefined> {
  let last = input.lastEventId
  for (let failures = 0; !input.signal?.aborted; failures++) {
    const connection = new AbortController()
    const abort = (): void => connection.abort(input.signal?.reason)
    input.signal?.addEventListener('abort', abort, { once: true })
    let opened = false
    let wanted = 0
    try {
      const parts: Parts = { query: input.query as Record<string, unknown>, headers: last ? { 'Last-Event-ID': last } : {} }
      const response = await transport.open(op, parts, connection.signal)
      opened = true
      for await (const { id, event } of parse(response, connection)) {
        failures = 0
        last = id ?? last // also of a message without an event, such as the first one
        if (event) yield { id: last, ...event } as ServiceEvent
      }
    } catch (error) {
      if (input.signal?.aborted) return
      if (error instanceof CountersignError && (opened || !(isUnavailable(error) || isRateLimited(error)))) throw error
      if (error instanceof ProblemError || error instanceof ProtocolError) wanted = (error.retryAfter ?? 0) * 1000
    } finally {
      input.signal?.removeEventListener('abort', abort)
      connection.abort()
    }
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2)
    await sleep(Math.max(pause, wanted), undefined, input.signal ? { signal: input.signal } : {}).catch(() => undefined) // it was aborted
  }
}

/** A complete message of the stream. One without data has no event. */
interface Message {
  id?: string
  event?: { type: string; data: unknown }
}

async function* parse(response: Response, connection: AbortController): AsyncGenerator<Message, void, undefined> {
  const watch = (): NodeJS.Timeout => setTimeout(() => connection.abort(), SILENCE_MS)
  let silence = watch()
  let text = ''
  const decoder = new TextDecoder()
  try {
    const reader = response.body!.getReader()
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      clearTimeout(silence)
      silence = watch()
      text += decoder.decode(chunk.value, { stream: true })
      const blocks = text.split(/\r\n\r\n|\n\n|\r\r/)
      text = blocks.pop()!
      for (const block of blocks) yield read(block)
    }
  } finally {
    clearTimeout(silence)
  }
}

function read(block: string): Message {
  const message: Message = {}
  let type = 'message'
  const data: string[] = []
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, field, value = ''] = /^(\w+): ?(.*)$/s.exec(line) ?? []
    if (field === 'id') message.id = value
    else if (field === 'event') type = value
    else if (field === 'data') data.push(value)
  }
  if (data.length === 0) return message
  try {
    return { ...message, event: { type, data: JSON.parse(data.join('\n')) } }
  } catch {
    throw new ProtocolError(200, `the data of event ${message.id ?? type} is not JSON`) // a new connection would receive it again
  }
}
