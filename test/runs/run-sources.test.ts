/** Where a run's answers, times and ids come from when nothing is recorded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { liveSources } from '../../src/runs/run-sources.ts'

test('what a model fetched for a run is freed when the run has ended, once', () => {
  let released = 0
  const port = Object.assign(async () => ({ kind: 'out_of_time' }) as const, { release: () => void (released += 1) })
  const tools = { checkArgs: () => [], call: async () => assert.fail('no tool is called here') }
  const sources = liveSources({ modelForRun: () => port, toolsForRun: () => tools, ticket: () => 'ticket' })
  sources.stopped('cancelled')
  assert.equal(released, 0)
  sources.ended('{}')
  assert.equal(released, 1)
})
