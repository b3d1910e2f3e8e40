/** SPEC §4.6: numbers keep their digits on every way through the engine. Checked on the bytes, because JSON.parse would round. */
import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { asksFor, says, startProvider, type Dialect } from '../fakes/provider-server.ts'
import { payloadText, startReceiver } from '../fakes/callback-receiver.ts'
import { startTools } from '../fakes/tool-server.ts'
import { AT, resultText, runBody, type Accepted, user } from './engine-client.ts'
import { sharedEngine } from './shared-engine.ts'

const engine = sharedEngine()

/** Each one is lost, or turned into something else, by a double. */
const META =
  '{"session_id":"digits","big":12345678901234567890,"long":0.12345678901234567890123,"huge":1e400,"tiny":-1E-999}'
const ARGS = '{"amount":98765432109876543210,"rate":1.000000000000000000001,"small":9007199254740993}'
const RESULT = '{"id":18446744073709551617,"total":33.33333333333333333333,"plain":1.50}'
const EARLIER_ARGS = '{"id":11111111111111111111}'
const EARLIER_RESULT = '{"balance":22222222222222222222.5}'
const SCHEMA = '{"type":"object","properties":{"amount":{"type":"number","maximum":100000000000000000001}}}'

/** A body is put together as text: no object of JavaScript can hold these numbers. */
function bodyText(llm: string, toolUrl: string, callback: string): string {
  const user = `{"role":"user","content":[{"type":"text","text":"How much?"}],"created_at":"${AT}"}`
  const call = `{"type":"tool_call","call_id":"call_1","tool":"pay","args":${EARLIER_ARGS}}`
  const messages = [
    user,
    `{"role":"assistant","content":[${call}]}`,
    `{"role":"tool","call_id":"call_1","tool":"pay","result":${EARLIER_RESULT}}`,
    user,
  ].join(',')
  const tool = `{"name":"pay","input_schema":${SCHEMA},"url":${toolUrl}}`
  return (
    `{"contract_version":"1","idempotency_key":"${randomUUID()}","history_revision":99999999999999999999,` +
    `"llm":${llm},"messages":[${messages}],"tools":[${tool}],"callback":${callback},"meta":${META}}`
  )
}

for (const dialect of ['openai-chat', 'anthropic'] satisfies Dialect[]) {
  test(`§4.6 digits survive request → tool → history → provider → result (${dialect})`, async (t) => {
    const client = await engine.client()
    const tools = await startTools(t, { pay: `{"status":"ok","result":${RESULT}}` })
    const provider = await startProvider(t, [asksFor(['pay', ARGS]), says('Paid.')], dialect)
    const receiver = await startReceiver(t)
    const extra = '"params":{"extra":{"budget_hint":44444444444444444444}}'
    const llm = JSON.stringify(provider.llm()).replace(/\}$/, `,${extra}}`)
    const url = JSON.stringify(tools.tool('pay')['url'])
    const answer = await client.post(bodyText(llm, url, JSON.stringify(receiver.callback())))
    assert.equal(answer.status, 202, answer.text)

    const call = await tools.nth(1)
    assert.ok(call.text.includes(`"args":${ARGS}`), call.text)
    assert.ok(call.text.includes(`"meta":${META}`), call.text)
    // The keys are made from these digits, in canonical form.
    const canonical = '{"amount":98765432109876543210,"rate":1.000000000000000000001,"small":9007199254740993}'
    assert.equal(call.body.args_hash, `sha256:${createHash('sha256').update(canonical).digest('hex')}`)

    const first = await provider.nth(1)
    const escaped = (json: string) => (dialect === 'anthropic' ? json : JSON.stringify(json).slice(1, -1))
    assert.ok(first.text.includes(escaped(EARLIER_ARGS)), first.text)
    assert.ok(first.text.includes(JSON.stringify(`{"result":${EARLIER_RESULT}}`)), first.text)
    assert.ok(first.text.includes('100000000000000000001'), first.text)
    assert.ok(first.text.includes('"budget_hint":44444444444444444444'), first.text)

    const second = await provider.nth(2)
    assert.ok(second.text.includes(escaped(ARGS)), second.text)
    assert.ok(second.text.includes(JSON.stringify(`{"result":${RESULT.replace('1.50', '1.5')}}`)), second.text)

    const payload = payloadText(await receiver.nth(1))
    assert.ok(payload.includes(`"args":${ARGS}`), payload)
    assert.ok(payload.includes(`"result":${RESULT.replace('1.50', '1.5')}`), payload)
    assert.ok(payload.includes(`"meta":${META}`), payload)
    assert.ok(payload.includes('"history_revision":99999999999999999999,'), payload)
    const { run_id } = answer.json<Accepted>()
    assert.equal(resultText(await client.send(`/runs/${run_id}`)), payload)

    // And the messages of the result, sent back as they are, arrive at the provider with the same digits.
    const again = await startProvider(t, [says('As before.')], dialect)
    const messages = /"messages":(\[.*?\]),"pending":/s.exec(payload)?.[1] ?? ''
    const user = `{"role":"user","content":[{"type":"text","text":"How much?"}],"created_at":"${AT}"}`
    const rest = messages.slice(1, -1)
    const body = JSON.stringify(runBody({ llm: again.llm() })).replace(
      /"messages":\[.*?\]\}\]|"messages":\[.*\]/s,
      `"messages":[${user},${rest},${user}]`,
    )
    assert.equal((await client.post(body)).status, 202)
    const third = await again.nth(1)
    assert.ok(third.text.includes(escaped(ARGS)), third.text)
    assert.ok(third.text.includes(JSON.stringify(`{"result":${RESULT.replace('1.50', '1.5')}}`)), third.text)
  })
}

