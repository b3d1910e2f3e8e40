/** One name is asked for once at a time, and names whose servers are silent hold one thread of the resolver between them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LookupAddress } from 'node:dns'
import { createSharedLookup } from '../../src/egress/shared-lookup.ts'
import { call, faultOf, openEgress } from './test-egress.ts'

const HINTS = { all: true, hints: 0 } as const
const HERE: LookupAddress[] = [{ address: '93.184.216.34', family: 4 }]

/** A resolver whose answers the test gives, and a clock that it sets. */
function resolver() {
  const asked: string[] = []
  const held: { hostname: string; answer: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void }[] = []
  const clock = { ms: 0 }
  const shared = createSharedLookup({
    lookup: (hostname, _options, answer) => {
      asked.push(hostname)
      held.push({ hostname, answer })
    },
    patienceMs: 10_000,
    now: () => clock.ms,
  })
  const heard: string[] = []
  return {
    asked,
    heard,
    clock,
    ask: (hostname: string, then: () => void = () => {}) =>
      shared(hostname, HINTS, (error, found) => {
        heard.push(`${hostname} ${error?.code ?? found.map(({ address }) => address).join()}`)
        then()
      }),
    /** The oldest question about it is answered: there is a server, or none after so long. */
    finds: (hostname: string) => take(hostname).answer(null, HERE),
    fails: (hostname: string, afterMs: number) => {
      clock.ms += afterMs
      take(hostname).answer(Object.assign(new Error(), { code: 'EAI_AGAIN' }), [])
    },
    underWay: () => held.map(({ hostname }) => hostname),
  }

  function take(hostname: string) {
    const index = held.findIndex((one) => one.hostname === hostname)
    const [question] = held.splice(index, 1)
    assert.ok(index >= 0 && question !== undefined, `${hostname} is not asked for`)
    return question
  }
}

test('whoever asks for a name that is being asked for gets that answer, and no answer is kept', () => {
  const { ask, asked, heard, finds } = resolver()
  for (let count = 0; count < 100; count += 1) ask('tools.example')
  ask('other.example')
  assert.deepEqual(asked, ['tools.example', 'other.example'])
  finds('tools.example')
  assert.deepEqual(heard, Array(100).fill('tools.example 93.184.216.34'))
  ask('tools.example')
  assert.deepEqual(asked, ['tools.example', 'other.example', 'tools.example'])
})

test('names that were silent are asked for one after another, and keep no other name waiting', () => {
  const { ask, underWay, fails, finds, heard } = resolver()
  for (const name of ['dead-1', 'dead-2', 'dead-3']) {
    ask(name)
    fails(name, 9_000)
  }
  heard.length = 0
  for (const name of ['dead-1', 'dead-2', 'dead-3', 'alive', 'dead-2']) ask(name)
  assert.deepEqual(underWay(), ['dead-1', 'alive'])
  finds('alive')
  fails('dead-1', 9_000)
  assert.deepEqual(underWay(), ['dead-2'])
  fails('dead-2', 100)
  assert.deepEqual(heard, ['alive 93.184.216.34', 'dead-1 EAI_AGAIN', 'dead-2 EAI_AGAIN', 'dead-2 EAI_AGAIN'])
  finds('dead-3')
  // Those that answered, if only that there is no such name, stand in no line any more; the silent one does.
  for (const name of ['dead-1', 'dead-2', 'dead-3']) ask(name)
  assert.deepEqual(underWay(), ['dead-1', 'dead-2', 'dead-3'])
  ask('dead-4')
  fails('dead-4', 9_000)
  ask('dead-4')
  assert.deepEqual(underWay(), ['dead-1', 'dead-2', 'dead-3'])
})

test('of names that never answered four are asked for at once, and one that has answered waits for none of them', () => {
  const { ask, underWay, fails, finds } = resolver()
  ask('alive')
  finds('alive')
  for (const name of ['new-1', 'new-2', 'new-3', 'new-4', 'new-5', 'new-6', 'alive']) ask(name)
  assert.deepEqual(underWay(), ['new-1', 'new-2', 'new-3', 'new-4', 'alive'])
  finds('new-2')
  assert.deepEqual(underWay(), ['new-1', 'new-3', 'new-4', 'alive', 'new-5'])
  for (const name of ['new-1', 'new-3']) fails(name, 9_000)
  assert.deepEqual(underWay(), ['new-4', 'alive', 'new-5', 'new-6'])
  // Silent by now: they are in another line, and the fifth place is theirs.
  for (const name of ['new-1', 'new-3', 'new-2']) ask(name)
  assert.deepEqual(underWay(), ['new-4', 'alive', 'new-5', 'new-6', 'new-1', 'new-2'])
  // A name that stops answering is a stranger again.
  fails('alive', 100)
  for (const name of ['new-7', 'new-8', 'alive']) ask(name)
  assert.deepEqual(underWay(), ['new-4', 'new-5', 'new-6', 'new-1', 'new-2', 'new-7'])
})

test('a name in the line whose callers have all gone is not asked for', () => {
  const { ask, asked, fails, heard, underWay } = resolver()
  for (const name of ['dead-1', 'dead-2', 'dead-3']) {
    ask(name)
    fails(name, 9_000)
  }
  heard.length = 0
  asked.length = 0
  ask('dead-1')
  ask('dead-2')
  ask('dead-3', () => ask('dead-3'))
  fails('dead-1', 10_000)
  // The second call for the third name came in time to be asked for.
  assert.deepEqual(heard.toSorted(), ['dead-1 EAI_AGAIN', 'dead-2 ETIMEDOUT', 'dead-3 ETIMEDOUT'])
  assert.deepEqual(asked, ['dead-1', 'dead-3'])
  assert.deepEqual(underWay(), ['dead-3'])
})

test('of a thousand silent names the oldest is forgotten', () => {
  const { ask, fails, underWay } = resolver()
  for (let index = 0; index <= 1_000; index += 1) {
    ask(`dead-${index}`)
    fails(`dead-${index}`, 9_000)
  }
  ask('dead-1')
  ask('dead-2')
  ask('dead-0')
  assert.deepEqual(underWay(), ['dead-1', 'dead-0'])
})

test('callers with one name in their addresses share its lookup, whatever they call, and each has its own deadline', async (t) => {
  const asked: string[] = []
  const egress = openEgress(t, {
    devInsecure: false,
    allow: '*.example:*',
    allowProviders: '*.example:*',
    connectTimeoutMs: 50,
    lookup: (hostname) => void asked.push(hostname),
  })
  const calls = (['tool', 'callback', 'provider'] as const).flatMap((purpose) => [
    egress.request(call('https://dead.example/a', { purpose })),
    egress.request(call('https://dead.example:8443/b', { purpose })),
  ])
  for (const answer of await Promise.all(calls)) assert.equal(faultOf(answer).kind, 'timeout')
  assert.deepEqual(asked, ['dead.example'])
})
