/** How a result enters the database: whole or not at all, with what waits for a decision and what cannot wait any more. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { RunResult } from '../../../src/contract/result.ts'
import type { ToolCallBody } from '../../../src/contract/tool-exchange.ts'
import type { Context } from '../../../examples/sqlite-harness/context.ts'
import { decide } from '../../../examples/sqlite-harness/decide.ts'
import { parseLossless } from '../../../examples/sqlite-harness/plumbing/lossless-json.ts'
import { endRun } from '../../../examples/sqlite-harness/start-run.ts'
import { storeResult } from '../../../examples/sqlite-harness/store-result.ts'
import { openSteps } from './step-context.ts'

function openStore(t: TestContext): Context {
  const store = openSteps(t)
  store.conversation.said('chat_1', 'msg_1', 'customer', 'refund it')
  beginRun(store, 'msg_1', 1)
  return store
}

function beginRun({ conversation }: Context, id: string, history_revision: number): void {
  conversation.addRun({ id, session_id: 'chat_1', origin_request_id: id, history_revision }, '{}')
  conversation.setStatus('chat_1', 'running', id)
}

function loseRun(store: Context, error: string): void {
  const run = store.conversation.run('msg_1')
  assert.ok(run)
  endRun(store, run, 'lost', error)
}

function register(store: Context, call_id: string, amount: number, run_id = 'run_1'): void {
  const args = { orderId: '1001', amount, reason: 'broken' }
  const call: ToolCallBody = {
    contract_version: '1',
    run_id,
    call_id,
    attempt: 1,
    origin_request_id: 'msg_1',
    tool: 'createReturn',
    args,
    args_hash: `hash of ${amount}`,
    call_key: 'ck_1',
    operation_key: 'op_1',
    meta: {},
    result_url: 'http://127.0.0.1:1',
  }
  store.operations.register(call, 'chat_1', 'u_anna', '1001')
}

function waiting(calls: readonly (readonly [callId: string, amount: number])[]): RunResult {
  const content = calls.map(([call_id, amount]) => ({
    type: 'tool_call',
    call_id,
    tool: 'createReturn',
    args: { amount },
  }))
  return {
    run_id: 'run_1',
    status: 'awaiting_tool',
    idempotency_key: 'msg_1',
    origin_request_id: 'msg_1',
    history_revision: 1,
    messages: [{ role: 'assistant', content, run_id: 'run_1', seq: 0, created_at: '2026-11-30T09:15:00.000Z' }],
    pending: calls.map(([call_id, amount]) => ({
      call_id,
      tool: 'createReturn',
      operation_id: 'op_1',
      args_hash: `hash of ${amount}`,
      ticket: 'v1',
      expires_at: '2999-01-01T00:00:00.000Z',
    })),
    usage: { cost: null, currency: null },
    error: null,
    meta: { session_id: 'chat_1' },
    // Fields that nothing here reads are left out.
  } as unknown as RunResult
}

test('two calls of one answer for one operation: the newer version waits, the other call is closed', (t) => {
  const store = openStore(t)
  register(store, 'call_1', 39.9)
  register(store, 'call_2', 10)
  const calls = [
    ['call_1', 39.9],
    ['call_2', 10],
  ] as const
  assert.equal(storeResult(waiting(calls), store), 'stored')
  assert.deepEqual(
    store.operations.openCalls('chat_1').map(({ call_id }) => call_id),
    ['call_2'],
  )
  const asked = store.database.one<{ version: number }>`SELECT version FROM operation_call WHERE call_id = 'call_2'`
  assert.equal(asked?.version, 2)
  assert.equal(store.conversation.session('chat_1')?.status, 'awaiting_tool')
  const closed = store.conversation.messages('chat_1').find(({ id }) => id === 'call_1')
  assert.match(closed?.payload ?? '', /"error":"superseded by another request/)
})

test('a call that nobody registered is closed, so that the history can go on', (t) => {
  const store = openStore(t)
  assert.equal(storeResult(waiting([['call_9', 1]]), store), 'stored')
  assert.equal(store.conversation.session('chat_1')?.status, 'idle')
  assert.equal(store.conversation.messages('chat_1').at(-1)?.id, 'call_9')
})

test('a call for an older version opens no newer one', (t) => {
  const store = openStore(t)
  register(store, 'call_1', 39.9)
  register(store, 'call_2', 10)
  assert.equal(storeResult(waiting([['call_1', 39.9]]), store), 'stored')
  assert.deepEqual([store.operations.find('op_1')?.version, decide('op_1', 2, 'approve', store)], [2, 'outdated'])
})

test('what was decided while a run asked for it again is told in answer to that call, and nothing waits', (t) => {
  const store = openStore(t)
  register(store, 'call_1', 39.9)
  assert.equal(storeResult(waiting([['call_1', 39.9]]), store), 'stored')
  store.conversation.answerCall(
    'chat_1',
    { call_id: 'call_1', tool: 'createReturn', operation_id: 'op_1' },
    { error: '' },
  )
  beginRun(store, 'msg_2', 2)
  register(store, 'call_2', 39.9)
  assert.equal(decide('op_1', 1, 'approve', store), 'done')
  const again = { ...waiting([['call_2', 39.9]]), run_id: 'run_2', idempotency_key: 'msg_2' }
  assert.equal(storeResult(again, store), 'stored')
  assert.match(store.conversation.newest('chat_1')?.payload ?? '', /"call_id":"call_2".*"error":"approved meanwhile: /)
  assert.equal(store.conversation.session('chat_1')?.status, 'idle')
})

test('a result for a history that has changed since is kept for audit, and holds up nothing', (t) => {
  const store = openStore(t)
  store.conversation.raiseRevision('chat_1')
  assert.equal(storeResult(waiting([]), store), 'audit')
  const { status, active_run } = store.conversation.session('chat_1') ?? {}
  assert.deepEqual([status, active_run], ['idle', null])
})

test('what a run kept for audit had asked for can be approved by nobody', (t) => {
  const store = openStore(t)
  register(store, 'call_1', 39.9)
  loseRun(store, '')
  store.conversation.said('chat_1', 'msg_2', 'customer', 'never mind')
  assert.equal(storeResult(waiting([['call_1', 39.9]]), store), 'audit')
  assert.equal(store.operations.find('op_1')?.status, 'superseded')
  assert.deepEqual(
    store.conversation.messages('chat_1').map(({ id }) => id),
    ['msg_1', 'msg_2'],
  )
})

test('a late result for audit takes no card away from a newer run that asked for the same', (t) => {
  const store = openStore(t)
  register(store, 'call_1', 39.9)
  loseRun(store, '')
  store.conversation.raiseRevision('chat_1')
  beginRun(store, 'again_1', 2)
  register(store, 'call_2', 39.9, 'run_2')
  const newer = { ...waiting([['call_2', 39.9]]), run_id: 'run_2', idempotency_key: 'again_1' }
  assert.equal(storeResult(newer, store), 'stored')
  assert.equal(storeResult(waiting([['call_1', 39.9]]), store), 'audit')
  assert.equal(store.operations.find('op_1')?.status, 'pending')
  assert.equal(decide('op_1', 1, 'approve', store), 'done')
  assert.equal(store.operations.openCalls('chat_1').length, 0)
})

test('A.13: a cost of few digits is kept as it came, and one that nobody knows is none', (t) => {
  for (const [cost, kept] of [
    ['0.5', '0.5'],
    ['null', null],
  ] as const) {
    const store = openStore(t)
    const usage = parseLossless(`{"complete":true,"cost":${cost},"currency":"USD"}`)
    assert.equal(storeResult({ ...waiting([]), usage } as RunResult, store), 'stored')
    assert.equal(store.database.one<{ cost: string | null }>`SELECT cost FROM run WHERE id = 'msg_1'`?.cost, kept)
  }
})

test('A.13: figures are kept as they came: estimates marked, and a cost with all its digits', (t) => {
  const store = openStore(t)
  const usage = parseLossless('{"complete":false,"cost":0.12345678901234567890,"currency":"USD"}')
  assert.equal(storeResult({ ...waiting([]), usage } as unknown as RunResult, store), 'stored')
  const kept = store.database.one<{ cost: string; usage: string }>`SELECT cost, usage FROM run WHERE id = 'msg_1'`
  assert.deepEqual([kept?.cost, kept?.usage], ['0.12345678901234567890', JSON.stringify(usage)])
})

test('A.1: a fault in the middle of storing leaves nothing of it behind', (t) => {
  const store = openStore(t)
  const broken = {
    ...store,
    conversation: {
      ...store.conversation,
      setStatus: () => {
        throw new Error('the disk is full')
      },
    },
  }
  assert.throws(() => storeResult(waiting([]), broken), /the disk is full/)
  assert.equal(store.conversation.run('msg_1')?.result, null)
  assert.equal(store.conversation.messages('chat_1').length, 1)
  assert.equal(storeResult(waiting([]), store), 'stored')
  assert.equal(storeResult(waiting([]), store), 'repeated')
  assert.equal(store.conversation.messages('chat_1').length, 2)
})

test('results in the wrong order: what a newer run has overtaken is kept for audit, however late it comes', (t) => {
  const store = openStore(t)
  loseRun(store, 'lost')
  store.conversation.said('chat_1', 'msg_2', 'customer', 'still there?')
  beginRun(store, 'msg_2', 2)
  const answerOf = (run: string, key: string, revision: number) => {
    const content = [{ type: 'text', text: run }]
    const messages = [{ role: 'assistant', content, run_id: run, seq: 0, created_at: '2026-11-30T09:15:00.000Z' }]
    return {
      ...waiting([]),
      run_id: run,
      status: 'completed',
      idempotency_key: key,
      history_revision: revision,
      messages,
    } as unknown as RunResult
  }
  assert.equal(storeResult(answerOf('run_1', 'msg_1', 1), store), 'audit', 'while the newer one runs')
  assert.equal(store.conversation.session('chat_1')?.active_run, 'msg_2')
  assert.equal(storeResult(answerOf('run_2', 'msg_2', 2), store), 'stored')
  assert.equal(storeResult(answerOf('run_1', 'msg_1', 1), store), 'repeated')
  assert.deepEqual(
    store.conversation.messages('chat_1').map(({ id }) => id),
    ['msg_1', 'msg_2', 'run_2:0'],
  )
})
