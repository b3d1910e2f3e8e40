/**
 * Replays a cassette: plays it in a thread of its own and holds what comes out against what was recorded. Opens no socket and
 * needs no settings. Failures are values.
 */
import { readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { thrownText } from '../contract/thrown-text.ts'
import { firstDifference, withoutTimes } from './difference.ts'
import { readCassette } from './format.ts'
import type { Played } from './play-thread.ts'
import { Secrets } from './secrets.ts'

export type Replay =
  /** Byte for byte. */
  | { readonly kind: 'same' }
  /** But for moments and durations: the code asks the clock at other moments than the one that recorded. */
  | { readonly kind: 'same_but_times'; readonly difference: string }
  /** `difference`: a sentence about the first one. `said`: what the replayed run said of failures and bugs, one a line. */
  | { readonly kind: 'different'; readonly difference: string; readonly said: readonly string[] }
  /** There is nothing to compare: no such file, no cassette, a cut one, a newer format. */
  | { readonly kind: 'unplayable'; readonly fault: string }

/** Never rejects. */
export async function replayCassette(path: string): Promise<Replay> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    return { kind: 'unplayable', fault: `the file could not be read (${code})` }
  }
  const read = readCassette(text)
  if (!read.ok) return { kind: 'unplayable', fault: read.fault }
  const played = await playApart(text)
  return typeof played === 'string' ? { kind: 'unplayable', fault: played } : compare(read.cassette.result, played)
}

function compare(recorded: string, { json, journal }: Played): Replay {
  const said = journal.map((entry) => JSON.stringify(entry))
  if (json === null) {
    const difference = 'the replayed run waits for something that the recorded one never had, and does not end'
    return { kind: 'different', difference, said }
  }
  // New tokens and tickets are taken out of it as they were when it was recorded.
  const replayed = new Secrets([]).text(json)
  if (replayed === recorded) return { kind: 'same' }
  const difference = firstDifference(recorded, replayed)
  return firstDifference(withoutTimes(recorded), withoutTimes(replayed)) === null
    ? { kind: 'same_but_times', difference: difference ?? 'only the order of fields differs' }
    : { kind: 'different', difference: difference ?? 'only the order of fields differs', said }
}

/** What was played, or why it could not be. */
function playApart(text: string): Promise<Played | string> {
  // Beside this file, in source and in what is built from it alike.
  const thread = new URL(import.meta.url.replace(/replay(\.[jt]s)$/, 'play-thread$1'))
  return new Promise((resolve) => {
    const worker = new Worker(thread, { workerData: text, execArgv: [], env: {} })
    worker.once('message', (played: Played) => {
      resolve(played)
      void worker.terminate()
    })
    worker.once('error', (error: unknown) => {
      resolve(`replaying it threw: ${thrownText(error)}`)
    })
    worker.once('exit', () => resolve('replaying it ended without a word'))
  })
}
