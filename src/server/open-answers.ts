/**
 * Answers that are still open: streams that flow and requests that wait for a run's end. When the server closes, streams
 * end and waits are given up, so that the process can exit. What a run does is not touched by any of it.
 */
import type { ServerResponse } from 'node:http'

export interface OpenAnswers {
  /** A signal for one answer: aborts when its connection goes away, or when the server gives up on its kind. */
  open(kind: 'stream' | 'wait', response: ServerResponse): OpenAnswer
  count(kind: 'stream' | 'wait'): number
  /** Resolves when none is open, or when the signal aborts. */
  idle(kind: 'stream' | 'wait', signal: AbortSignal): Promise<void>
  /** Resolves when all that were open have been released. */
  closeAll(kind: 'stream' | 'wait'): Promise<void>
}

export interface OpenAnswer {
  readonly signal: AbortSignal
  /** Must be called once the answer is over. Idempotent. */
  release(): void
}

export function createOpenAnswers(): OpenAnswers {
  const open = { stream: new Set<AbortController>(), wait: new Set<AbortController>() }
  const emptied = { stream: new Set<() => void>(), wait: new Set<() => void>() }
  return {
    open(kind, response) {
      const controller = new AbortController()
      const abort = () => controller.abort()
      if (response.destroyed) abort()
      response.on('close', abort)
      open[kind].add(controller)
      return {
        signal: controller.signal,
        release() {
          response.off('close', abort)
          open[kind].delete(controller)
          if (open[kind].size > 0) return
          for (const resolve of emptied[kind]) resolve()
          emptied[kind].clear()
        },
      }
    },
    count: (kind) => open[kind].size,
    async idle(kind, signal) {
      if (open[kind].size === 0 || signal.aborted) return
      await new Promise<void>((resolve) => {
        const settle = () => {
          emptied[kind].delete(settle)
          signal.removeEventListener('abort', settle)
          resolve()
        }
        emptied[kind].add(settle)
        signal.addEventListener('abort', settle)
      })
    },
    async closeAll(kind) {
      if (open[kind].size === 0) return
      const released = new Promise<void>((resolve) => emptied[kind].add(resolve))
      for (const controller of open[kind]) controller.abort()
      await released
    },
  }
}
