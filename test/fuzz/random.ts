/** Chance from a seed: the same seed gives the same inputs, whatever machine they are made on. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 up to 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** From 0 up to, and without, the bound. */
  int(bound: number): number {
    return Math.floor(this.next() * bound)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  /** The list must not be empty. */
  pick<T>(list: readonly T[]): T {
    return list[this.int(list.length)] as T
  }
}

/** Another seed every time, unless the environment names one in this variable. */
export function seedFrom(variable: string): number {
  return Number(process.env[variable] ?? Math.floor(Math.random() * 1e9))
}
