import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLiveView } from '../../../examples/demo/live-view.ts'
import { createScreen } from '../../../examples/demo/screen.ts'
import type { StreamEvent } from '../../../src/contract/stream-event.ts'

function shown(events: readonly StreamEvent[]): string {
  let text = ''
  const view = createLiveView(createScreen({ write: (more: string) => (text += more) }, {}))
  for (const event of events) view(event)
  return text
}

const step: StreamEvent = { event: 'step', data: { step: 1, final: false } }
const delta = (offset: number, text: string): StreamEvent => ({ event: 'delta', data: { step: 1, offset, text } })
const done: StreamEvent = {
  event: 'done',
  data: { status: 'completed', stop_reason: 'end_turn', limit_reached: null, error: null, pending: 0 },
}

test('a delta that comes again is shown once', () => {
  assert.equal(
    shown([step, delta(0, 'It '), delta(3, 'was'), delta(0, 'It was here'), done]),
    'assistant  It was here\ndone       completed\n',
  )
})

test('text that a reset voids is followed by a note and begun anew', () => {
  const reset: StreamEvent = { event: 'reset', data: { step: 1, reason: 'retry' } }
  assert.equal(
    shown([step, reset, delta(0, 'Half an'), reset, delta(0, 'A whole one'), done]),
    'assistant  Half an\n           (void: retry)\nassistant  A whole one\ndone       completed\n',
  )
})

test('a resync goes on from what stands there, or begins anew where that was something else', () => {
  const resync = (text: string): StreamEvent => ({ event: 'resync', data: { step: 1, text } })
  assert.equal(shown([step, delta(0, 'It '), resync('It was')]), 'assistant  It was')
  assert.equal(
    shown([step, delta(0, 'That '), resync('It was')]),
    'assistant  That \n           (the line above is void)\nassistant  It was',
  )
})

test('calls, waits and ends have their lines, and an unknown event has none', () => {
  const later = { event: 'of a later version', data: {} } as unknown as StreamEvent
  const failed: StreamEvent = {
    event: 'done',
    data: {
      status: 'failed',
      stop_reason: null,
      limit_reached: null,
      error: { code: 'provider_auth', message: '' },
      pending: 0,
    },
  }
  assert.equal(
    shown([
      { event: 'start', data: { run_id: 'run_1' } },
      later,
      { event: 'wait', data: { reason: 'retry', ms: 800 } },
      { event: 'wait', data: { reason: 'queue', ms: 0 } },
      { event: 'tool_call', data: { step: 1, n: 1, label: null } },
      { event: 'tool_result', data: { step: 1, n: 1, ok: false } },
      failed,
    ]),
    [
      'wait       the model could not answer; next try in 800 ms',
      'wait       in the queue of this key',
      'tool 1     at work',
      'tool 1     has failed',
      'done       failed: provider_auth\n',
    ].join('\n'),
  )
})
