/**
 * Servers on 127.0.0.1 that record what reached them. Each closes, with all its sockets, when its test ends.
 */
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import net, { type AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { TLSSocket } from 'node:tls'

export interface LocalServer {
  readonly port: number
  /** Every connection that was made, open or not. */
  readonly sockets: readonly net.Socket[]
  /** Resolves when this many connections have been made, with the last of them. */
  connected(count?: number): Promise<net.Socket>
}

async function listen(t: TestContext, server: net.Server): Promise<LocalServer> {
  const sockets: net.Socket[] = []
  server.on('connection', (socket: net.Socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    async connected(count = 1) {
      while (sockets.length < count) await once(server, 'connection')
      const socket = sockets[count - 1]
      if (socket === undefined) throw new Error('unreachable')
      return socket
    },
  }
}

/** A server that speaks only as `onSocket` makes it. */
export function startTcp(t: TestContext, onSocket: (socket: net.Socket) => void = () => {}): Promise<LocalServer> {
  return listen(t, net.createServer(onSocket))
}

export type Handler = (request: http.IncomingMessage, response: http.ServerResponse) => void | Promise<void>

export function startHttp(t: TestContext, handler: Handler): Promise<LocalServer> {
  return listen(
    t,
    http.createServer({ keepAliveTimeout: 60_000 }, (...exchange) => void handler(...exchange)),
  )
}

export interface TlsServer extends LocalServer {
  /** The name in each TLS hello that led to a secure connection; false when there was none. */
  readonly serverNames: unknown[]
}

export async function startHttps(
  t: TestContext,
  certificate: { cert: string; key: string },
  handler: Handler = (_request, response) => void response.end('secure'),
): Promise<TlsServer> {
  const serverNames: unknown[] = []
  const server = https.createServer(certificate, (...exchange) => void handler(...exchange))
  server.on('secureConnection', (socket: TLSSocket) => void serverNames.push(socket.servername))
  return { ...(await listen(t, server)), serverNames }
}

/** All bytes that a connection brought, once its other end has closed. */
export async function bytesUntilClosed(socket: net.Socket): Promise<string> {
  let bytes = ''
  socket.on('data', (chunk) => (bytes += chunk.toString('latin1')))
  if (!socket.closed) await once(socket, 'close')
  return bytes
}

/** A proxy that answers CONNECT and pipes to a local port whatever address it was asked for. */
export async function startProxy(
  t: TestContext,
  backendPort: number,
): Promise<LocalServer & { readonly requests: string[] }> {
  const requests: string[] = []
  const server = await startTcp(t, (client) => {
    client.once('data', (head) => {
      requests.push(head.toString('latin1'))
      const backend = net.connect(backendPort, '127.0.0.1')
      const end = () => {
        client.destroy()
        backend.destroy()
      }
      backend.on('connect', () => {
        client.write('HTTP/1.1 200 Connection established\r\nX-Proxy: 1\r\n\r\n')
        client.pipe(backend).pipe(client)
      })
      for (const socket of [client, backend]) socket.on('error', end).on('close', end)
    })
  })
  return { ...server, requests }
}
