/** A small HTTP server on loopback that takes POSTs and answers JSON: what the shop's two endpoints are made of. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { DemoFailure } from './failure.ts'

export interface Incoming {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** As they came: a signature is over bytes, not over JSON. */
  readonly body: Buffer
}

export interface Answer {
  readonly status: number
  readonly body: unknown
}

export interface LocalServer {
  /** Such as `http://127.0.0.1:40123`. */
  readonly url: string
  close(): Promise<void>
}

const MAX_BODY_BYTES = 10_000_000

/** A handler that throws is answered 500, so that the engine tries again or says so. */
export async function serve(handle: (incoming: Incoming) => Answer): Promise<LocalServer> {
  const server = createServer((request, response) => {
    readBody(request).then(
      (body) => {
        if (request.method !== 'POST') send(response, { status: 405, body: { error: 'only POST' } })
        else if (body === null) send(response, { status: 413, body: { error: 'too large' } })
        else send(response, answerOf(handle, { path: request.url ?? '/', headers: request.headers, body }))
      },
      // The caller went away in the middle of its body.
      () => response.destroy(),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new DemoFailure('a local server has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length
    if (size <= MAX_BODY_BYTES) pieces.push(piece)
  }
  return size > MAX_BODY_BYTES ? null : Buffer.concat(pieces)
}

function answerOf(handle: (incoming: Incoming) => Answer, incoming: Incoming): Answer {
  try {
    return handle(incoming)
  } catch {
    return { status: 500, body: { error: 'the endpoint failed' } }
  }
}

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
