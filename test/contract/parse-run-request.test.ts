import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { Json } from '../../src/contract/json.ts'
import { parseJson } from '../../src/contract/json.ts'
import { parseRunRequest } from '../../src/contract/parse-run-request.ts'
import { defaults } from '../../src/contract/run-request.ts'
import { requestBody, tool } from '../fakes/run-request.ts'

function parse(parts: { readonly [key: string]: Json }) {
  return parseRunRequest(requestBody(parts), { defaultTimezone: 'Europe/London' })
}

test('the smallest request is accepted and every default is filled in', () => {
  const { request, faults } = parse({})
  assert.deepEqual(faults.list, [])
  assert.equal(request.origin_request_id, 'msg_1')
  assert.equal(request.timezone, 'Europe/London')
  assert.equal(request.limits.max_steps, defaults.max_steps)
  assert.equal(request.limits.final_answer, true)
  assert.equal(request.callback, null)
  assert.deepEqual(request.targets[0].params.stop, [])
})

test('null means the default in every optional field', () => {
  const nothing = {
    origin_request_id: null,
    system: null,
    tools: null,
    limits: null,
    stream: null,
    callback: null,
    meta: null,
    wait: null,
    output: null,
    history_revision: null,
  }
  assert.deepEqual(parse(nothing).faults.list, [])
  assert.deepEqual(parse({ limits: { max_steps: null, max_cost: null }, meta: { session_id: null } }).faults.list, [])
})

test('headers other than Authorization and X-* are dropped with a warning, also reserved ones', () => {
  const headers = { Authorization: 'Bearer t', 'X-Tenant': 'a', Host: 'evil', Cookie: 'c', 'X-Engine-Secret': 's' }
  const { request, warnings } = parse({ tools: [tool('getOrders', { headers })] })
  assert.deepEqual(request.tools[0]?.headers, { Authorization: 'Bearer t', 'X-Tenant': 'a' })
  assert.deepEqual(
    warnings.map(({ path }) => path),
    ['tools[0].headers.Host', 'tools[0].headers.Cookie', 'tools[0].headers.X-Engine-Secret'],
  )
})

for (const value of ['Bearer ключ', 'a\r\nX-Evil: 1', 'a\0b', ' padded']) {
  test(`TH-10: the header value ${JSON.stringify(value)} is a fault that names the header and not its value`, () => {
    const { faults } = parse({ tools: [tool('getOrders', { headers: { 'X-A': value } })] })
    assert.equal(faults.list[0]?.path, 'tools[0].headers.X-A')
    assert.ok(!JSON.stringify(faults.list).includes(value))
  })
}

// Those in capitals are zones to ICU: BST, which is British to whoever writes it, is that of Dhaka.
const noZones =
  'America/New York,Etc/Unknown,GMT+7,+07:00,Mars/Base,Z,UTC+3,local, UTC,Europe/London\0,BST,IST,PST,cst,MSK'
for (const zone of [noZones.split(','), 'SystemV/AST4', '', 5, true, [], {}].flat()) {
  test(`TZ-02: meta.timezone ${JSON.stringify(zone)} is a fault that names the field`, () => {
    assert.equal(parse({ meta: { timezone: zone } }).faults.list[0]?.path, 'meta.timezone')
  })
}

for (const zone of [
  'UTC',
  'GMT',
  'EST5EDT',
  'CET',
  'Etc/GMT+7',
  'europe/london',
  'America/Argentina/Buenos_Aires',
  null,
]) {
  test(`TZ-02: meta.timezone ${JSON.stringify(zone)} is one, or the default`, () => {
    const { faults, request } = parse({ meta: { timezone: zone } })
    assert.deepEqual([faults.list, request.timezone], [[], zone ?? 'Europe/London'])
  })
}

test('a param that is reckoned with is a double, however many digits it came with', () => {
  for (const [written, read] of [
    ['0.30000000000000000004', 0.3],
    ['1e-400', 0],
  ] as const) {
    const text = JSON.stringify(
      requestBody({ llm: { provider: 'scripted', model: 'm', params: { temperature: 1, top_p: 1 } } }),
    )
    const body = parseJson(text.replaceAll(/("temperature"|"top_p"):1/g, `$1:${written}`))
    assert.ok(body.ok)
    const { request, faults } = parseRunRequest(body.value, { defaultTimezone: 'UTC' })
    assert.deepEqual(faults.list, [])
    assert.deepEqual([request.targets[0].params.temperature, request.targets[0].params.top_p], [read, read])
  }
})

test('digits of big numbers survive in meta, history and prices', () => {
  const text = JSON.stringify(requestBody()).replace(
    '"llm":{',
    '"history_revision":12345678901234567890,"meta":{"order":98765432109876543210},"llm":{"pricing":{"currency":"USD","input":0.12345678901234567891,"output":1},',
  )
  const body = parseJson(text)
  assert.ok(body.ok)
  const { request, faults } = parseRunRequest(body.value, { defaultTimezone: 'UTC' })
  assert.deepEqual(faults.list, [])
  assert.equal(JSON.stringify(request.meta), '{"order":98765432109876543210}')
  assert.equal(JSON.stringify(request.history_revision), '12345678901234567890')
  assert.equal(JSON.stringify(request.targets[0].pricing?.cache_read), '0.12345678901234567891')
})