test('§4.6 limits judge a long number by its value, not by a rounded one’s form', async () => {
  const client = await engine.client()
  const body = JSON.stringify(runBody({ limits: { max_steps: 1 } })).replace(
    '"max_steps":1',
    '"max_steps":99999999999999999999',
  )
  const answer = await client.post(body)
  assert.equal(answer.status, 400)
  assert.match(answer.text, /limits\.max_steps/)
})

test('§4.6 the smallest number there is may be a result, in a history and from a tool', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [asksFor(['pay', {}]), says('Read.')])
  const tools = await startTools(t, { pay: '{"status":"ok","result":-1e400}' })
  const answer = await client.post(runBody({ llm: provider.llm(), tools: [tools.tool('pay')], wait: true }))
  assert.equal(answer.status, 200, answer.text)
  assert.match(answer.text, /"result":-1e400[,}]/)
  assert.match((await provider.nth(2)).text, /\{\\"result\\":-1e400\}/)
  const [call] = answer.json<{ messages: { content: { call_id: string }[] }[] }>().messages
  const history = [
    user('How much?'),
    {
      role: 'assistant',
      content: [{ type: 'tool_call', call_id: call?.content[0]?.call_id ?? '', tool: 'pay', args: {} }],
    },
    { role: 'tool', call_id: call?.content[0]?.call_id ?? '', tool: 'pay', result: '@' },
  ]
  const again = JSON.stringify(runBody({ messages: history, wait: true })).replace('"@"', '-1e400')
  assert.equal((await client.post(again)).status, 200)
})

test('§3.2 a temperature of more digits than a double holds is sent as the double it is', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [says('Warm.')])
  const llm = provider.llm({ params: { temperature: 1, top_p: 1, seed: 1 } })
  const body = JSON.stringify(runBody({ llm, wait: true }))
    .replace('"temperature":1', '"temperature":0.30000000000000000004')
    .replace('"top_p":1', '"top_p":1e-400')
    .replace('"seed":1', '"seed":12345678901234567890')
  const { status, text } = await client.post(body)
  assert.equal(status, 200, text)
  const sent = await provider.nth(1)
  assert.match(sent.text, /"temperature":0\.3[,}]/)
  assert.match(sent.text, /"top_p":0[,}]/)
  assert.match(sent.text, /"seed":12345678901234567890[,}]/)
})

test('§6.3 a cost is reckoned in decimals, and prices keep theirs', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [
    (answer) => {
      answer.text('Dear.')
      answer.finish({ usage: { input: 3, output: 7 } })
    },
  ])
  const llm = JSON.stringify(provider.llm({ pricing: { currency: 'USD', input: 1, output: 2 } }))
    .replace('"input":1', '"input":0.1000000000000000055511151231257827')
    .replace('"output":2', '"output":0.2')
  const body = JSON.stringify(runBody({ wait: true })).replace(/"llm":\{.*?\}/, `"llm":${llm}`)
  const { status, text } = await client.post(body)
  assert.equal(status, 200, text)
  // (3 × 0.1000000000000000055511151231257827 + 7 × 0.2) / 1,000,000
  assert.match(text, /"cost":0\.0000017000000000000000166533453693773481,/)
})

test('the engine of this file ended in peace', () => engine.finish())
