/** The thread in which a cassette is played: it has a clock of its own. Started by `replay.ts`, ended by its last line. */
import { parentPort, workerData } from 'node:worker_threads'
import { readCassette } from './format.ts'
import { play } from './play.ts'

/** What the thread posts, once. */
export type { Played } from './play.ts'

const read = readCassette(String(workerData))
if (read.ok) parentPort?.postMessage(await play(read.cassette))
