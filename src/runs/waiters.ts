/** Those who wait for one fact. Each is woken once, or goes by itself when its signal aborts. */
export class Waiters {
  readonly #wakes = new Set<() => void>()

  /** Resolves when they are woken, or the signal aborts. */
  until(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const settle = () => {
        this.#wakes.delete(settle)
        signal.removeEventListener('abort', settle)
        resolve()
      }
      this.#wakes.add(settle)
      signal.addEventListener('abort', settle)
      if (signal.aborted) settle()
    })
  }

  wake(): void {
    for (const wake of this.#wakes) wake()
  }
}
