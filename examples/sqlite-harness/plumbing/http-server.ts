/** A small HTTP server on loopback: bodies are read whole and bounded, answers are values. What it answers is `routes.ts`'s business. */
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

export type Answer =
  | { readonly status: number; readonly json: unknown }
  | {
      readonly status: number
      readonly content: Buffer | string
      /** `content-type` among them. */
      readonly headers: Readonly<Record<string, string>>
    }
  /** The connection stays open for what comes; `opened` is given the way to write and to know of the end. */
  | { readonly opened: (response: ServerResponse) => void }

export interface LocalServer {
  /** Such as `http://127.0.0.1:40123`. */
  readonly url: string
  close(): Promise<void>
}

const MAX_BODY_BYTES = 16_000_000
const ALWAYS = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer', 'cache-control': 'no-cache' }

/** @param port 0: any free one. Rejects where the port is taken. */
export async function listen(port: number, handle: (incoming: Incoming) => Promise<Answer>): Promise<LocalServer> {
  const server = createServer((request, response) => {
    void serve(request, handle)
      // The caller went away in the middle of its body, or the handler has a defect: the engine tries again.
      .catch((): Answer => ({ status: 500, json: { error: 'the server failed' } }))
      .then((answer) => send(response, answer))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function serve(request: IncomingMessage, handle: (incoming: Incoming) => Promise<Answer>): Promise<Answer> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length
    if (size <= MAX_BODY_BYTES) pieces.push(piece)
  }
  if (size > MAX_BODY_BYTES) return { status: 413, json: { error: 'too large' } }
  const [path = '/'] = (request.url ?? '/').split('?')
  const { method = 'GET', headers } = request
  return handle({ method, path, headers, body: Buffer.concat(pieces) })
}

function send(response: ServerResponse, answer: Answer): void {
  if ('opened' in answer) return answer.opened(response)
  const json = 'json' in answer
  const headers = json ? { 'content-type': 'application/json' } : answer.headers
  response.writeHead(answer.status, { ...ALWAYS, ...headers }).end(json ? JSON.stringify(answer.json) : answer.content)
}
