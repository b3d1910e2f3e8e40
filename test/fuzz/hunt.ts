/**
 * Tries inputs one after another, and stops at the first that is not borne: a throw, an answer that is not sound, more than a
 * second, or memory that grows. What failed is made smaller as long as it still fails, and told with its seed.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Random } from './random.ts'
import { watch, type Watchdog } from './watchdog.ts'

/** One kind of input. */
export interface Quarry<Input> {
  readonly name: string
  /** The same chance gives the same input. */
  make(random: Random): Input
  /** Throws where the input is not borne. */
  bear(input: Input): void | Promise<void>
  /** Smaller inputs that may fail too; the largest steps first. */
  smaller(input: Input): Iterable<Input>
  /** As it is printed. */
  show(input: Input): string
}

export interface Hunt {
  readonly seed: number
  readonly count: number
  /** Inputs that are borne at one time. */
  readonly beside?: number
  /** What one input may take. */
  readonly mostMs?: number
}

const SECOND_MS = 1000
const MOST_GROWTH_BYTES = 48 * 1024 * 1024
const MOST_SHRINKS = 400

/** Rejects with what failed, how, and the seed of it. */
export async function hunt<Input>(quarry: Quarry<Input>, of: Hunt): Promise<void> {
  const watchdog = await watch(quarry.name)
  try {
    await huntWatched(quarry, of, watchdog)
  } finally {
    await watchdog.stop()
  }
}

async function huntWatched<Input>(
  quarry: Quarry<Input>,
  { seed, count, beside = 1, mostMs = SECOND_MS }: Hunt,
  watchdog: Watchdog,
): Promise<void> {
  let settled: number | null = null
  for (let from = 0; from < count; from += beside) {
    // Warm: caches are full, code is compiled. What is held from here on should not grow.
    if (settled === null && from >= count / 5) settled = heapBytes()
    watchdog.next(seed + from)
    const inputs = Array.from({ length: Math.min(beside, count - from) }, (_, at) =>
      quarry.make(new Random(seed + from + at)),
    )
    const failures = await Promise.all(inputs.map((input) => failureOf(quarry, input, mostMs)))
    for (const [at, failure] of failures.entries()) {
      if (failure === null) continue
      const input = await shrunk(quarry, { input: inputs[at] as Input, failure, mostMs })
      throw new Error(
        `${quarry.name}: FUZZ_SEED=${seed + from + at} FUZZ_COUNT=1: ${failure}\nfor: ${quarry.show(input).slice(0, 6000)}`,
      )
    }
  }
  const grown = heapBytes() - (settled ?? 0)
  if (settled !== null && grown > MOST_GROWTH_BYTES) {
    throw new Error(`${quarry.name}: FUZZ_SEED=${seed} FUZZ_COUNT=${count}: memory has grown by ${grown} bytes`)
  }
}

/** null: borne. A busy machine can make one input slow, but hardly the same one three times. */
async function failureOf<Input>(quarry: Quarry<Input>, input: Input, mostMs: number): Promise<string | null> {
  for (let turn = 1; ; turn += 1) {
    const from = performance.now()
    try {
      await quarry.bear(input)
    } catch (error) {
      return error instanceof Error ? (error.stack ?? error.message) : String(error)
    }
    const ms = performance.now() - from
    if (ms <= mostMs) return null
    if (turn === 3) return `took ${Math.round(ms)} ms`
  }
}

/** The same failure is one whose first line says the same. */
async function shrunk<Input>(
  quarry: Quarry<Input>,
  { failure, input, mostMs }: { readonly input: Input; readonly failure: string; readonly mostMs: number },
): Promise<Input> {
  const line = (text: string) => text.split('\n', 1)[0]?.replaceAll(/\d+/g, '#')
  let best = input
  let tries = 0
  for (let found = true; found;) {
    found = false
    for (const smaller of quarry.smaller(best)) {
      if ((tries += 1) > MOST_SHRINKS) return best
      const other = await failureOf(quarry, smaller, mostMs)
      if (other === null || line(other) !== line(failure)) continue
      best = smaller
      found = true
      break
    }
  }
  return best
}

/** Pieces left out of a list of bytes or of anything: halves first, then quarters … */
export function* leftOut<T>(length: number, without: (from: number, to: number) => T): Generator<T> {
  for (let size = Math.ceil(length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < length; from += size) yield without(from, Math.min(length, from + size))
  }
}

let collect: (() => void) | null = null

function heapBytes(): number {
  if (collect === null) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
    setFlagsFromString('--no-expose-gc')
  }
  collect()
  return process.memoryUsage().heapUsed
}
