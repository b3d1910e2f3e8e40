/** Who gets which token, and how often one is fetched. The clock and the fetch are the test's own. */
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { faultOf } from '../../../src/providers/attempt-fault.ts'
import type { TokenAnswer } from '../../../src/providers/gigachat/access-token.ts'
import { EARLY_MS, TokenCache } from '../../../src/providers/gigachat/token-cache.ts'

const never = new AbortController().signal
const FAILED: TokenAnswer = { ok: false, fault: faultOf('server', 'down') }

function token(value: string, expiresAt: number): TokenAnswer {
  return { ok: true, token: { value, expiresAt } }
}

/** Fetches that are answered by the test, in any order. */
function scripted() {
  const fetches: { readonly signal: AbortSignal; readonly answer: (answer: TokenAnswer) => void }[] = []
  const fetch = (signal: AbortSignal) =>
    new Promise<TokenAnswer>((resolve) => fetches.push({ signal, answer: resolve }))
  return { fetches, fetch }
}

/** A cache under a clock that stands where it is put. */
function openCache(most?: number) {
  const clock = { now: 1_800_000_000_000 }
  const cache = new TokenCache({ now: () => clock.now, ...(most === undefined ? {} : { most }) })
  const value = async (name: string, fetch: Parameters<TokenCache['get']>[1]) => {
    const answer = await cache.get(name, fetch, never)
    return answer?.ok === true ? answer.token.value : answer
  }
  return { cache, clock, value }
}

test('runs that need a token at once wait for one fetch, and later ones take it from memory', async () => {
  const { clock, value } = openCache()
  const { fetch, fetches } = scripted()
  const waiting = Array.from({ length: 50 }, () => value('a', fetch))
  assert.equal(fetches.length, 1)
  fetches[0]?.answer(token('T1', clock.now + 1_800_000))
  assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['T1']))
  assert.equal(await value('a', fetch), 'T1')
  assert.equal(fetches.length, 1)
})

test('a token is replaced a minute before it expires', async () => {
  const { clock, value } = openCache()
  const start = clock.now
  let count = 0
  const fetch = async () => token(`T${(count += 1)}`, clock.now + 1_800_000)
  assert.equal(await value('a', fetch), 'T1')
  clock.now = start + 1_800_000 - EARLY_MS - 1
  assert.equal(await value('a', fetch), 'T1')
  clock.now = start + 1_800_000 - EARLY_MS
  assert.equal(await value('a', fetch), 'T2')
  assert.equal(count, 2)
})

test('a refused token is forgotten, but not a newer one in its place', async () => {
  const { cache, clock, value } = openCache()
  let count = 0
  const fetch = async () => token(`T${(count += 1)}`, clock.now + 1_800_000)
  assert.equal(await value('a', fetch), 'T1')
  cache.drop('a', 'T1')
  assert.equal(await value('a', fetch), 'T2')
  cache.drop('a', 'T1')
  cache.drop('b', 'T2')
  assert.equal(await value('a', fetch), 'T2')
  assert.equal(count, 2)
})

test('a failed fetch is told to all who wait for it and then forgotten', async () => {
  const { clock, value } = openCache()
  const { fetch, fetches } = scripted()
  const waiting = [value('a', fetch), value('a', fetch)]
  fetches[0]?.answer(FAILED)
  assert.deepEqual(await Promise.all(waiting), [FAILED, FAILED])
  const again = value('a', fetch)
  assert.equal(fetches.length, 2)
  fetches[1]?.answer(token('T', clock.now + 1_800_000))
  assert.equal(await again, 'T')
})

test('CA-05: who aborts leaves at once; the fetch goes on for the others and ends with the last of them', async () => {
  const { cache, clock, value } = openCache()
  const { fetch, fetches } = scripted()
  const [first, second] = [new AbortController(), new AbortController()]
  const one = cache.get('a', fetch, first.signal)
  const two = cache.get('a', fetch, second.signal)
  first.abort()
  assert.equal(await one, null)
  assert.equal(fetches[0]?.signal.aborted, false)
  second.abort()
  assert.equal(await two, null)
  assert.equal(fetches[0]?.signal.aborted, true)
  assert.equal(await cache.get('a', fetch, second.signal), null, 'an aborted run asks for nothing')
  assert.equal(fetches.length, 1)

  // The abandoned fetch ends late: it takes nothing from the one that began after it.
  const third = value('a', fetch)
  const fourth = value('a', fetch)
  assert.equal(fetches.length, 2)
  fetches[0]?.answer(FAILED)
  await new Promise(setImmediate)
  const fifth = value('a', fetch)
  assert.equal(fetches.length, 2)
  fetches[1]?.answer(token('T', clock.now + 1_800_000))
  assert.deepEqual(await Promise.all([third, fourth, fifth]), ['T', 'T', 'T'])
})

test('keys do not share tokens, and the oldest goes where there are too many', async () => {
  const { clock, value } = openCache(2)
  let count = 0
  const fetch = async () => token(`T${(count += 1)}`, clock.now + 1_800_000)
  assert.deepEqual(
    [await value('a', fetch), await value('b', fetch), await value('c', fetch), await value('c', fetch)],
    ['T1', 'T2', 'T3', 'T3'],
  )
  assert.equal(await value('b', fetch), 'T2')
  assert.equal(await value('a', fetch), 'T4')
})

test('SD-03: waiting leaves no listener on a signal', async () => {
  const { cache, clock } = openCache()
  const { signal } = new AbortController()
  for (let turn = 0; turn < 20; turn += 1) {
    await cache.get(`${turn}`, async () => token('T', clock.now + 1_800_000), signal)
  }
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})
