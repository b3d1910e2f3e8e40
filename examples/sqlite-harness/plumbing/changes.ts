/**
 * Tells open pages that a session looks different: a server-sent event with its id, and nothing of what changed. A page fetches
 * what it shows, so an event that is lost costs no more than a moment.
 */
import type { ServerResponse } from 'node:http'

export type Changes = ReturnType<typeof createChanges>

const HEARTBEAT_MS = 15_000

export function createChanges() {
  const readers = new Set<ServerResponse>()
  const write = (text: string) => readers.forEach((reader) => reader.write(text))
  const heartbeat = setInterval(write, HEARTBEAT_MS, ': still here\n\n').unref()
  return {
    open: (response: ServerResponse): void => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' })
      response.write('retry: 1000\n\n: welcome\n\n')
      readers.add(response)
      response.once('close', () => readers.delete(response))
    },
    tell: (session: string) => write(`event: changed\ndata: ${JSON.stringify({ session_id: session })}\n\n`),
    close(): void {
      clearInterval(heartbeat)
      for (const reader of readers) reader.end()
    },
  }
}
