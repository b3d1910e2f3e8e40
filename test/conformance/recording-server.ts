/**
 * What the fakes of the suite have in common: an HTTP server on 127.0.0.1 that keeps every request as it came, byte for byte,
 * and lets a test wait for facts: the n-th request, the end of one, no socket open. It answers nothing by itself.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { Signal, within } from './facts.ts'

export interface Received {
  /** 1 for the first request of this server. */
  readonly number: number
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The body. */
  readonly bytes: Buffer
  readonly text: string
  /** `whole`: the answer was written to its end. `cut`: the connection was gone before. */
  readonly closed: Promise<'whole' | 'cut'>
}

export type Respond = (request: Received, response: ServerResponse) => void | Promise<void>

export interface RecordingServer {
  /** `http://127.0.0.1:<port>` */
  readonly url: string
  /** Requests whose body is whole, in the order in which that was so. */
  readonly received: readonly Received[]
  /** The n-th of them, from 1, as soon as it is there. */
  nth(number: number): Promise<Received>
  openSockets(): number
  /** Resolves once no socket is open. */
  idle(): Promise<void>
}

/** Closed with everything that is open when the test ends. `what` names the server where a wait fails. */
export async function recordingServer(t: TestContext, what: string, respond: Respond): Promise<RecordingServer> {
  const received: Received[] = []
  const sockets = new Set<Socket>()
  const changed = new Signal()
  const server = createServer((message, response) => void take(message, response))
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      changed.emit()
    })
  })

  async function take(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const closed = new Promise<'whole' | 'cut'>((resolve) => {
      response.on('close', () => resolve(response.writableFinished ? 'whole' : 'cut'))
    })
    response.on('error', () => {})
    const chunks: Buffer[] = []
    try {
      for await (const chunk of message) chunks.push(chunk as Buffer)
    } catch {
      // The connection broke inside the request: there is none.
      return
    }
    const bytes = Buffer.concat(chunks)
    const request: Received = {
      number: received.length + 1,
      method: message.method ?? '',
      path: message.url ?? '',
      headers: message.headers,
      bytes,
      text: bytes.toString('utf8'),
      closed,
    }
    received.push(request)
    changed.emit()
    await respond(request, response)
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    async nth(number) {
      await within(
        changed.until(() => received.length >= number),
        () => `${what} has had ${received.length} requests; request ${number} was waited for`,
      )
      return received[number - 1] as Received
    },
    openSockets: () => sockets.size,
    idle: () =>
      within(
        changed.until(() => sockets.size === 0),
        () => `${what} still has ${sockets.size} open sockets`,
      ),
  }
}
