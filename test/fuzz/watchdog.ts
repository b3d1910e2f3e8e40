/**
 * A thread beside a hunt, for the one failure that a hunt cannot tell itself: an input that never ends. When the number in the
 * shared memory has not changed for a while, it says which input that is and ends the process.
 */
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

const MOST_STILL_MS = 60_000

interface Watch {
  readonly name: string
  readonly stillMs: number
  /** The seed of the input that is being borne. */
  readonly seed: Int32Array<SharedArrayBuffer>
}

export interface Watchdog {
  /** The seed of the input, or of the first of those side by side, that comes now. */
  next(seed: number): void
  stop(): Promise<void>
}

/** Resolves when it watches: a thread needs the one that starts it until it runs. */
export async function watch(name: string, stillMs = MOST_STILL_MS): Promise<Watchdog> {
  const seed = new Int32Array(new SharedArrayBuffer(8))
  const worker = new Worker(new URL(import.meta.url), {
    execArgv: [],
    workerData: { name, seed, stillMs } satisfies Watch,
  })
  await once(worker, 'message')
  worker.unref()
  return {
    next(of) {
      Atomics.store(seed, 0, of)
      Atomics.add(seed, 1, 1)
    },
    stop: async () => void (await worker.terminate()),
  }
}

if (!isMainThread) {
  const { name, seed, stillMs } = workerData as Watch
  let seen = -1
  setInterval(() => {
    const turn = Atomics.load(seed, 1)
    if (turn !== seen) return void (seen = turn)
    writeSync(2, `${name}: FUZZ_SEED=${Atomics.load(seed, 0)} FUZZ_COUNT=1: has not ended for ${stillMs} ms\n`)
    process.kill(process.pid, 'SIGKILL')
  }, stillMs)
  parentPort?.postMessage('watching')
}
