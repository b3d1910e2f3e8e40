/** SPEC §7.3, failure SD-02: what is kept of ended runs is bounded in number and in bytes, and what is gone is gone for everybody to see. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import { EngineClient, errorOf, runBody, scripted, type Accepted } from './engine-client.ts'
import { endInPeace, ownEngine } from './shared-engine.ts'

/** A result of about 100 KB, by what its harness sent with it and by what the model said. */
const LARGE = { llm: scripted([{ text: 'x'.repeat(50_000) }]) }

/** Runs one after the other, so that which is the oldest is known; every second one is acked. */
async function manyRuns(client: EngineClient, count: number, parts: JsonObject): Promise<readonly Accepted[]> {
  const runs: Accepted[] = []
  for (let index = 0; index < count; index += 1) {
    const accepted = await client.start(runBody({ ...parts, meta: { session_id: `session ${index}` } }))
    await client.result(accepted)
    if (index % 2 === 0) assert.equal((await client.ack(accepted.run_id)).status, 200)
    runs.push(accepted)
  }
  return runs
}

/** For each run whether it is kept: whole, or for nobody and nothing. */
async function kept(client: EngineClient, runs: readonly Accepted[]): Promise<boolean[]> {
  const found: boolean[] = []
  for (const { run_id, stream_url } of runs) {
    const answer = await client.send(`/runs/${run_id}`)
    found.push(answer.status === 200)
    if (answer.status === 200) {
      assert.equal(answer.json<{ result: { status: string } }>().result.status, 'completed')
      continue
    }
    errorOf(answer, 404, 'run_not_found')
    errorOf(await client.ack(run_id), 404, 'run_not_found')
    errorOf(await client.cancel(run_id), 404, 'run_not_found')
    errorOf(await client.send(stream_url.slice(client.address.length)), 404, 'run_not_found')
  }
  return found
}

test('§7.3 SD-02: beyond MAX_RESULTS the oldest stored result goes, then the oldest that nobody has, and its session is free', async (t) => {
  const engine = await ownEngine(t, { MAX_RESULTS: '6' })
  const client = new EngineClient(engine)
  const runs = await manyRuns(client, 10, {})
  // Of the stored ones (0, 2, 4 …) the four oldest went.
  assert.deepEqual(await kept(client, runs), [false, true, false, true, false, true, false, true, true, true])
  assert.equal((await client.send('/health')).json<{ runs: { undelivered: number } }>().runs.undelivered, 5)

  const more = []
  for (let index = 0; index < 3; index += 1) {
    const accepted = await client.start(runBody({ meta: { session_id: `more ${index}` } }))
    await client.result(accepted)
    more.push(accepted)
  }
  // The last stored one, and then two that nobody has.
  assert.deepEqual(await kept(client, runs), [false, false, false, false, false, true, false, true, false, true])
  const lost = await engine.line(({ event, run_id }) => event === 'dropped_undelivered' && run_id === runs[3]?.run_id)
  assert.equal(lost.level, 50)
  // Nobody waits for what is not there any more; who has a result waiting is told so as ever.
  errorOf(await client.post(runBody({ meta: { session_id: 'session 5' } })), 409, 'result_pending')
  assert.equal((await client.post(runBody({ meta: { session_id: 'session 3' } }))).status, 202)
  await endInPeace(engine)
})

test('§7.3 SD-02: MAX_RESULT_BYTES bounds what the results weigh, whatever their number', async (t) => {
  const engine = await ownEngine(t, { MAX_RESULT_BYTES: '1048576' })
  const client = new EngineClient(engine)
  const runs = await manyRuns(client, 24, LARGE)
  const bytes = Buffer.byteLength((await client.send(`/runs/${runs.at(-1)?.run_id}`)).text)
  assert.ok(bytes > 90_000, `${bytes} bytes`)
  const found = await kept(client, runs)
  const count = found.filter((one) => one).length
  assert.ok(count * bytes <= 1_100_000 && (count + 1) * bytes > 1_000_000, `${count} results of ${bytes} bytes`)
  // What is left is what nobody has, the newest of it.
  assert.deepEqual(
    found.flatMap((one, index) => (one ? [index] : [])),
    runs.flatMap((_, index) => (index % 2 === 1 ? [index] : [])).slice(-count),
  )
  await endInPeace(engine)
})
