/** What the fake servers have in common: a port of their own on 127.0.0.1, a body read to its end, and an end with their owner. */
import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A test, or a file of tests: whoever is told when it is over. */
export interface Owner {
  after(close: () => void | Promise<void>): void
}

/** @returns `http://127.0.0.1:<port>` */
export async function listen(owner: Owner, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  owner.after(async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** '' where the connection broke. */
export async function bodyText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer)
  } catch {
    return ''
  }
  return Buffer.concat(chunks).toString('utf8')
}
