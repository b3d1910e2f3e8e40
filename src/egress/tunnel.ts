/**
 * Asks an HTTP proxy for a tunnel (CONNECT, RFC 9110 §9.3.6) on a socket that is already connected to it.
 *
 * The target is an address that the guard has checked, never a name: a proxy that resolved the name itself would decide
 * where the bytes go. The promise does not settle when the socket dies silently; the connector watches the socket.
 */
import type { Socket } from 'node:net'
import type { Proxy } from './proxy.ts'

/** A proxy's answer has a status line and a few headers. */
const MAX_ANSWER_BYTES = 16_384

/** Resolves with the status of the proxy's answer; 0 when it did not speak HTTP. On 2xx the socket is the tunnel. */
export function openTunnel(socket: Socket, proxy: Proxy, address: string, port: number): Promise<number> {
  const target = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
  const authorization = proxy.authorization === null ? '' : `Proxy-Authorization: ${proxy.authorization}\r\n`
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`, 'latin1')

  return new Promise((resolve) => {
    let answer = ''
    const settle = (status: number) => {
      socket.off('readable', read)
      socket.off('end', stop)
      resolve(status)
    }
    const stop = () => settle(0)
    const read = () => {
      for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
        answer += chunk.toString('latin1')
        if (answer.length > MAX_ANSWER_BYTES) return settle(0)
        const end = answer.indexOf('\r\n\r\n')
        if (end !== -1) return settle(tunnelStatus(answer, end))
      }
    }
    socket.on('readable', read)
    socket.on('end', stop)
  })
}

/** The target speaks second, so bytes behind the headers of a 2xx are the proxy's own and would poison the tunnel. */
function tunnelStatus(answer: string, end: number): number {
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |\r)/.exec(answer)?.[1] ?? 0)
  const opened = status >= 200 && status < 300
  return opened && answer.length > end + 4 ? 0 : status
}
