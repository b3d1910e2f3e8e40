/** Sound requests to every endpoint, and the same made wrong. */
import { mutatedBytes, mutatedJson, type Value } from './mutate.ts'
import type { Random } from './random.ts'

export interface WrongRequest {
  readonly method: string
  /** `{run}` stands for a run that has ended, `{run_token}` and `{call_token}` for what opens it. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | null
}

const AT = '2026-11-30T09:15:01.870Z'
/** Where nobody listens, and the only host that the engine may call. */
const NOWHERE = 'http://127.0.0.1:1'

const said = (text: string): Value => ({ role: 'user', content: [{ type: 'text', text }], created_at: AT })
const base = {
  contract_version: '1',
  idempotency_key: 'k',
  llm: { provider: 'scripted', model: 'echo' },
  messages: [said('Hi')],
}
const tools: Value = [
  {
    name: 'getOrders',
    description: 'Orders',
    input_schema: { type: 'object', properties: { id: { type: 'string', pattern: '^\\d+$' } } },
    url: `${NOWHERE}/orders`,
    headers: { Authorization: 'Bearer x', 'X-A': 'b' },
    effect: 'read',
    label: 'Looking…',
  },
  {
    name: 'createReturn',
    description: '',
    input_schema: { type: 'object', $defs: { a: { type: 'integer' } }, properties: { n: { $ref: '#/$defs/a' } } },
    url: `${NOWHERE}/returns`,
    effect: 'write',
    timeout_ms: 1000,
  },
]
const history: Value[] = [
  said('Where is 12345?'),
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'Look.', provider_data: { family: 'anthropic', signature: 'x' } },
      { type: 'text', text: 'One moment' },
      {
        type: 'tool_call',
        call_id: 'call_1',
        tool: 'getOrders',
        args: { id: '12345' },
        provider_data: { id: 'toolu_1' },
      },
    ],
    provider: 'anthropic',
    model: 'm',
    stop_reason: 'tool_calls',
    created_at: AT,
    run_id: 'run_1',
    seq: 0,
  },
  {
    role: 'tool',
    call_id: 'call_1',
    tool: 'getOrders',
    result: { sum: 12345.678 },
    is_error: false,
    created_at: AT,
  },
  said('And now?'),
]

/** Played inside the engine, so that a run that is accepted calls nobody. */
const RUNS: readonly Value[] = [
  base,
  { ...base, wait: true, tools, messages: history, system: 'Be brief', history_revision: 7 },
  {
    ...base,
    llm: {
      provider: 'scripted',
      model: 'play',
      params: {
        temperature: 0.2,
        max_output_tokens: 100,
        thinking: 'low',
        stop: ['x'],
        extra: { script: [{ text: 'Hi' }] },
      },
      pricing: {
        currency: 'USD',
        input: 3,
        cache_read: 0.3,
        output: 15,
        tiers: [{ above_input_tokens: 1000, input: 6, output: 30 }],
      },
      fallbacks: [{ provider: 'scripted', model: 'echo' }],
    },
    output: { schema: { type: 'object' }, blocks: { chart: { schema: { type: 'object', required: ['x'] } } } },
  },
  {
    ...base,
    limits: {
      max_steps: 3,
      max_tool_calls: 4,
      timeout_ms: 5000,
      max_cost: 1.5,
      tool_result_max_bytes: 300,
      on_cancel: 'cut',
    },
    stream: { tool_names: true, reasoning: true },
    callback: { url: `${NOWHERE}/callback`, headers: { 'X-A': 'b' } },
    meta: { session_id: 's', user_id: 'u', tenant_id: 't', timezone: 'Europe/London', more: { a: [1] } },
  },
]

const anthropic = { provider: 'anthropic', model: 'claude-opus-4-8', api_key: 'sk-x', params: { thinking: 'high' } }
const compatible = {
  provider: 'openai-compatible',
  model: 'm',
  base_url: `${NOWHERE}/v1`,
  profile: 'vllm',
  api_key: 'k',
}

/** Checked without being run. */
const VALIDATED: readonly Value[] = [
  ...RUNS,
  { ...base, llm: { ...anthropic, fallbacks: [compatible] }, tools, messages: history },
  ...['openai', 'deepseek', 'glm', 'gigachat', 'minimax', 'kimi'].map((provider) => ({
    ...base,
    llm: { provider, model: 'm', api_key: 'k' },
    tools,
    messages: [
      ...history,
      {
        role: 'user',
        content: [
          { type: 'image', data: 'aGk=', mime_type: 'image/png' },
          { type: 'file', data: 'aGk=', mime_type: 'text/plain', name: 'a' },
        ],
        created_at: AT,
      },
    ],
  })),
]

