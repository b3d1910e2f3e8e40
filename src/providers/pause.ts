/** Waiting that an abort ends at once. Leaves neither a timer nor a listener behind. */
import { LONGEST_TIMER_MS } from '../contract/longest-timer.ts'

/** True after `ms`; false as soon as the signal aborts. null waits for that alone. */
export function pause(ms: number | null, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false)
  return new Promise((resolve) => {
    const settle = (done: boolean) => {
      if (timer !== null) clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      resolve(done)
    }
    const onAbort = () => settle(false)
    const timer = ms === null ? null : setTimeout(() => settle(true), Math.min(ms, LONGEST_TIMER_MS))
    signal.addEventListener('abort', onAbort, { once: true })
  })
}
