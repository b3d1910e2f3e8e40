/** Waiting for facts instead of for time: a condition that is looked at whenever something has changed, and a bound on every wait. */

/** Longer than anything the suite waits for, also on a busy machine; only a failing test ever waits so long. */
const LONGEST_WAIT_MS = 15_000

/** Somebody says that something changed; those who wait look whether it is what they want. */
export class Signal {
  readonly #lookers = new Set<() => void>()

  emit(): void {
    for (const look of this.#lookers) look()
  }

  until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve()
    return new Promise((resolve) => {
      const look = () => {
        if (!holds()) return
        this.#lookers.delete(look)
        resolve()
      }
      this.#lookers.add(look)
    })
  }
}

/** The same promise, but it rejects with a sentence where it takes longer than anything may. */
export async function within<T>(promise: Promise<T>, why: () => string, ms: number = LONGEST_WAIT_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${ms} ms: ${why()}`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** A gate that a test opens when it wants something to go on. */
export interface Gate {
  readonly opened: Promise<void>
  open(): void
}

export function gate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}
