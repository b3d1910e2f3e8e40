/**
 * Answers that were handed over whole and are still on their way to a slow reader. A closing server does not see them: to Node
 * a connection whose answer has been ended is idle, and what waits in it is thrown away. Streams see to their own
 * (`stream-writer.ts`).
 */
import type { ServerResponse } from 'node:http'

export interface LastBytes {
  /** Called once an answer, as it is begun. */
  watch(response: ServerResponse): void
  /** Resolves when those that are on their way now have been handed to the network or cut, or when the signal aborts. */
  taken(signal: AbortSignal): Promise<void>
}

export function createLastBytes(): LastBytes {
  const watched = new Set<ServerResponse>()
  return {
    watch(response) {
      // Its reader has gone before there was anything to take: nothing more is told of it.
      if (response.destroyed) return
      watched.add(response)
      response.once('close', () => watched.delete(response))
    },
    async taken(signal) {
      // Whoever waited for what has just happened is answered within this turn of the loop.
      await new Promise((resolve) => setImmediate(resolve))
      const late = [...watched]
      if (late.length === 0 || signal.aborted) return
      await new Promise<void>((resolve) => {
        let left = late.length
        const settle = () => {
          for (const response of late) response.off('close', one)
          signal.removeEventListener('abort', settle)
          resolve()
        }
        const one = () => {
          left -= 1
          if (left === 0) settle()
        }
        for (const response of late) response.on('close', one)
        signal.addEventListener('abort', settle)
      })
    },
  }
}
