/** SPEC §2.7: the verdict of POST /validate, what it shows, and that it keeps to what SPEC.md says. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { check, Faults } from '../src/contract/check.ts'
import { parseJson, type Json, type JsonObject } from '../src/contract/json.ts'
import { parseRunRequest } from '../src/contract/parse-run-request.ts'
import type { Keywords } from '../src/contract/schema.ts'
import { CHANGE_KINDS, ValidateBody, Validation } from '../src/contract/validation.ts'
import { assistant, body, called, result, shown, user, validate } from './validation-parts.ts'

const CLAUDE = { provider: 'anthropic', model: 'claude-opus-5-5' }

function faultsOf(schema: unknown, value: Json): readonly unknown[] {
  const faults = new Faults()
  check(schema as Keywords, value, '', faults)
  return faults.list
}

function fits(answer: unknown): void {
  assert.deepEqual(faultsOf(Validation, JSON.parse(JSON.stringify(answer)) as Json), [])
}

const section =
  /^### 2\.7 [\s\S]*?(?=^## )/m.exec(readFileSync(new URL('../SPEC.md', import.meta.url), 'utf8'))?.[0] ?? ''

test('SPEC §2.7 lists exactly the kinds of changes, and its example fits the schema', () => {
  const listed = [...section.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, kind]) => kind)
  assert.deepEqual(listed, [...CHANGE_KINDS])
  const example = parseJson(/^```json validation\n([\s\S]*?)^```$/m.exec(section)?.[1] ?? '')
  assert.ok(example.ok)
  assert.deepEqual(faultsOf(Validation, example.value), [])
})

test('a body without a fault is valid, and nothing is shown that was not asked for', () => {
  const answer = validate(body(CLAUDE, [user('Hi')]))
  fits(answer)
  assert.deepEqual(
    { ...answer, estimated_input_tokens: 0 },
    {
      valid: true,
      faults: [],
      warnings: [],
      changes: [],
      changes_left_off: 0,
      estimated_input_tokens: 0,
    },
  )
  assert.ok((answer.estimated_input_tokens ?? 0) > 10)
})

test('the faults are those of the run, in the same words, and nothing else is told of a faulty body', () => {
  const faulty = body({ ...CLAUDE, params: { seed: 1 } }, [
    { role: 'user', content: [], created_at: 'x' },
    assistant({}, 'A'),
  ])
  const { list } = parseRunRequest(faulty, { defaultTimezone: 'UTC' }).faults
  const answer = validate({ ...faulty, show_request: true })
  fits(answer)
  assert.ok(list.length > 0)
  assert.deepEqual(answer.faults.slice(0, list.length), list)
  assert.deepEqual(
    { ...answer, faults: [] },
    { valid: false, faults: [], warnings: [], changes: [], changes_left_off: 0, estimated_input_tokens: null },
  )
})

test('a ticket that does not fit is a fault, as it is for a run', () => {
  const messages = [user('Do it'), assistant({}, called('a', 'f')), { ...result('a', 'f'), ticket: 'v1.run_x.1.ffff' }]
  assert.deepEqual(
    validate(body(CLAUDE, messages)).faults.map(({ path }) => path),
    ['messages[2].ticket'],
  )
})

test('fields of its own that are wrong are faults beside those of the run', () => {
  const right = body(CLAUDE, [user('Hi')])
  const paths = (parts: JsonObject) => validate({ ...right, ...parts }).faults.map(({ path }) => path)
  assert.deepEqual(paths({ show_request: 'yes', target: -1 }), ['show_request', 'target'])
  assert.deepEqual(paths({ target: 1 }), ['target'])
  assert.deepEqual(paths({ target: 9 }), ['target'])
  assert.deepEqual(paths({ target: 0.5, wait: 1 }), ['target', 'wait'])
  assert.deepEqual(paths({ show_requests: true }), ['show_requests'])
  assert.deepEqual(paths({ target: null, show_request: null }), [])
  assert.deepEqual(faultsOf(ValidateBody, { ...right, target: 0, show_request: true }), [])
})

test('the request to a fallback is shown and told of by its own rules', () => {
  const fallback = { provider: 'deepseek', model: 'deepseek-chat', params: { seed: 1 } }
  const given = body({ ...CLAUDE, fallbacks: [fallback] }, [
    user({ type: 'image', data: 'aGk=', mime_type: 'image/png' }),
  ])
  const first = shown(given)
  const second = shown({ ...given, target: 1 })
  assert.equal(first.request.url, 'https://api.anthropic.com/v1/messages')
  assert.equal(new URL(second.request.url).host, 'api.deepseek.com')
  assert.equal(second.request.body['model'], 'deepseek-chat')
  assert.deepEqual(first.changes, [])
  assert.deepEqual(
    second.changes.map(({ kind, path }) => `${kind} ${path}`),
    second.request.body['seed'] === 1
      ? ['part_replaced messages[0].content[0]']
      : ['param_dropped llm.fallbacks[0].params.seed', 'part_replaced messages[0].content[0]'],
  )
})

test('no key stands in what is shown, wherever it came from', () => {
  const own = { provider: 'openai-compatible', model: 'm', api_key: 'KEY-own', base_url: 'https://llm.example/v1' }
  for (const llm of [
    CLAUDE,
    own,
    { provider: 'openai', model: 'gpt-5.5' },
    { provider: 'minimax', model: 'MiniMax-M3' },
    { provider: 'gigachat', model: 'GigaChat-3' },
  ]) {
    const answer = shown(body(llm, [user('Hi')]))
    fits(answer)
    assert.doesNotMatch(JSON.stringify(answer), /KEY-/)
    const secrets = Object.values(answer.request.headers).filter((value) => value.includes('[secret]'))
    assert.equal(secrets.length, 1, llm.provider)
  }
  const open = shown(body({ ...own, api_key: null }, [user('Hi')]))
  assert.doesNotMatch(JSON.stringify(open.request.headers), /secret/)
})

test('numbers that a double cannot hold are shown digit by digit', () => {
  const args = parseJson('{"id":12345678901234567890}')
  assert.ok(args.ok)
  const messages = [user('Hi'), assistant({}, called('a', 'f', { args: args.value })), result('a', 'f')]
  assert.match(JSON.stringify(shown(body(CLAUDE, messages)).request.body), /12345678901234567890/)
})

test('a run that would end before its first request has none, and is valid', () => {
  const limits = { max_steps: 0, final_answer: false }
  const tools = [{ name: 'f', url: 'https://t.example/f', headers: { Cookie: 'x' } }]
  const answer = validate({ ...body(CLAUDE, [user('Hi')], { limits, tools }), show_request: true })
  fits(answer)
  assert.deepEqual([answer.valid, answer.estimated_input_tokens, answer.request], [true, null, undefined])
  assert.deepEqual(
    answer.changes.map(({ kind }) => kind),
    ['header_dropped'],
  )
})

test('a body of wild shapes is answered and never thrown at', () => {
  for (const wild of [{}, { llm: 1 }, { messages: null, target: {} }, { __proto__: 1, llm: { provider: 'x' } }]) {
    const answer = validate(wild)
    fits(answer)
    assert.equal(answer.valid, false)
  }
})
