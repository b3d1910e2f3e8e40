/** Run tokens, call tokens, tickets and the addresses that carry them. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { cancelUrl, resultUrl, streamUrl } from '../../src/runs/run-links.ts'
import {
  callToken,
  checkTicket,
  type EngineTokens,
  isCallToken,
  isRunToken,
  runToken,
  signTicket,
} from '../../src/runs/run-token.ts'

const tokens: EngineTokens = ['new-token', 'old-token']
const call = { callId: 'call_1', tool: 'createReturn', argsHash: 'sha256:00' }
const facts = { ...call, runId: 'run_1', expiresAt: 1_000 }

test('a run token is the base64url HMAC-SHA-256 of ["run",run_id] under the first engine token', () => {
  const expected = createHmac('sha256', 'new-token').update('["run","run_1"]').digest('base64url')
  assert.equal(runToken(tokens, 'run_1'), expected)
})

test('a run token opens its own run only', () => {
  assert.equal(isRunToken(tokens, 'run_1', runToken(tokens, 'run_1')), true)
  assert.equal(isRunToken(tokens, 'run_2', runToken(tokens, 'run_1')), false)
  assert.equal(isRunToken(tokens, 'run_1', ''), false)
})

test('tokens made with an engine token that is being rotated out stay good until it is gone', () => {
  const old: EngineTokens = ['old-token']
  assert.equal(isRunToken(tokens, 'run_1', runToken(old, 'run_1')), true)
  assert.equal(isCallToken(tokens, 'run_1', 'call_1', callToken(old, 'run_1', 'call_1')), true)
  assert.equal(checkTicket(tokens, signTicket(old, facts), call, 0), 'ok')
  assert.equal(isRunToken(['new-token'], 'run_1', runToken(old, 'run_1')), false)
  assert.equal(checkTicket(['new-token'], signTicket(old, facts), call, 0), 'mismatch')
})

test('every one-character change of a token spoils it', () => {
  const token = runToken(tokens, 'run_1')
  for (let index = 0; index < token.length; index += 1) {
    for (const character of ['A', 'B', '_']) {
      const changed = token.slice(0, index) + character + token.slice(index + 1)
      assert.equal(isRunToken(tokens, 'run_1', changed), changed === token)
    }
  }
  for (const changed of [`${token}=`, `${token}A`, ` ${token}`, token.slice(1)]) {
    assert.equal(isRunToken(tokens, 'run_1', changed), false)
  }
})

test('no token of one kind passes as another, and no field slides into its neighbour', () => {
  assert.equal(isCallToken(tokens, 'run_1', 'call_1', runToken(tokens, 'run_1')), false)
  assert.equal(isRunToken(tokens, 'run_1', callToken(tokens, 'run_1', 'call_1')), false)
  assert.equal(isCallToken(tokens, 'run_1c', 'all_1', callToken(tokens, 'run_1', 'call_1')), false)
  assert.equal(isRunToken(tokens, 'run_1","call_1', callToken(tokens, 'run_1', 'call_1')), false)
  const slid = { callId: 'call_1c', tool: 'reateReturn', argsHash: 'sha256:00' }
  assert.equal(checkTicket(tokens, signTicket(tokens, facts), slid, 0), 'mismatch')
})

test('a ticket is v1.<run_id>.<expires>.<hex>, and good up to its last millisecond', () => {
  const ticket = signTicket(tokens, facts)
  assert.match(ticket, /^v1\.run_1\.1000\.[0-9a-f]{64}$/)
  assert.equal(checkTicket(tokens, ticket, call, 1_000), 'ok')
  assert.equal(checkTicket(tokens, ticket, call, 1_001), 'expired')
})

test('a ticket for another call, tool, args, run or expiry does not match', () => {
  const ticket = signTicket(tokens, facts)
  assert.equal(checkTicket(tokens, ticket, { ...call, callId: 'call_2' }, 0), 'mismatch')
  assert.equal(checkTicket(tokens, ticket, { ...call, tool: 'other' }, 0), 'mismatch')
  assert.equal(checkTicket(tokens, ticket, { ...call, argsHash: 'sha256:01' }, 0), 'mismatch')
  assert.equal(checkTicket(tokens, ticket.replace('run_1', 'run_2'), call, 0), 'mismatch')
  assert.equal(checkTicket(tokens, ticket.replace('.1000.', '.9999999999999.'), call, 0), 'mismatch')
})

test('a forged ticket is a mismatch, expired or not, whatever its form', () => {
  const ticket = signTicket(tokens, facts)
  const forged = [
    '',
    'v1',
    'v2' + ticket.slice(2),
    ticket.toUpperCase(),
    `${ticket}0`,
    ticket.replace('.1000.', '.01000.'),
    ticket.replace('.1000.', '.1e3.'),
    ticket.replace('.1000.', '.-1.'),
    `${ticket}\n`,
    ticket.replace('run_1', 'run.1'),
  ]
  for (const text of forged) assert.equal(checkTicket(tokens, text, call, 5_000), 'mismatch', JSON.stringify(text))
})

test('addresses carry the token of their own scope, under PUBLIC_URL with or without a slash', () => {
  const links = { publicUrl: 'https://engine.example/base/', tokens, runId: 'run_1' }
  const token = runToken(tokens, 'run_1')
  assert.equal(streamUrl(links), `https://engine.example/base/runs/run_1/stream?token=${token}`)
  assert.equal(
    cancelUrl({ ...links, publicUrl: 'http://localhost:8080' }),
    `http://localhost:8080/runs/run_1/cancel?token=${token}`,
  )
  const expected = `https://engine.example/base/runs/run_1/calls/call_1/result?token=${callToken(tokens, 'run_1', 'call_1')}`
  assert.equal(resultUrl(links, 'call_1'), expected)
})
