/** A small HTTP server on loopback: bodies are read whole and bounded. What it answers is `routes.ts`'s business. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Incoming {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** As they came: a signature is over bytes. */
  readonly body: Buffer
}

/** Or what keeps the connection open, given the way to write to it and to know of its end. */
export type Answer = Response | ((response: ServerResponse) => void)

const MAX_BODY_BYTES = 16_000_000
const ALWAYS = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer', 'cache-control': 'no-cache' }

/** @param port 0: any free one. Rejects where the port is taken. `url` is such as `http://127.0.0.1:40123`. */
export async function listen(port: number, handle: (incoming: Incoming) => Promise<Answer>) {
  const server = createServer((request, response) => {
    void serve(request, handle)
      // The caller went away in the middle of its body.
      .catch(() => wrong(500, 'the server failed'))
      .then((answer) => send(response, answer))
  })
  await once(server.listen(port, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close(): Promise<void> {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function serve(request: IncomingMessage, handle: (incoming: Incoming) => Promise<Answer>): Promise<Answer> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length
    if (size <= MAX_BODY_BYTES) pieces.push(piece)
  }
  if (size > MAX_BODY_BYTES) return wrong(413, 'too large')
  const { method = 'GET', url = '/', headers } = request
  return handle({ method, path: url.split('?')[0] ?? '/', headers, body: Buffer.concat(pieces) })
}

async function send(response: ServerResponse, answer: Answer): Promise<void> {
  if (typeof answer === 'function') return answer(response)
  const body = Buffer.from(await answer.arrayBuffer())
  response.setHeaders(new Headers([...Object.entries(ALWAYS), ...answer.headers]))
  response.writeHead(answer.status).end(body)
}

/** An answer that says why not. */
export function wrong(status: number, error: string): Response {
  return Response.json({ error }, { status })
}
