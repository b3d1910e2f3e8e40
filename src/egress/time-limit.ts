/**
 * A limit of time for one request, beside the signal of whoever wants it. It sends nothing and closes nothing by itself: who
 * asks for a limit hands its signal on, and releases it when the request is over.
 */
export interface TimeLimit {
  /** Aborts when the time is over or the caller's signal aborts, at once where it has. */
  readonly signal: AbortSignal
  /** True where it was the time. */
  isOver(): boolean
  /** Takes back the timer and the listener; `signal` does not abort any more. */
  release(): void
}

export function timeLimit(ms: number, signal: AbortSignal): TimeLimit {
  const stop = new AbortController()
  let over = false
  const abort = () => stop.abort()
  const timer = setTimeout(() => {
    over = true
    abort()
  }, ms)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  return {
    signal: stop.signal,
    isOver: () => over,
    release() {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    },
  }
}
