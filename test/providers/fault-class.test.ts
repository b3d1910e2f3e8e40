/** What kind of failure an error is, whichever shape, status and words a provider gives it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FaultClass } from '../../src/providers/dialect.ts'
import { faultClass } from '../../src/providers/fault-class.ts'
import { errorDetail, providerErrorIn, providerErrorOf } from '../../src/providers/provider-error.ts'

function classOf(status: number, body: unknown): FaultClass {
  return faultClass(providerErrorOf(typeof body === 'string' ? body : JSON.stringify(body)), status)
}

/** Of an error inside a 200 stream. */
function streamClassOf(event: unknown): FaultClass | null {
  const error = providerErrorIn(event)
  return error === null ? null : faultClass(error, null)
}

function message(words: string): unknown {
  return { error: { message: words } }
}

test('RF-03: a limit of money is quota under every status', () => {
  assert.equal(
    classOf(429, { error: { code: 'insufficient_quota', message: 'You exceeded your current quota' } }),
    'quota',
  )
  assert.equal(
    classOf(400, {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'Your credit balance is too low' },
    }),
    'quota',
  )
  assert.equal(
    classOf(400, message('You have reached your specified API usage limits. You will regain access on 2026-12-01')),
    'quota',
  )
  assert.equal(
    classOf(429, {
      error: { type: 'rate_limit_error', message: 'x', details: { error_code: 'enforced_spend_limit_reached' } },
    }),
    'quota',
  )
  assert.equal(classOf(429, { error: { code: '1113', message: '账户已欠费' } }), 'quota')
  assert.equal(classOf(402, {}), 'quota')
  assert.equal(
    classOf(500, { type: 'error', error: { type: 'api_error', message: 'insufficient balance (1008)' } }),
    'quota',
  )
  assert.equal(
    classOf(429, { type: 'error', error: { type: 'rate_limit_error', message: 'usage limit exceeded (2056)' } }),
    'quota',
  )
})

test('RF-03: a rate limit that speaks of the quota and says when to come back is a rate limit', () => {
  assert.equal(
    classOf(429, [
      {
        error: {
          code: 429,
          message: 'You exceeded your current quota. Please retry in 34.07s.',
          status: 'RESOURCE_EXHAUSTED',
        },
      },
    ]),
    'rate',
  )
})

test('RF-08: what can never get better is told apart', () => {
  assert.equal(classOf(401, { error: { message: 'Incorrect API key provided', code: 'invalid_api_key' } }), 'auth')
  assert.equal(classOf(403, { error: { message: 'Country not supported' } }), 'auth')
  assert.equal(classOf(403, { error: { message: 'Your input was flagged by moderation' } }), 'content')
  assert.equal(classOf(404, { error: { message: 'no' } }), 'not_found')
  assert.equal(classOf(400, { error: { message: 'The model `gpt-9` does not exist' } }), 'not_found')
  assert.equal(classOf(400, { error: { message: "Invalid schema for function 'f'" } }), 'bad_request')
  assert.equal(classOf(422, { detail: [{ loc: ['body', 'tools'], msg: 'field required' }] }), 'bad_request')
  assert.equal(classOf(302, ''), 'bad_request')
})

