/** SPEC §12.2 overload: an engine beyond its memory keeps the runs it has, and takes no more. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inHalves, startProvider } from '../fakes/provider-server.ts'
import { EngineClient, errorOf, runBody } from './engine-client.ts'
import { gate } from './facts.ts'
import { endInPeace, ownEngine } from './shared-engine.ts'

test('§12.2 beyond MAX_MEMORY_BYTES: one run goes on, the next is 429 with Retry-After, /ready is 503', async (t) => {
  // Less than any Node with an engine in it has.
  const engine = await ownEngine(t, { MAX_MEMORY_BYTES: '67108864' })
  const client = new EngineClient(engine)
  const began = await engine.line(({ event }) => event === 'overload_began')
  assert.deepEqual([began.level, began['reason'], began['run_id']], [40, 'memory', null])
  assert.ok(Number(began['rss_bytes']) > 67_108_864)
  // Nothing goes on yet: one is taken.
  assert.equal((await client.send('/ready')).status, 200)
  const hold = gate()
  const provider = await startProvider(t, [inHalves('To the ', hold.opened, 'end.')])
  const body = runBody({ llm: provider.llm() })
  const accepted = await client.start(body)
  const reader = await client.stream(accepted)
  await reader.event('delta')

  const refused = await client.post(runBody())
  errorOf(refused, 429, 'overloaded')
  assert.match(String(refused.headers['retry-after']), /^[1-9]\d*$/)
  errorOf(await client.send('/ready'), 503, 'overloaded')
  assert.equal((await client.send('/health')).status, 200)
  assert.equal((await client.view(accepted.run_id)).status, 'running')
  assert.equal((await client.send('/logs?event=overload_began')).status, 200)
  hold.open()
  assert.equal((await reader.ended()).at(-1)?.event, 'done')
  assert.equal((await client.view(accepted.run_id)).result?.text, 'To the end.')
  assert.equal((await client.send(`/runs/${accepted.run_id}/ack`, { method: 'POST' })).status, 200)
  await endInPeace(engine)
})
