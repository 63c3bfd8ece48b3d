import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'

export interface Seen {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: any
}

/** Starts a service on a free port whose responses the test writes. */
export async function service(answer: (seen: Seen, response: ServerResponse, n: number) => void): Promise<{ baseURL: string; seen: Seen[] }> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => { text += chunk })
    request.on('end', () => {
      const one = { method: request.method!, url: request.url!, headers: request.headers, body: text ? JSON.parse(text) : undefined }
      seen.push(one)
      answer(one, response, seen.length)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => { server.closeAllConnections(); server.close() })
  return { baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

export function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'Content-Type': status >= 400 && status !== 422 ? 'application/problem+json' : 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

export const refuse = (response: ServerResponse, status: number, code: string, headers: Record<string, string> = {}): void =>
  json(response, status, { type: '/docs/errors#' + code, title: code, status, detail: 'Because.', code, request_id: 'req_1' }, { 'X-Request-Id': 'req_1', ...headers })
