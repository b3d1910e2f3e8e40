/**
 * A clock that is moved by hand: it takes the place of `Date.now`, `performance.now` and the global timers until it is put
 * back. Whatever can go on without time goes on first; then it leaps to the timer that is due next.
 */
import assert from 'node:assert/strict'
import timers from 'node:timers/promises'

/** Far beyond what any test needs. */
const MOST_LEAPS = 20_000

interface Due {
  readonly at: number
  readonly run: () => void
}

export class VirtualClock {
  now: number
  readonly #due = new Set<Due>()
  readonly #real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout, now: Date.now }

  /** `now` in ms since the epoch. */
  constructor(now: number) {
    this.now = now
  }

  install(): void {
    const dues = new WeakMap<object, Due>()
    const set = (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) => {
      const timer = { ref: () => timer, unref: () => timer, hasRef: () => true, refresh: () => timer }
      const due = { at: this.now + Math.max(1, ms), run: () => run(...given) }
      dues.set(timer, due)
      this.#due.add(due)
      return timer
    }
    const clear = (timer: unknown) => {
      const due = typeof timer === 'object' && timer !== null ? dues.get(timer) : undefined
      if (due !== undefined) this.#due.delete(due)
    }
    // The forms that the engine uses; the whole of Node's types is not played.
    globalThis.setTimeout = set as unknown as typeof setTimeout
    globalThis.clearTimeout = clear
    Date.now = () => this.now
    performance.now = () => this.now
  }

  /** Puts the real clock back. */
  uninstall(): void {
    globalThis.setTimeout = this.#real.setTimeout
    globalThis.clearTimeout = this.#real.clearTimeout
    Date.now = this.#real.now
    // What stood in the way of Node's own.
    Reflect.deleteProperty(performance, 'now')
  }

  /** Timers that are set. */
  get pending(): number {
    return this.#due.size
  }

  /** Leaps until the promise has settled; fails where it has not and nothing is due. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let over = false
    const settled = () => void (over = true)
    promise.then(settled, settled)
    for (let leaps = 0; ; leaps += 1) {
      await timers.setImmediate()
      if (over) return promise
      assert.ok(leaps < MOST_LEAPS, 'it leaps and leaps, and what is waited for does not come')
      assert.ok(this.#leap(), 'nothing is due, and what is waited for does not come')
    }
  }

  /** Leaps over everything that is due within so many ms. */
  async pass(ms: number): Promise<void> {
    const end = this.now + ms
    await timers.setImmediate()
    while (this.#next()?.at !== undefined && (this.#next()?.at ?? Infinity) <= end) {
      this.#leap()
      await timers.setImmediate()
    }
    this.now = end
  }

  #next(): Due | null {
    let next: Due | null = null
    for (const due of this.#due) if (next === null || due.at < next.at) next = due
    return next
  }

  #leap(): boolean {
    const next = this.#next()
    if (next === null) return false
    this.#due.delete(next)
    this.now = Math.max(this.now, next.at)
    next.run()
    return true
  }
}