test('RF-14: overload is known under its own status and under foreign ones', () => {
  assert.equal(
    classOf(529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    'overloaded',
  )
  assert.equal(classOf(503, '<html>unavailable</html>'), 'overloaded')
  assert.equal(classOf(400, message('The model is currently overloaded')), 'overloaded')
  assert.equal(classOf(429, { error: { type: 'engine_overloaded_error', message: 'try again later' } }), 'overloaded')
  assert.equal(classOf(429, { error: { code: '1305', message: 'x' } }), 'overloaded')
})

test('LC-15: a conversation that is too long is told apart from other refusals', () => {
  for (const words of [
    'prompt is too long: 210000 tokens > 200000 maximum',
    'Range of input length should be [1, 202745]',
    'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000',
    "This model's maximum context length is 4097 tokens.",
    'Your request exceeded model token limit: 262144',
    'the request exceeds the available context size, try increasing it',
  ]) {
    assert.equal(classOf(400, message(words)), 'context_overflow', words)
  }
  assert.equal(classOf(413, 'Payload Too Large'), 'context_overflow')
  assert.equal(
    classOf(429, {
      error: {
        code: 'rate_limit_exceeded',
        message: 'Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 40000',
      },
    }),
    'context_overflow',
  )
  assert.equal(classOf(429, message('This would exceed the rate limit for long context windows')), 'rate')
})

test('statuses that say when to repeat', () => {
  const classes = [408, 409, 424, 425, 429, 498, 500, 502, 504, 520, 526].map((status) => classOf(status, ''))
  assert.deepEqual(classes, [
    'timeout',
    'server',
    'server',
    'server',
    'rate',
    'overloaded',
    'server',
    'server',
    'timeout',
    'server',
    'server',
  ])
})

test('PS-18: an error inside a stream is classed by its own code', () => {
  assert.equal(streamClassOf({ error: { message: 'Rate limit exceeded: free-models-per-day', code: 429 } }), 'rate')
  assert.equal(streamClassOf({ error: { code: 502, message: 'Provider disconnected' } }), 'server')
  assert.equal(
    streamClassOf({
      error: {
        object: 'error',
        message: 'The model is not multimodal',
        type: 'BadRequestError',
        param: null,
        code: 400,
      },
    }),
    'bad_request',
  )
  assert.equal(streamClassOf({ object: 'error', message: 'x', type: 'BadRequestError', code: 400 }), 'bad_request')
  assert.equal(
    streamClassOf({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    'overloaded',
  )
  assert.equal(streamClassOf({ type: 'error', error: { type: 'invalid_request_error', message: 'x' } }), 'bad_request')
  assert.equal(streamClassOf({ error: 'something broke' }), 'server')
  assert.equal(streamClassOf({ choices: [], error: null }), null)
})

/** No money, in every shape in which one was seen or must be thought of. */
const QUOTA_SHAPES: Readonly<Record<string, object>> = {
  'true beside a sentence': { error: true, message: 'Insufficient balance' },
  'a list of sentences': { error: ['Insufficient balance'] },
  'a list of objects': { error: [{ message: 'x', code: 402 }] },
  'errors in a list': { errors: [{ message: 'Insufficient balance', code: 10000 }], success: false },
  'a number': { error: 402 },
  'a number beside a sentence': { error: 402, message: 'x' },
  'flat, with a number': { code: 402, message: 'x' },
  'flat, with digits': { code: '10401', msg: 'Insufficient balance' },
  'flat, with a word': { code: 'Arrearage', message: 'the account is in arrears' },
  'flat, with names of its own': { error_code: 336501, error_msg: 'Insufficient balance' },
  'flat, with a status in a word': { status: 'error', message: 'Insufficient balance' },
  'flat, with no success': { success: false, message: 'Insufficient balance' },
  'flat, of a type': { type: 'billing_error', status_code: 402, message: 'x' },
  'a status as a number': { error: { status: 402, message: 'x' } },
  'a status as digits': { error: { type: 'x', http_code: '402', message: 'x' } },
  'a status beside a code': { error: { code: 'E17', status_code: 402, message: 'x' } },
  'one inside another': { error: { error: { message: 'x', code: 402 } } },
  'JSON where a sentence belongs': { error: '{"message":"x","code":402}' },
  'JSON in its message': { error: { message: '{"error":{"message":"x","code":402}}', code: 500 } },
  'an object of details': { detail: { message: 'Insufficient balance' } },
  'inside a choice': { choices: [{ index: 0, delta: { content: '' }, error: { code: 402, message: 'x' } }] },
}

for (const [shape, event] of Object.entries(QUOTA_SHAPES)) {
  test(`PS-18: an error is found in a stream, and classed, as ${shape}`, () => {
    assert.equal(streamClassOf(event), 'quota')
  })
}

test('PS-18: without a status and a known code an error inside a stream is classed by what it says', () => {
  for (const [said, expected] of [
    ['Rate limit exceeded', 'rate'],
    ['Too many requests', 'rate'],
    [{ code: 'too_many_requests', message: 'x' }, 'rate'],
    [{ code: 'Throttling.User', message: 'x' }, 'rate'],
    ['Unauthorized', 'auth'],
    [{ message: 'Invalid API key provided' }, 'auth'],
    ['Something broke', 'server'],
    [{ code: 500, message: 'rate limiter crashed' }, 'server'],
  ] as const)
    assert.equal(streamClassOf({ error: said }), expected, JSON.stringify(said))
})

test('what says that there is no error is none', () => {
  for (const event of [
    { choices: [{ index: 0, delta: { content: 'x' } }], error: null, errors: [], success: true },
    { choices: [{ index: 0, delta: { content: 'x' } }], code: 0, message: 'Success' },
    { choices: [{ index: 0, delta: { content: 'x' } }], code: 500, message: 'a chunk that has a choice is an answer' },
    { choices: [], usage: { prompt_tokens: 1 }, code: 0, message: 'Success' },
    { code: '200', message: 'ok' },
    { error: false, message: 'x' },
    { error: 0 },
    { error: '' },
    { error: [] },
    { status: 'processing', message: 'three before you' },
    { type: 'ping', code: 500, message: 'x' },
  ])
    assert.equal(streamClassOf(event), null, JSON.stringify(event))
})

test('RF-03: no money is known by the codes of gateways and in the words of their vendors, under any status', () => {
  for (const status of [400, 403, 429, 500]) {
    for (const error of [
      { code: 'insufficient_user_quota', type: 'new_api_error', message: 'x' },
      { code: 'pre_consume_token_quota_failed', message: 'x' },
      { code: 'Arrearage', message: 'x' },
      { code: 'AccountOverdueError', message: 'x' },
      { message: '账户余额不足' },
    ])
      assert.equal(classOf(status, { error }), 'quota', JSON.stringify(error))
  }
})

test('a limit of a day, a week or a month is waited for by no run, unless it says when to come back', () => {
  for (const message of [
    'You have reached your monthly usage limit',
    'Weekly/Monthly limit exhausted',
    'daily quota used',
  ])
    assert.equal(classOf(429, { error: { message } }), 'quota', message)
  assert.equal(classOf(429, { error: { message: 'daily limit; please retry in 20s' } }), 'rate')
})

test("PS-42: MiniMax's numbers are read as its own, never as HTTP statuses", () => {
  const of = (status_code: number | string) =>
    streamClassOf({ choices: null, base_resp: { status_code, status_msg: 'x' } })
  assert.deepEqual([1002, 1004, 1008, '1008', 2013, 1039, 1027, 1000].map(of), [
    'rate',
    'auth',
    'quota',
    'quota',
    'bad_request',
    'rate',
    'content',
    'server',
  ])
  assert.equal(of(0), null)
})

test('2013 of MiniMax stands for more than one refusal, which its words tell apart', () => {
  const of = (words: string) =>
    classOf(400, { type: 'error', error: { type: 'bad_request_error', message: `${words} (2013)` } })
  assert.equal(of('invalid params, context window exceeds limit'), 'context_overflow')
  assert.equal(of("invalid params, unknown model 'minimax-m3'"), 'not_found')
  assert.equal(of('invalid params, invalid thinking.type: "enabled"'), 'bad_request')
  assert.equal(of('invalid params, too busy a schema'), 'bad_request')
})

test('the words are found in every shape, and cut to one line of 500 characters', () => {
  const words = (body: string) => errorDetail(providerErrorOf(body))
  assert.equal(words('{"error":{"type":"t","code":"c","message":"m"}}'), 't c: m')
  assert.equal(words('[{"error":{"code":400,"message":"m","status":"S"}}]'), 'S 400: m')
  assert.equal(words('{"detail":"not authenticated"}'), 'not authenticated')
  assert.equal(words('{"detail":[{"loc":["body","x"],"msg":"extra"}]}'), 'body.x: extra')
  assert.equal(words('{"status":404,"message":"No such model"}'), 'No such model')
  assert.equal(
    words('{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"slow down"}}}'),
    '429: Provider returned error slow down',
  )
  assert.equal(words(''), 'no words at all')
  const page = words(`<html>\n<body>${'x '.repeat(5000)}</body></html>`)
  assert.equal(page.length, 500)
  assert.ok(!page.includes('\n'))
})