test('an amount of money that nobody can reckon with is a fault: neither a price of nothing nor a limit without an end', () => {
  const faultsWith = (amount: string) => {
    const tier = { above_input_tokens: 5, input: 1, output: 1 }
    const pricing = {
      currency: 'USD',
      input: 1,
      output: 1,
      tiers: [tier, { ...tier, above_input_tokens: 6, output: 999 }],
    }
    const llm = { provider: 'scripted', model: 'm', pricing, fallbacks: [] }
    const text = JSON.stringify(requestBody({ llm, limits: { max_cost: 998 } }))
    const body = parseJson(text.replace('999', amount).replace('998', amount).replace('"input":1', `"input":${amount}`))
    assert.ok(body.ok)
    return parseRunRequest(body.value, { defaultTimezone: 'UTC' }).faults.list.map(({ path }) => path)
  }
  const all = ['llm.pricing.tiers[1].output', 'llm.pricing.input', 'limits.max_cost']
  for (const amount of ['1e100', '1e2000', '1e-100', '9'.repeat(41), `0.${'1'.repeat(41)}`]) {
    assert.deepEqual(faultsWith(amount).toSorted(), all.toSorted(), amount)
  }
  for (const amount of ['1e99', '1e-99', '9'.repeat(40), `0.${'1'.repeat(40)}`])
    assert.deepEqual(faultsWith(amount), [])
})

test('prices that are not given are those they are a kind of, in every tier', () => {
  const pricing = {
    currency: 'USD',
    input: 3,
    output: 15,
    tiers: [
      { above_input_tokens: 200_000, input: 6, cache_write: 7.5, output: 22.5 },
      { above_input_tokens: 1, input: 1, cache_read: 0.5, cache_write: 2, cache_write_1h: 4, output: 5 },
    ],
  }
  const { request, faults } = parse({ llm: { provider: 'scripted', model: 'm', pricing } })
  assert.deepEqual(faults.list, [])
  assert.deepEqual(request.targets[0].pricing, {
    currency: 'USD',
    input: 3,
    cache_read: 3,
    cache_write: 3,
    cache_write_1h: 3,
    output: 15,
    tiers: [
      { above_input_tokens: 200_000, input: 6, cache_read: 6, cache_write: 7.5, cache_write_1h: 7.5, output: 22.5 },
      { above_input_tokens: 1, input: 1, cache_read: 0.5, cache_write: 2, cache_write_1h: 4, output: 5 },
    ],
  })
})

test('two tiers of one threshold are a fault, and a wrong threshold is none but its own', () => {
  const tier = (above_input_tokens: Json): Json => ({ above_input_tokens, input: 1, output: 1 })
  const pathsOf = (...tiers: Json[]) => {
    const pricing = { currency: 'USD', input: 1, output: 1, tiers }
    const target = { provider: 'scripted', model: 'm' }
    return parse({ llm: { ...target, fallbacks: [{ ...target, pricing }] } }).faults.list.map(({ path }) => path)
  }
  assert.deepEqual(pathsOf(tier(5), tier(6), tier(5)), ['llm.fallbacks[0].pricing.tiers[2].above_input_tokens'])
  assert.deepEqual(pathsOf(tier(0), tier('x'), tier(1)), [
    'llm.fallbacks[0].pricing.tiers[0].above_input_tokens',
    'llm.fallbacks[0].pricing.tiers[1].above_input_tokens',
  ])
})

test('a cancel cuts unless the request says drain', () => {
  const asked = [{}, { limits: { on_cancel: null } }, { limits: { on_cancel: 'drain' } }].map((parts) => parse(parts))
  assert.deepEqual(
    asked.map(({ request }) => request.limits.on_cancel),
    ['cut', 'cut', 'drain'],
  )
})

test('unknown fields of stored messages are tolerated, elsewhere they are faults', () => {
  const message = {
    role: 'user',
    content: [{ type: 'text', text: 'hi', later: 1 }],
    created_at: '2026-11-30T12:00:00Z',
    later: 1,
  }
  assert.deepEqual(parse({ messages: [message] }).faults.list, [])
  assert.deepEqual(
    parse({ odd: 1, limits: { odd: 1 } }).faults.list.map(({ path }) => path),
    ['odd', 'limits.odd'],
  )
})

test('one wrong field hides no fault of another', () => {
  const { faults } = parse({ limits: { max_steps: 'ten' }, meta: { timezone: 'Mars' }, tools: [tool('a'), tool('a')] })
  assert.deepEqual(
    faults.list.map(({ path }) => path),
    ['limits.max_steps', 'meta.timezone', 'tools[1].name'],
  )
  for (const body of [null, 1, 'x', [], {}] as Json[]) {
    assert.notEqual(parseRunRequest(body, { defaultTimezone: 'UTC' }).faults.list.length, 0)
  }
})
