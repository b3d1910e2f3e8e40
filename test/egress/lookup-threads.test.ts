/** The threads that names are looked up in are there when the process needs the first of them, unless its operator says otherwise. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startEngine } from '../fakes/engine-process.ts'

/** Loaded before the engine: on a signal it needs a thread of libuv's, which makes them all, and tells how many there are. */
const PROBE = `data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs'
  process.on('SIGUSR2', () => fs.stat('/', () => {
    const threads = fs.readdirSync('/proc/self/task').length
    process.stdout.write(JSON.stringify({ level: 30, msg: 'threads', threads }) + '\\n')
  }))
`)}`

async function threads(environment: Readonly<Record<string, string>>): Promise<number> {
  const engine = await startEngine({ NODE_OPTIONS: `--import=${PROBE}`, ...environment })
  engine.signal('SIGUSR2')
  const line = await engine.line(({ msg }) => msg === 'threads')
  engine.signal('SIGTERM')
  assert.deepEqual(await engine.exited, { code: 0, signal: null })
  return Number(line['threads'])
}

const elsewhere = process.platform === 'linux' ? false : 'threads are counted in /proc'

test(
  'a process has sixteen threads for files and names, or as many as UV_THREADPOOL_SIZE says',
  { skip: elsewhere },
  async () => {
    const [own, given] = await Promise.all([threads({}), threads({ UV_THREADPOOL_SIZE: '4' })])
    assert.equal(own - given, 16 - 4)
  },
)
