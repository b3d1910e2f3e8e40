/**
 * Tells open pages that a session looks different: a server-sent event with its id, and nothing of what changed. A page fetches
 * what it shows, so an event that is lost costs no more than a moment.
 */
import type { ServerResponse } from 'node:http'

export interface Changes {
  open(response: ServerResponse): void
  tell(sessionId: string): void
  close(): void
}

const HEARTBEAT_MS = 15_000

export function createChanges(): Changes {
  const readers = new Set<ServerResponse>()
  const heartbeat = setInterval(() => write(': still here\n\n'), HEARTBEAT_MS)
  heartbeat.unref()

  function write(text: string): void {
    for (const reader of readers) reader.write(text)
  }

  return {
    open(response) {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' })
      response.write('retry: 1000\n\n: welcome\n\n')
      readers.add(response)
      response.once('close', () => readers.delete(response))
    },
    tell: (sessionId) => write(`event: changed\ndata: ${JSON.stringify({ session_id: sessionId })}\n\n`),
    close() {
      clearInterval(heartbeat)
      for (const reader of readers) reader.end()
    },
  }
}
