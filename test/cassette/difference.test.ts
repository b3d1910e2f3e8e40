/** What a replay says where it does not come out as it was recorded, and the command that asks for one. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import { firstDifference, withoutTimes } from '../../src/cassette/difference.ts'
import { replayCassette } from '../../src/cassette/replay.ts'
import { runBody } from '../conformance/engine-client.ts'
import { says, startProvider } from '../fakes/provider-server.ts'
import { changed, onlyCassette, recordedEngine, textOf } from './recorded-engine.ts'

async function cassetteOf(t: TestContext): Promise<string> {
  const provider = await startProvider(t, [says('Hello ', 'there.')])
  const engine = await recordedEngine(t)
  await engine.client.run(runBody({ llm: provider.llm() }))
  await engine.end()
  return onlyCassette(engine.folder)
}

/** The cassette with other words in the model's mouth: as if the code heard something else. */
function misheard(path: string): string {
  return changed(path, (lines) =>
    lines.map((line) =>
      line['kind'] === 'chunk' ? { ...line, text: textOf(line, 'text').replace('there', 'where') } : line,
    ),
  )
}

function withoutClock(path: string): string {
  return changed(path, (lines) => lines.filter(({ of }) => typeof of !== 'string' || !of.startsWith('clock')))
}

test('another answer is told with its place, what was recorded and what came', async (t) => {
  const replay = await replayCassette(misheard(await cassetteOf(t)))
  assert.deepEqual(replay, {
    kind: 'different',
    difference: 'text: recorded "Hello there.", replayed "Hello where."',
    said: [],
  })
})

test('a run that asks for more than was recorded is different, and says what it met', async (t) => {
  const path = changed(await cassetteOf(t), (lines) => lines.filter(({ exchange }) => exchange === undefined))
  const replay = await replayCassette(path)
  assert.ok(replay.kind === 'different')
  assert.match(replay.difference, /^status: recorded "completed", replayed "failed"$/)
  assert.match(replay.said.join('\n'), /"event":"failed".*the cassette holds no more exchanges here/)
})

test('a run that waits for what the cassette does not hold ends by its own deadline', async (t) => {
  const path = changed(await cassetteOf(t), (lines) => lines.filter(({ kind }) => kind !== 'head' && kind !== 'end'))
  const replay = await replayCassette(path)
  assert.ok(replay.kind === 'different', replay.kind)
})

test('where only moments differ it says so', async (t) => {
  const replay = await replayCassette(withoutClock(await cassetteOf(t)))
  assert.ok(replay.kind === 'same' || replay.kind === 'same_but_times', JSON.stringify(replay))
  const result: JsonObject = {
    text: 'x',
    messages: [{ created_at: 'a', content: [{ duration_ms: 1 }] }],
    usage: { attempts: [{ duration_ms: 1, queued_ms: 1, first_token_ms: 1, cost: 1 }] },
  }
  const later = JSON.stringify(result).replaceAll('"duration_ms":1,"q', '"duration_ms":2,"q').replace('"a"', '"b"')
  assert.equal(firstDifference(withoutTimes(JSON.stringify(result)), withoutTimes(later)), null)
  assert.equal(firstDifference(JSON.stringify(result), later), 'messages[0].created_at: recorded "a", replayed "b"')
  const said = JSON.stringify(result).replace('{"duration_ms":1}', '{"duration_ms":2}')
  assert.equal(
    firstDifference(withoutTimes(JSON.stringify(result)), withoutTimes(said)),
    'messages[0].content[0].duration_ms: recorded 1, replayed 2',
  )
})

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** `theloop` with an environment that holds no setting at all. */
async function theloop(...given: readonly string[]): Promise<Ended> {
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
  const child = spawn(process.execPath, [main, ...given], { env: {}, stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr }
}

test('theloop replay says what came of it, and its exit code says it too', async (t) => {
  const path = await cassetteOf(t)
  assert.deepEqual(await theloop('replay', path), { code: 0, stdout: 'same\n', stderr: '' })
  assert.deepEqual(await theloop('replay', misheard(path)), {
    code: 1,
    stdout: 'different\ntext: recorded "Hello there.", replayed "Hello where."\n',
    stderr: '',
  })
  const gone = await theloop('replay', `${path}.gone`)
  assert.deepEqual([gone.code, gone.stdout], [1, ''])
  assert.match(gone.stderr, /^theloop: the file could not be read \(ENOENT\)\n$/)
  assert.deepEqual([(await theloop('replay')).code, (await theloop('replay', path, path)).code], [2, 2])
})
