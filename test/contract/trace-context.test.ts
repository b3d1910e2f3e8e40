/** W3C Trace Context: what is read of a caller's headers, and what goes out. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  attemptSpanId,
  callSpanId,
  parseTraceContext,
  runSpanId,
  stepSpanId,
  traceHeaders,
  traceIdOf,
} from '../../src/contract/trace-context.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const good = `00-${TRACE}-${PARENT}-01`
const span = { runId: 'run_1', spanId: 'c'.repeat(16) }

test('a traceparent is read, of later versions as far as this one goes', () => {
  const expected = { traceId: TRACE, parentId: PARENT, flags: 1, state: '' }
  assert.deepEqual(parseTraceContext(good, undefined), expected)
  assert.deepEqual(parseTraceContext(` ${good} `, undefined), expected)
  assert.deepEqual(parseTraceContext(`cc-${TRACE}-${PARENT}-01-what-comes-then`, undefined), expected)
  // Flags that nobody has defined are not passed on.
  assert.equal(parseTraceContext(`00-${TRACE}-${PARENT}-ff`, undefined)?.flags, 3)
  assert.equal(parseTraceContext(`00-${TRACE}-${PARENT}-00`, undefined)?.flags, 0)
})

for (const [what, header] of [
  ['nothing', undefined],
  ['an empty one', ''],
  ['version ff', `ff-${TRACE}-${PARENT}-01`],
  ['version 00 with more behind it', `${good}-x`],
  ['a later version that is cut', `cc-${TRACE}-${PARENT}-0`],
  ['a later version without a dash', `cc-${TRACE}-${PARENT}-01x`],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
  ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['capitals', good.toUpperCase()],
  ['a short trace id', `00-${TRACE.slice(1)}-${PARENT}-01`],
  ['two headers', `${good}, ${good}`],
  ['a line break', `${good}\r\nX-Evil: 1`],
] as const) {
  test(`a traceparent that is none is no trace: ${what}`, () => {
    assert.equal(parseTraceContext(header, 'vendor=x'), null)
  })
}

test('a tracestate goes on in its order, and is left out whole where it is not one', () => {
  const state = (text: string) => parseTraceContext(good, text)?.state
  assert.equal(state('rojo=00f067aa0ba902b7,congo=t61rcWkgMzE'), 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE')
  assert.equal(state(' rojo=1 , ,\tcongo=2 '), 'rojo=1,congo=2')
  assert.equal(state('fw529a3039@dt=FfAk'), 'fw529a3039@dt=FfAk')
  for (const bad of ['rojo', 'Rojo=1', '=1', 'a=1=2', 'a=\u00e9', `a=${'x'.repeat(257)}`]) assert.equal(state(bad), '')
  assert.equal(state(Array.from({ length: 33 }, (_each, n) => `a${n}=1`).join(',')), '')
  assert.equal(state(`a=${'x'.repeat(250)},b=${'x'.repeat(250)},c=${'x'.repeat(20)}`), '')
})

test('whatever comes in, what goes out is a traceparent and no other header', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.boolean(), (traceparent, tracestate, sampled) => {
      const headers = traceHeaders(parseTraceContext(traceparent, tracestate), span, () => sampled)
      assert.match(headers['traceparent'] ?? '', /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[0-3]$/)
      assert.match(headers['tracestate'] ?? '', /^[\x20-\x7e]{0,512}$/)
      assert.deepEqual(
        Object.keys(headers).filter((name) => !['traceparent', 'tracestate'].includes(name)),
        [],
      )
    }),
  )
})

test('who records names its own span and says whether it recorded; who does not passes on what it got', () => {
  const parent = parseTraceContext(good, 'rojo=1')
  assert.deepEqual(traceHeaders(parent, span, null), { traceparent: good, tracestate: 'rojo=1' })
  const own = (flags: string) => ({ traceparent: `00-${TRACE}-${span.spanId}-${flags}`, tracestate: 'rojo=1' })
  assert.deepEqual(
    traceHeaders(parent, span, () => true),
    own('01'),
  )
  assert.deepEqual(
    traceHeaders(parent, span, () => false),
    own('00'),
  )
  const random = parseTraceContext(`00-${TRACE}-${PARENT}-03`, undefined)
  assert.equal(traceHeaders(random, span, () => false)['traceparent']?.slice(-2), '02')
  // Without a caller's trace a run is one of its own.
  assert.deepEqual(traceHeaders(null, span, null), { traceparent: `00-${traceIdOf('run_1', null)}-${span.spanId}-01` })
})

test('every span of a run has an id of its own, the same whenever it is asked for', () => {
  const ids = () => [
    runSpanId('run_1'),
    runSpanId('run_2'),
    callSpanId('call_1'),
    ...[1, 2, 11].flatMap((step) => [
      stepSpanId('run_1', step),
      attemptSpanId('run_1', step, 1),
      attemptSpanId('run_1', 1, step + 100),
    ]),
  ]
  assert.equal(new Set(ids()).size, ids().length)
  assert.deepEqual(ids(), ids())
  for (const id of ids()) assert.match(id, /^[0-9a-f]{16}$/)
})
