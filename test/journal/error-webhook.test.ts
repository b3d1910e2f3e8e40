/** Errors that are told on: which ones, how often, signed how, and that nobody ever waits for it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { EgressAnswer, EgressRequest } from '../../src/egress/egress.ts'
import type { JournalEntry } from '../../src/engine/ports.ts'
import { createErrorDigest, kindOf, WINDOW_MS } from '../../src/journal/error-digest.ts'
import { createErrorWebhook } from '../../src/journal/error-webhook.ts'
import { itemOf } from '../../src/journal/journal-item.ts'
import { NOON } from './items.ts'

const SECRET = 'callback-SECRET-0001'
const BUG = { event: 'bug', code: null }
const TAKEN: EgressAnswer = {
  kind: 'response',
  response: { status: 204, headers: {}, body: (async function* () {})(), destroy: () => {} },
}

interface Post {
  readonly request: EgressRequest
  readonly body: {
    readonly event: string
    readonly code: string | null
    readonly count: number
    readonly entry: JournalEntry
  }
}

function webhook(answer: (post: Post) => EgressAnswer | Promise<EgressAnswer> = () => TAKEN, timeoutMs?: number) {
  const posts: Post[] = []
  const failures: object[] = []
  // `setBy`: somebody has set the machine's clock.
  const clock = { ms: NOON, setBy: 0 }
  const hook = createErrorWebhook({
    url: 'https://alerts.example:8443/hook/path-SECRET',
    secrets: [SECRET],
    egress: {
      async request(request) {
        const post = { request, body: JSON.parse(String(request.body)) as Post['body'] }
        posts.push(post)
        return answer(post)
      },
    },
    now: () => clock.ms + clock.setBy,
    elapsed: () => clock.ms,
    onFailure: (facts) => void failures.push(facts),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })
  let made = 0
  const note = (entry: JournalEntry) =>
    hook.note(entry, itemOf(`0mfqvd3a0-${String((made += 1)).padStart(4, '0')}`, entry, null))
  return { hook, note, posts, failures, clock }
}

const never = new AbortController().signal
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('errors are told of: bugs, lost results, broken write tools, keys and quotas; nothing else', () => {
  const told = (event: string, code?: string) =>
    kindOf({ event, run_id: 'run_1', ...(code === undefined ? {} : { code }) })
  const always = ['bug', 'crashed', 'undelivered', 'dropped_undelivered', 'write_not_deferred']
  for (const event of [...always, 'log_dir_failed', 'state_lost', 'state_unreadable'])
    assert.deepEqual(told(event), { event, code: null })
  for (const code of ['provider_auth', 'provider_quota'])
    assert.deepEqual(told('failed', code), { event: 'failed', code })
  assert.deepEqual([told('failed', 'provider_overloaded'), told('ended'), told('retry')], [null, null, null])
})

test('a post is signed by Standard Webhooks, goes to its own host, and holds the entry', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { hook, note, posts } = webhook()
  note({ event: 'failed', run_id: 'run_1', code: 'provider_auth', detail: 'refused' })
  await hook.close(never)
  const [post] = posts
  assert.ok(post !== undefined && posts.length === 1)
  const { request, body } = post
  assert.deepEqual([request.purpose, request.ownHosts], ['error_webhook', ['alerts.example:8443']])
  assert.deepEqual([body.event, body.code, body.count, body.entry['detail']], ['failed', 'provider_auth', 1, 'refused'])
  assert.match(request.headers['webhook-id'] ?? '', /^err_[0-9a-f]{32}$/)
  assert.equal(request.headers['webhook-timestamp'], String(NOON / 1000))
  assert.equal(JSON.stringify(request.headers).includes(SECRET), false)
  t.mock.timers.reset()
  t.mock.timers.enable({ apis: ['Date'], now: NOON })
  new Webhook(SECRET, { format: 'raw' }).verify(String(request.body), { ...request.headers })
})

test('more of a kind within a minute are one post when it is over', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { hook, note, posts, clock } = webhook()
  for (let n = 0; n < 1000; n += 1) note({ event: 'bug', run_id: `run_${n}`, stack: 'x' })
  note({ event: 'undelivered', run_id: 'run_1' })
  await turn()
  assert.deepEqual(
    posts.map(({ body }) => [body.event, body.count]),
    [
      ['bug', 1],
      ['undelivered', 1],
    ],
  )
  clock.ms += WINDOW_MS
  t.mock.timers.tick(WINDOW_MS)
  await turn()
  assert.deepEqual([posts.length, posts[2]?.body.count, posts[2]?.body.entry.run_id], [3, 999, 'run_999'])
  // Then nothing is counted, and the next one is told at once.
  clock.ms += WINDOW_MS
  t.mock.timers.tick(WINDOW_MS)
  note({ event: 'bug', run_id: 'run_next', stack: 'x' })
  await turn()
  assert.deepEqual([posts.length, posts[3]?.body.count], [4, 1])
  await hook.close(never)
})

test('no more than the bound leave in a minute, and none is forgotten', () => {
  const digest = createErrorDigest(2)
  const kinds = ['a', 'b', 'c'].map((event) => ({ event, code: null }))
  const moment = (after: number) => ({ at: NOON + after, elapsed: after })
  const first = kinds.map((kind) => digest.add(kind, '{}', moment(0)))
  assert.deepEqual(
    first.map((notice) => notice?.event),
    ['a', 'b', undefined],
  )
  assert.equal(digest.add({ event: 'c', code: null }, '{}', moment(1)), null)
  const due = digest.due(WINDOW_MS)
  assert.deepEqual(
    due.map(({ event, count, firstAt, lastAt }) => [event, count, firstAt, lastAt]),
    [['c', 2, NOON, NOON + 1]],
  )
  assert.deepEqual(digest.rest(), [])
})

test('a window that is over tells of its own kind only, and of no more kinds than the bound lets out', () => {
  const digest = createErrorDigest(1)
  const add = (event: string, elapsed: number) =>
    digest.add({ event, code: null }, '{}', { at: NOON + elapsed, elapsed })?.event
  assert.deepEqual([add('a', 0), add('b', 0), add('c', 0), add('d', 5)], ['a', undefined, undefined, undefined])
  const due = (elapsed: number) => digest.due(elapsed).map(({ event }) => event)
  assert.deepEqual(due(WINDOW_MS - 1), [])
  assert.deepEqual(due(WINDOW_MS), ['b'])
  assert.deepEqual(due(WINDOW_MS + 5), [])
  assert.deepEqual([due(2 * WINDOW_MS), due(2 * WINDOW_MS + 5), due(3 * WINDOW_MS + 5)], [['c'], [], ['d']])
  assert.equal(add('a', 3 * WINDOW_MS + 6), undefined)
})

test('who sets the clock, to whichever side, silences no error and lets no flood out', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  for (const setBy of [-3_600_000, -400 * 86_400_000, 86_400_000]) {
    const { hook, note, posts, clock } = webhook()
    note({ event: 'bug', run_id: 'run_1' })
    clock.setBy = setBy
    for (let n = 0; n < 5; n += 1) note({ event: 'bug', run_id: 'run_2' })
    await turn()
    assert.equal(posts.length, 1, `${setBy}`)
    clock.ms += WINDOW_MS
    t.mock.timers.tick(WINDOW_MS)
    await turn()
    assert.deepEqual([posts.length, posts[1]?.body.count], [2, 5], `${setBy}`)
    await hook.close(never)
  }
})

test('what is counted is told at the end', async () => {
  const digest = createErrorDigest()
  digest.add(BUG, '{}', { at: NOON, elapsed: 0 })
  digest.add(BUG, '{}', { at: NOON, elapsed: 0 })
  assert.deepEqual(
    digest.rest().map(({ count }) => count),
    [1],
  )
  const { hook, note, posts } = webhook()
  note({ event: 'bug', run_id: 'run_1' })
  note({ event: 'bug', run_id: 'run_2' })
  await hook.close(never)
  assert.deepEqual(
    posts.map(({ body }) => body.count),
    [1, 1],
  )
  note({ event: 'undelivered', run_id: 'run_3' })
  await turn()
  assert.equal(posts.length, 2)
})

test('a post that fails is told once with the host only, and is not repeated', async () => {
  const answers: EgressAnswer[] = [
    { ...TAKEN, response: { ...TAKEN.response, status: 302 } },
    { kind: 'fault', fault: { kind: 'connect', message: 'could not connect to alerts.example' } },
    { kind: 'refused', refusal: { reason: 'address_blocked', host: 'alerts.example' } },
  ] as EgressAnswer[]
  let next = 0
  const { hook, note, posts, failures } = webhook(() => answers[next++] ?? TAKEN)
  for (const event of ['bug', 'undelivered', 'write_not_deferred']) note({ event, run_id: 'run_1' })
  await hook.close(never)
  assert.equal(posts.length, 3)
  assert.deepEqual(failures, [
    { status: 302, error: null },
    { status: null, error: 'could not connect to alerts.example' },
    { status: null, error: 'not let out to alerts.example: address_blocked' },
  ])
})

test('a receiver that never answers holds up neither the journal nor the end', async () => {
  const hangs = ({ request }: Post) =>
    new Promise<EgressAnswer>((resolve) => {
      request.signal.addEventListener('abort', () =>
        resolve({ kind: 'fault', fault: { kind: 'aborted', message: 'given up' } }),
      )
    })
  const { hook, note, posts, failures } = webhook(hangs)
  for (const event of ['bug', 'undelivered', 'write_not_deferred']) note({ event, run_id: 'run_1' })
  await hook.close(AbortSignal.abort())
  assert.equal(posts.length, 1)
  assert.deepEqual(failures, [{ status: null, error: 'given up' }])
})
