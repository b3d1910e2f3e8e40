/** A harness's callback endpoint on 127.0.0.1: answers as told and keeps everything it was sent. */
import http from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: Buffer
  readonly response: http.ServerResponse
}

export interface Receiver {
  readonly url: string
  readonly got: Received[]
  /** Resolves when so many requests have come. */
  count(number: number): Promise<void>
}

export type Reply = (response: http.ServerResponse, received: Received) => void

export const status =
  (code: number, headers: http.OutgoingHttpHeaders = {}, body = ''): Reply =>
  (response) =>
    void response.writeHead(code, headers).end(body)

/** `replies` in turn, the last one for ever. */
export async function startReceiver(t: TestContext, ...replies: Reply[]): Promise<Receiver> {
  const got: Received[] = []
  const lookers = new Set<() => void>()
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const received = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks),
      response,
    }
    got.push(received)
    replies[Math.min(got.length, replies.length) - 1]?.(response, received)
    for (const look of lookers) look()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    got,
    count: (number) =>
      new Promise((resolve) => {
        const look = () => {
          if (got.length < number) return
          lookers.delete(look)
          resolve()
        }
        lookers.add(look)
        look()
      }),
  }
}