const LATE: readonly Value[] = [
  { status: 'ok', result: { a: [1, 'x'] } },
  { status: 'error', error: 'no' },
]
const QUERIES: readonly { readonly [name: string]: Value }[] = [
  { run_id: '{run}', limit: '10' },
  { session_id: 's', event: 'ended', since: AT, until: '2027-01-01T00:00:00Z' },
  { limit: '1000', cursor: '1764493200000.0' },
]
const KEPT_HEADERS = { 'content-type': 'application/json' }
const TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'text/plain',
  'application/json; charset=utf-16',
  '',
]
const ID = [
  '{run}',
  '{run}',
  '{run}',
  'run_01J00000000000000000000000',
  'x',
  '%00',
  '%F0%9F%99%82',
  '..',
  'a'.repeat(600),
]

function withKey(random: Random, value: Value): Value {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return value['idempotency_key'] === 'k' ? { ...value, idempotency_key: `k${random.int(1e9)}` } : value
}

function wrongBody(random: Random, sound: Value): Buffer {
  const value = withKey(random, random.chance(0.85) ? mutatedJson(random, sound) : sound)
  const bytes = Buffer.from(JSON.stringify(value))
  return random.chance(0.2) ? mutatedBytes(random, bytes) : bytes
}

function post(random: Random, path: string, sound: Value): WrongRequest {
  const type = random.chance(0.95) ? 'application/json' : random.pick(TYPES)
  return { method: 'POST', path, headers: type === '' ? {} : { 'content-type': type }, body: wrongBody(random, sound) }
}

const PLACEHOLDERS = new Set(['{run}', '{run_token}'])

function wrongQuery(random: Random, sound: { readonly [name: string]: Value }): string {
  const query = mutatedJson(random, { ...sound })
  const members = typeof query === 'object' && query !== null ? Object.entries(query) : []
  return members
    .slice(0, 20)
    .map(([name, value]) => {
      const text = typeof value === 'string' ? value.slice(0, 500) : JSON.stringify(value).slice(0, 500)
      return `${encodeURIComponent(name.toWellFormed())}=${PLACEHOLDERS.has(text) ? text : encodeURIComponent(text.toWellFormed())}`
    })
    .join('&')
}

export function wrongRequest(random: Random): WrongRequest {
  const id = random.pick(ID)
  const empty = { headers: KEPT_HEADERS, body: random.chance(0.2) ? wrongBody(random, base) : null }
  switch (random.int(12)) {
    case 0:
    case 1:
    case 2:
      return post(random, '/runs', random.pick(RUNS))
    case 3:
    case 4:
    case 5:
      return post(random, '/validate', random.pick(VALIDATED))
    case 6:
      return post(
        random,
        `/runs/${id}/calls/${random.pick(['call_1', id])}/result?token={call_token}`,
        random.pick(LATE),
      )
    case 7:
      return { method: 'POST', path: `/runs/${id}/${random.pick(['ack', 'cancel', 'redeliver'])}`, ...empty }
    case 8:
      return { method: 'GET', path: `/logs?${wrongQuery(random, random.pick(QUERIES))}`, headers: {}, body: null }
    case 9: {
      const query = wrongQuery(random, { token: '{run_token}', last_event_id: '3', format: 'ai-sdk' })
      return {
        method: 'GET',
        path: `/runs/${id}/stream?${query}`,
        headers: { 'last-event-id': random.pick(['', '1', 'x', '-1', '1e9']) },
        body: null,
      }
    }
    case 10:
      return {
        method: 'GET',
        path: random.pick([`/runs/${id}`, '/providers', '/health', '/ready', '/openapi.json', `/${id}`]),
        headers: {},
        body: null,
      }
    default:
      return {
        method: random.pick(['PUT', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH', 'GET', 'POST']),
        path: random.pick(['/runs', '/validate', '/logs', `/runs/${id}/ack`, `/runs/${id}/stream`, '/']),
        headers: {
          origin: random.pick(['https://a.example', 'null', '']),
          authorization: random.pick(['Bearer x', 'Basic', '']),
        },
        body: null,
      }
  }
}
