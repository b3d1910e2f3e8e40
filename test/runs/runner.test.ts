/** A cancelled run that is drained (SPEC §8.3): its end is told at once, its result follows, and the wait for it is bounded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callId, runId } from '../../src/contract/ids.ts'
import type { RunResult } from '../../src/contract/result.ts'
import type { Interruption } from '../../src/engine/ports.ts'
import { openRecord } from '../../src/engine/record.ts'
import { DRAIN_MS, createRunner } from '../../src/runs/runner.ts'
import { say } from '../fakes/engine.ts'
import { runRequest } from '../fakes/run-request.ts'

const START = Date.parse('2026-11-30T12:00:00.000Z')

/** A run whose model says `Half`, is cancelled, and is drained until the test or the runner ends it. */
async function cancelledRun(limits: { readonly timeout_ms?: number } = {}) {
  const record = openRecord(
    runId('01JDZZZZZZZZZZZZZZZZZZZZZZ'),
    runRequest({ limits: { on_cancel: 'drain', ...limits } }),
    [],
    START,
  )
  const story: string[] = []
  const timers: { readonly at: number; readonly run: () => void; live: boolean }[] = []
  const stops: Interruption[] = []
  const cancelled = new AbortController()
  const shutdown = new AbortController()
  const told = Promise.withResolvers<void>()
  const read = Promise.withResolvers<void>()
  const runner = createRunner({
    sourcesFor: () => ({
      model: (ask, tap, signal, drain) =>
        new Promise((resolve) => {
          drain?.addEventListener('abort', () => {
            story.push(`drain ended: ${String(drain.reason)}`)
            read.resolve()
          })
          signal.addEventListener('abort', () =>
            resolve({ kind: 'interrupted', shown: 'Half', target: ask.firstTarget, drained: read.promise }),
          )
          tap.text('Half')
          cancelled.abort()
        }),
      tools: { checkArgs: () => [], call: () => assert.fail('no tool is called') },
      ticket: () => 'ticket',
      now: () => START + 1000,
      newCallId: () => callId('01JDZZZZZZZZZZZZZZZZZZZZZZ'),
      atDeadline(at, run) {
        const timer = { at, run, live: true }
        timers.push(timer)
        return () => void (timer.live = false)
      },
      stopped: (why) => stops.push(why),
      ended: () => story.push('ended'),
    }),
    outbox: { add: () => {} },
    say,
    checkOutput: () => [],
    journal: () => {},
    shutdown: shutdown.signal,
  })
  let result: RunResult | null = null
  const over = runner({
    runId: record.runId,
    cancelled: cancelled.signal,
    lost: new AbortController().signal,
    load: async () => record,
    commit: async () => {},
    async announce(_record, { data }) {
      story.push(`announced ${data.status} ${data.stop_reason}`)
      told.resolve()
    },
    async finish(_record, { json }) {
      story.push('finished')
      result = JSON.parse(json) as RunResult
    },
    append: () => {},
  })
  await told.promise
  return { over, story, timers, stops, read, shutdown, cancelled, record, result: () => result }
}

test('the end is told before the attempt has been read, and the result comes behind it', async () => {
  const { over, read, record, result, story } = await cancelledRun()
  assert.deepEqual(story, ['announced cancelled cancelled'])
  assert.equal(record.announced, true)
  read.resolve()
  await over
  assert.deepEqual(story, ['announced cancelled cancelled', 'finished', 'ended'])
  assert.deepEqual([result()?.status, result()?.text], ['cancelled', 'Half'])
})

test('draining ends after its time, or at the deadline of the run where that is sooner', async () => {
  for (const [timeout_ms, at] of [
    [180_000, START + 1000 + DRAIN_MS],
    [10_000, START + 10_000],
  ] as const) {
    const { over, result, stops, story, timers } = await cancelledRun({ timeout_ms })
    assert.deepEqual(
      timers.map(({ at: due, live }) => [due, live]),
      [
        [START + timeout_ms, false],
        [at, true],
      ],
    )
    timers[1]?.run()
    await over
    assert.deepEqual(story.slice(1), ['drain ended: deadline', 'finished', 'ended'])
    assert.deepEqual(stops, ['cancelled', 'deadline'])
    assert.equal(result()?.status, 'cancelled')
    assert.ok(timers.every(({ live }) => !live))
  }
})

test('a shutdown ends the draining at once, and the run stays cancelled', async () => {
  const { over, result, shutdown, stops, story } = await cancelledRun()
  shutdown.abort()
  await over
  assert.deepEqual(story.slice(1), ['drain ended: shutdown', 'finished', 'ended'])
  assert.deepEqual(stops, ['cancelled', 'shutdown'])
  assert.deepEqual([result()?.status, result()?.error], ['cancelled', null])
})
