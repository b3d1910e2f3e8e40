/** The demo as a process: what a newcomer sees, that it ends well, and that it says so when it does not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asksFor, refuses, says, startProvider } from '../fakes/provider-server.ts'
import { type Demo, runDemo } from './run-demo.ts'

/** Played once, looked at twice. */
let played: Promise<Demo> | null = null
const scripted = () => (played ??= runDemo())

test('the demo plays the whole conversation without a key, and everything is closed behind it', async () => {
  const { code, stdout, stderr, growth } = await scripted()
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })

  const answer = 'Order 12345, the blue teapot, was delivered on 2026-11-28. Has it not reached you?'
  const expected = [
    /^wait +the model could not answer; next try in \d+ ms$/m,
    /^tool 1 +Looking at the order…$/m,
    new RegExp(`^assistant +${RegExp.escape(answer)}$`, 'm'),
    /^done +completed$/m,
    /^done +awaiting_tool, calls that wait for a decision: 1$/m,
    /^approve\? +createRefund: 39\.9 for order 12345, customer u_15$/m,
    /carried out once: \{"refund_id":"R-1001","order_id":"12345","amount":39\.9,"currency":"EUR"\}$/m,
    /^assistant +It is done: refund R-1001 of 39\.9 EUR is on its way to you\.$/m,
    /^8 messages in the conversation, one refund made$/m,
  ]
  for (const line of expected) assert.match(stdout, line)
  assert.equal(stdout.match(/signature verified \(webhook-id run_\w+\)/g)?.length, 3)
  assert.ok(!stdout.includes('\u001b'), 'no colours where there is no terminal')
  assert.ok(
    growth.some((seen) => answer.startsWith(/assistant +(Order [^\n]*)$/.exec(seen)?.[1] ?? 'nothing')),
    'the answer was shown while it came',
  )

  const [, seconds] = /everything is closed; (\d+\.\d) s$/m.exec(stdout) ?? []
  assert.ok(Number(seconds) < 15, `it took ${seconds} s`)
  const [, engine = ''] = /^engine +(http:\S+),/m.exec(stdout) ?? []
  await assert.rejects(fetch(`${engine}/health`), 'the engine has ended')
})

test('the demo shows each attempt of a run, the refused one included, and what all of it cost', async () => {
  const { stdout } = await scripted()
  const tables = [...stdout.matchAll(/^ +step .*\n((?:^ +\d.*\n)+)/gm)].map(([, rows = '']) => rows.trim().split('\n'))
  const cells = tables.map((rows) => rows.map((row) => row.trim().split(/ {2,}/)))
  assert.deepEqual(
    cells.map((rows) =>
      rows.slice(0, -1).map(([step, attempt, provider, , status]) => [step, attempt, provider, status]),
    ),
    [
      [
        ['1', '1', 'scripted', 'failed: rate'],
        ['1', '2', 'scripted', 'ok'],
        ['2', '1', 'scripted', 'ok'],
      ],
      [['1', '1', 'scripted', 'ok']],
      [['1', '1', 'scripted', 'ok']],
    ],
  )
  for (const rows of cells) {
    const costs = rows.slice(0, -1).map((row) => Number(row.at(-1)))
    const [, sum] = /, (\d\.\d+) USD$/.exec(rows.at(-1)?.[0] ?? '') ?? []
    assert.equal(costs.reduce((left, right) => left + right).toFixed(6), Number(sum).toFixed(6))
  }
})

const order = { orderId: '12345' }
const refund = { ...order, amount: 39.9, reason: 'it is broken' }

for (const dialect of ['openai-chat', 'anthropic'] as const) {
  test(`the same conversation goes by ${dialect}, with a model that asks back before it acts`, async (t) => {
    const provider = await startProvider(
      t,
      [
        asksFor(['getOrder', order]),
        says('It was ', 'delivered.'),
        says('Shall I ask for it?'),
        asksFor(['createRefund', refund]),
        says('It is done.'),
      ],
      dialect,
    )
    const { code, stdout, stderr } =
      dialect === 'anthropic'
        ? await runDemo(['--provider', 'anthropic', '--model', 'claude-sonnet-4-5', '--pricing', '3,15'], {
            ANTHROPIC_API_KEY: 'key-of-the-environment',
            ANTHROPIC_BASE_URL: provider.url,
          })
        : await runDemo(['--provider', 'openai-compatible', '--model', 'fake', '--base-url', `${provider.url}/v1`], {
            OPENAI_COMPATIBLE_API_KEY: 'key-of-the-environment',
          })
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    assert.match(stdout, /^customer +Yes\. Please ask for the full refund now\.$/m)
    assert.match(stdout, /^assistant +It is done\.$/m)
    assert.match(stdout, dialect === 'anthropic' ? /^ +15 tokens, 0\.000105 USD$/m : /; no cost without pricing$/m)
    assert.equal(provider.received.length, 5)
    for (const { headers } of provider.received) {
      assert.equal(headers['x-api-key'] ?? headers.authorization?.replace('Bearer ', ''), 'key-of-the-environment')
    }
  })
}

test('a model that never asks for the refund ends the demo with a line that says so', async (t) => {
  const provider = await startProvider(
    t,
    Array.from({ length: 4 }, () => says('No.')),
  )
  const flags = ['--provider', 'openai-compatible', '--model', 'fake', '--base-url', `${provider.url}/v1`]
  const { code, stderr } = await runDemo(flags)
  assert.equal(code, 1)
  assert.match(stderr, /^demo failed: no refund was asked for; the last run ended completed\n/)
})

test('a key that the provider refuses ends the demo with a line that says so', async (t) => {
  const provider = await startProvider(t, [refuses(401)])
  const flags = ['--provider', 'openai-compatible', '--model', 'fake', '--base-url', `${provider.url}/v1`]
  const { code, stdout, stderr } = await runDemo(flags)
  assert.equal(code, 1)
  assert.match(stderr, /^demo failed: the run failed, provider_auth: /)
  assert.match(stdout, /failed: auth/)
  assert.doesNotMatch(stdout, /^end /m)
})

test('wrong flags end with 2 and one sentence; --help ends with 0 and the usage', async () => {
  const wrong = await runDemo(['--provdier', 'anthropic'])
  assert.deepEqual({ code: wrong.code, stdout: wrong.stdout }, { code: 2, stdout: '' })
  assert.match(wrong.stderr, /^demo: Unknown option '--provdier'\ndemo: npm run demo -- --help /)
  const help = await runDemo(['--help'])
  assert.deepEqual({ code: help.code, stderr: help.stderr }, { code: 0, stderr: '' })
  assert.match(help.stdout, /^Usage: npm run demo/)
})
