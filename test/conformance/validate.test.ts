/** SPEC §2.7: what POST /validate shows of a run is, byte for byte, what the run then sends; and nobody hears of the asking. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import type { RunResult } from '../../src/contract/result.ts'
import type { Validation } from '../../src/contract/validation.ts'
import { says, startProvider, type Dialect } from '../fakes/provider-server.ts'
import { ok, startTools } from '../fakes/tool-server.ts'
import { errorOf, runBody, user, type EngineClient } from './engine-client.ts'
import { sharedEngine } from './shared-engine.ts'

const engine = sharedEngine()

async function validated(client: EngineClient, body: JsonObject): Promise<Validation> {
  const answer = await client.send('/validate', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.equal(answer.status, 200, answer.text)
  assert.doesNotMatch(answer.text, /sk-SECRET/)
  return answer.json<Validation>()
}

const stored = ({ messages }: RunResult) => JSON.parse(JSON.stringify(messages)) as JsonObject[]

for (const [first, second] of [
  ['anthropic', 'openai-chat'],
  ['openai-chat', 'anthropic'],
  ['anthropic', 'anthropic'],
] satisfies [Dialect, Dialect][]) {
  test(`§2.7 a history of ${first} goes to ${second} just as it is shown beforehand`, async (t) => {
    const client = await engine.client()
    const tools = await startTools(t, { getOrders: ok({ state: 'shipped' }) })
    const home = await startProvider(
      t,
      [
        (model) => {
          model.reasoning('Two orders.')
          model.text('I will look. ')
          model.call('getOrders', { id: 1 })
          model.call('getOrders', { id: 2 })
          model.finish()
        },
        says('Both are shipped.'),
      ],
      first,
    )
    const given = { tools: [tools.tool('getOrders')], meta: { session_id: `validate ${first} ${second}` } }
    const asked = [user('Where are they?')]
    const result = await client.run(runBody({ ...given, llm: home.llm(), messages: asked }))

    const away = first === second ? home : await startProvider(t, [says('Gone.')], second)
    const before = away.received.length
    const llm = away.llm({ params: { seed: 1 } })
    const history = [...asked, ...stored(result), user('And'), user('now?')]
    const body = runBody({ ...given, llm, messages: history })
    const { changes, faults, request, warnings } = await validated(client, { ...body, show_request: true })
    assert.deepEqual(faults, [])
    assert.equal(away.received.length, before, 'nobody is asked anything')

    const run = await client.run(body)
    const sent = await away.nth(before + 1)
    assert.equal(JSON.stringify(request?.body), sent.text)
    assert.equal(request?.url, `${away.url}${sent.path}`)
    for (const [name, value] of Object.entries(request?.headers ?? {})) {
      assert.equal(sent.headers[name]?.toString().replace('sk-SECRET-provider-key', '[secret]'), value, name)
    }
    assert.deepEqual(run.warnings, warnings)

    const kinds = changes.map(({ kind }) => kind)
    assert.equal(kinds.includes('reasoning_dropped'), !sent.text.includes('Two orders.'))
    assert.equal(kinds.includes('messages_merged'), second === 'anthropic')
    assert.equal(kinds.includes('param_dropped'), second === 'anthropic')
  })
}

test('§2.7 a key that was asked about is not used up, and faults are those of the run', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [says('Once.')])
  const body = runBody({ llm: provider.llm() })
  assert.equal((await validated(client, body)).valid, true)
  assert.equal((await validated(client, body)).valid, true)
  assert.equal((await client.run(body)).text, 'Once.')

  const faulty = {
    ...body,
    messages: [{ role: 'tool', call_id: 'x', tool: 'f', result: 1 }],
    limits: { max_steps: 'x' },
  }
  const { details } = errorOf(await client.post(faulty), 400, 'invalid_request')
  assert.deepEqual((await validated(client, faulty)).faults, details)
})

test('the engine of this file ended in peace', () => engine.finish())
