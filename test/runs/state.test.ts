import { test } from 'node:test'
import assert from 'node:assert/strict'
import { next, type RunEvent, type RunState } from '../../src/runs/state.ts'

const table: [RunState, RunEvent, RunState][] = [
  ['running', 'finished', 'ended'],
  ['running', 'delivered', 'running'],
  ['running', 'acked', 'running'],
  ['ended', 'finished', 'ended'],
  ['ended', 'delivered', 'stored'],
  ['ended', 'acked', 'stored'],
  ['stored', 'finished', 'stored'],
  ['stored', 'delivered', 'stored'],
  ['stored', 'acked', 'stored'],
]

for (const [state, event, expected] of table) {
  test(`a run that is ${state} is ${expected} after ${event}`, () => assert.equal(next(state, event), expected))
}
