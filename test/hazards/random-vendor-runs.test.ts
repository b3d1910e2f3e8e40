/**
 * Random conversations that go from vendor to vendor, in the real runs, loop, chain, dialects and tools, with no socket and a clock
 * that is moved by hand. Whatever models, tools, faults, cancels and limits do, each run ends once and truthfully; every vendor
 * takes what the engine sends it and would take the history that is left; nothing stays open. The seed is told.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { StoredMessage } from '../../src/contract/message.ts'
import type { Attempt } from '../../src/contract/usage.ts'
import { Tape } from '../engine/random-draws.ts'
import { userMessage } from '../fakes/run-request.ts'
import { VirtualClock } from '../fakes/virtual-clock.ts'
import { billedTokens, goneOn, START, VendorWorld, vendorsOfWorld, type Ended } from './vendor-runs.ts'

const CONVERSATIONS = 4
const RUNS_EACH = 2
const WORLDS = 2500

const tapes = fc.array(fc.uint8Array({ minLength: 40, maxLength: 160, size: 'max' }), {
  minLength: CONVERSATIONS,
  maxLength: CONVERSATIONS,
})

test(
  `what ${WORLDS * CONVERSATIONS * RUNS_EACH} random runs leave is true, and every vendor takes it`,
  { timeout: 600_000 },
  async (t) => {
    const seed = Math.floor(Math.random() * 2 ** 31)
    t.diagnostic(`seed ${seed}`)
    const seen = new Map<string, number>()
    const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)
    await fc.assert(
      fc.asyncProperty(tapes, async (numbers) => {
        await playWorld(numbers, count)
      }),
      { seed, numRuns: WORLDS },
    )
    t.diagnostic(JSON.stringify(Object.fromEntries([...seen].toSorted(([a], [b]) => (a < b ? -1 : 1)))))
    for (const what of EVERYTHING) assert.ok((seen.get(what) ?? 0) > 0, `${what} was never seen`)
  },
)

const EVERYTHING = [
  ...vendorsOfWorld.map((vendor) => `answered ${vendor.profile ?? vendor.provider}`),
  'completed',
  'awaiting_tool',
  'stopped_limit',
  'cancelled',
  'failed',
  'drained',
  'exact',
  'estimated',
  'reset',
  ...['ok', 'error', 'deferred', 'invalid', 'refused', 'not_sent', 'unknown'].map((status) => `call ${status}`),
]

async function playWorld(numbers: readonly Uint8Array[], count: (what: string) => void) {
  const clock = new VirtualClock(START)
  clock.install()
  const world = new VendorWorld()
  const stop = numbers[0]?.at(-1) === 77
  if (stop) setTimeout(() => world.shutdown(), 500)
  try {
    const talks = numbers.map(async (tape, index) => talk(world, new Tape(tape), `talk-${index}`, count))
    await clock.until(Promise.all(talks))
    assert.deepEqual(world.faults, [])
    assert.deepEqual(
      world.journal.filter(({ event }) => event === 'bug'),
      [],
    )
    // Connections get a moment to end by themselves.
    await clock.pass(10_000)
    const { active, keys, waiting } = world.gate.gauge()
    assert.deepEqual(
      { open: world.open, timers: clock.pending, active, keys, waiting },
      { open: 0, timers: 0, active: 0, keys: 0, waiting: 0 },
    )
  } finally {
    clock.uninstall()
    world.close()
  }
}

async function talk(world: VendorWorld, tape: Tape, name: string, count: (what: string) => void): Promise<void> {
  let history: StoredMessage[] = [userMessage('Where is it?') as unknown as StoredMessage]
  for (let number = 0; number < RUNS_EACH; number += 1) {
    const ended = await world.run(tape, `${name}-${number}`, history)
    for (const what of checkEnded(ended)) count(what)
    history = goneOn(ended, `And now, ${number}?`)
    if (number < RUNS_EACH - 1) continue
    for (const vendor of vendorsOfWorld) assert.equal(world.refusalOf(vendor, history), '', vendor.provider)
  }
}

function checkEnded(ended: Ended): string[] {
  const { events, facts, result } = ended
  checkAttempts(ended)
  assert.equal(textSeen(ended), result.text)
  const done = events.filter(({ event }) => event === 'done')
  assert.equal(done.length, 1)
  assert.equal(done[0]?.event === 'done' && done[0].data.status, result.status)
  assert.equal(events.at(-1)?.event, 'done')
  for (const { attempts, call_id, status } of result.tool_calls) {
    assert.equal(facts.toolRequests.get(call_id) ?? 0, attempts, `${call_id} ${status}`)
  }
  return [
    result.status,
    ...result.tool_calls.map(({ status }) => `call ${status}`),
    ...facts.requests.map(({ vendor }) => `answered ${vendor.profile ?? vendor.provider}`),
    ...result.usage.attempts.map(({ estimated }) => (estimated ? 'estimated' : 'exact')),
    ...result.usage.attempts.filter(isDrained).map(() => 'drained'),
    ...events.flatMap(({ event }) => (event === 'reset' ? ['reset'] : [])),
  ]
}

const isDrained = ({ error_code, estimated, total_tokens }: Attempt) =>
  error_code === 'cancelled' && !estimated && total_tokens > 0

/** Each request is one attempt, in order, with the figures that its vendor counted. */
function checkAttempts({ facts, result }: Ended): void {
  const { attempts, ...totals } = result.usage
  // Failed, and no answer of any kind: the request reached nobody.
  const reached = attempts.filter(({ http_status, status }) => !(http_status === null && status === 'failed'))
  assert.equal(reached.length, facts.requests.length)
  for (const [index, attempt] of reached.entries()) {
    const heard = facts.requests[index]
    assert.ok(heard !== undefined)
    assert.equal(attempt.provider, heard.vendor.provider)
    if (attempt.estimated) continue
    const { input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, total_tokens } =
      attempt
    const told = { input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, total_tokens }
    // A refusal, or an error before a word, costs nothing.
    assert.deepEqual(told, billedTokens(heard))
    if (attempt.status === 'ok') assert.ok(heard.billed.usage !== null)
  }
  for (const name of [
    'input_tokens',
    'cache_read_tokens',
    'cache_write_tokens',
    'output_tokens',
    'total_tokens',
  ] as const) {
    assert.equal(
      totals[name],
      attempts.reduce((sum, attempt) => sum + attempt[name], 0),
    )
  }
  assert.equal(
    totals.complete,
    attempts.every(({ status }) => status !== 'unknown'),
  )
}

/** What a reader has in view at the end who knows the offset rule and resets. */
function textSeen({ events, result }: Ended): string {
  const steps: string[] = []
  for (const { event, data } of events) {
    if (event === 'step') steps[data.step] = ''
    else if (event === 'reset') steps[data.step] = ''
    else if (event === 'delta') {
      const before = steps[data.step] ?? ''
      assert.equal(data.offset, before.length)
      steps[data.step] = before.slice(0, data.offset) + data.text
    }
  }
  const last = steps.at(-1) ?? ''
  // A stop between two texts leaves the one before it; blank text is none.
  if (result.status === 'cancelled' || result.error?.code === 'engine_shutdown')
    return steps.findLast((text) => text?.trim()) ?? ''
  return result.text === '' && last.trim() === '' ? '' : last
}
