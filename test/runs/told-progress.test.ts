/** When the progress of a run is told: at once before a request leaves, together with it or at the turn's end otherwise. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runId } from '../../src/contract/ids.ts'
import { openRecord } from '../../src/engine/record.ts'
import { toldAtFirst, type Progress } from '../../src/runs/spool-record.ts'
import { isSending, tellProgress } from '../../src/runs/told-progress.ts'
import { runRequest } from '../fakes/run-request.ts'

function teller() {
  const request = runRequest()
  const id = runId('01M8NVRYK2NQ8QRWHDSXEDPFH8')
  const record = openRecord(id, request, [], 1000)
  const key = { key: 'k', runId: id, fingerprint: 'f', expiresAt: 1 }
  const steps: number[] = []
  const progress = tellProgress(
    toldAtFirst({ kind: 'accepted', at: 1000, key, request, warnings: [] }),
    async (news: Progress) => void steps.push(news.steps),
  )
  const step = (commit: 'now' | 'soon') => {
    record.steps += 1
    return progress[commit](record)
  }
  return { record, progress, steps, step }
}

const turn = () => new Promise(setImmediate)

test('what nothing waits for is told once, at the end of the turn', async () => {
  const { steps, step } = teller()
  for (let commits = 0; commits < 3; commits += 1) void step('soon')
  await Promise.resolve()
  assert.deepEqual(steps, [])
  await turn()
  assert.deepEqual(steps, [3])
  await turn()
  assert.deepEqual(steps, [3])
})

test('what is about to be sent is told before, with all that was to be told soon, and once for all that are sent together', async () => {
  const { steps, step } = teller()
  void step('soon')
  await Promise.all([step('now'), step('now'), step('now')])
  assert.deepEqual(steps, [4])
  await turn()
  assert.deepEqual(steps, [4])
  void step('soon')
  await turn()
  assert.deepEqual(steps, [4, 5])
})

test('behind the end of a run nothing is told', async () => {
  const { progress, steps, step } = teller()
  void step('soon')
  const due = step('now')
  progress.stop()
  void step('soon')
  await due
  await turn()
  assert.deepEqual(steps, [])
})

test('a request leaves behind two of the commit points', () => {
  const points = ['attempt', 'answer', 'tool_attempt', 'tool_result', 'step'] as const
  assert.deepEqual(points.filter(isSending), ['attempt', 'tool_attempt'])
})

test('a new message is noticed once', () => {
  const { record, progress } = teller()
  assert.equal(progress.messageCame(record), false)
  record.messages.push({} as never)
  assert.equal(progress.messageCame(record), true)
  assert.equal(progress.messageCame(record), false)
})
