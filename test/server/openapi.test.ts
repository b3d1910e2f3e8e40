/** The OpenAPI document against the route table, the error table and the answers the server really gives. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, Faults } from '../../src/contract/check.ts'
import { errors } from '../../src/contract/errors.ts'
import type { Json } from '../../src/contract/json.ts'
import type { Keywords } from '../../src/contract/schema.ts'
import { streamEvents } from '../../src/contract/stream-event.ts'
import { envelope, headersOf, signedHeaders } from '../../src/delivery/envelope.ts'
import {
  AckedRun,
  CancelledRun,
  ErrorAnswer,
  Health,
  LateResultAnswer,
  Ready,
  StartedRun,
} from '../../src/server/answer-schemas.ts'
import { openApiText } from '../../src/server/openapi.ts'
import { formatNames } from '../../src/server/stream-format.ts'
import { type Route, routes } from '../../src/server/routes.ts'
import { callToken } from '../../src/runs/run-token.ts'
import { exchangeOf } from '../../src/tools/exchange.ts'
import { callOrder } from '../tools/tool-order.ts'
import { ID } from './fake-runs.ts'
import { call, ENGINE, post, RUN_TOKEN, startServer, TOKENS } from './start-server.ts'

const document = JSON.parse(openApiText('1.2.3'))

test('anybody can get the document, and it is the one made from the schemas', async (t) => {
  const { port } = await startServer(t, { version: '1.2.3' })
  const answer = await call(port, { path: '/openapi.json' })
  assert.deepEqual([answer.status, answer.text], [200, openApiText('1.2.3')])
  assert.deepEqual([document.openapi, document.info.version], ['3.1.0', '1.2.3'])
})

test('every route is in it, with its parameters, and nothing else is', () => {
  const listed = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item as object).map((method) => `${method} ${path}`),
  )
  const table = Object.values(routes).map(
    ({ method, path }: Route) => `${method.toLowerCase()} ${path.replace(/:(\w+)/g, '{$1}')}`,
  )
  assert.deepEqual(listed.sort(), table.sort())
  for (const [path, item] of Object.entries<any>(document.paths)) {
    for (const operation of Object.values<any>(item)) {
      const named = operation.parameters
        .filter((parameter: any) => parameter.in === 'path')
        .map((parameter: any) => parameter.name)
      assert.deepEqual(
        named,
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
      )
    }
  }
})

test('the error codes in it are those of the error table that are HTTP answers, under their statuses', () => {
  const listed = new Set<string>()
  for (const item of Object.values<any>(document.paths)) {
    for (const operation of Object.values<any>(item)) {
      for (const [status, response] of Object.entries<any>(operation.responses)) {
        for (const code of response['x-error-codes'] ?? []) {
          listed.add(code)
          assert.equal(String((errors as any)[code].http), status)
        }
      }
    }
  }
  const table = Object.entries(errors).flatMap(([code, facts]) => ('http' in facts ? [code] : []))
  assert.deepEqual([...listed].sort(), [...table].sort())
  assert.deepEqual(document.components.schemas.Error.properties.error.properties.code.enum.sort(), [...table].sort())
})

test('every reference in it leads somewhere, and every event of the stream has a schema', () => {
  const references = openApiText('1').matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)
  for (const [, name] of references) assert.ok(Object.hasOwn(document.components.schemas, name ?? ''), name)
  for (const name of Object.keys(streamEvents))
    assert.ok(Object.hasOwn(document.components.schemas, `Stream_${name}`), name)
})

test('the formats of the stream in it are those that are taken', () => {
  const { parameters } = document.paths['/runs/{run_id}/stream'].get
  const format = parameters.find(({ name }: any) => name === 'format')
  assert.deepEqual(format.schema, { type: 'string', enum: formatNames })
})

const headersNamed = (parameters: any[]) =>
  parameters.filter((parameter) => parameter.in === 'header').map((parameter) => parameter.name.toLowerCase())

test('the headers in it are those that are read', () => {
  assert.deepEqual(headersNamed(document.paths['/runs'].post.parameters), ['traceparent', 'tracestate'])
  assert.deepEqual(headersNamed(document.paths['/runs/{run_id}/stream'].get.parameters), ['last-event-id'])
})

test('the headers in it of what the engine sends are those that are sent', () => {
  const sent = (name: string) => headersNamed(document.webhooks[name].post.parameters)
  const own = (headers: object) => Object.keys(headers).map((name) => name.toLowerCase())
  const trace = ['traceparent', 'tracestate']
  const callback = { url: 'https://shop.example.com/', headers: {} }
  const letter = headersOf(envelope(ID, callback, '{}'), ['a-callback-secret'], 0)
  assert.deepEqual(['content-type', ...sent('result')], [...own(letter), ...trace])
  const signed = signedHeaders({ id: 'err_1', body: new Uint8Array() }, ['a-callback-secret'], 0)
  assert.deepEqual(sent('error'), own(signed))
  const plain = ['content-type', 'accept', 'accept-encoding']
  const { headers } = exchangeOf(callOrder(), {
    attempt: 1,
    leftMs: 1000,
    resultUrl: 'https://engine.example.com/',
    sampler: null,
  })
  assert.deepEqual(sent('toolCall'), [
    ...own(headers).filter((name) => !plain.includes(name) && !trace.includes(name)),
    ...trace,
  ])
})

test('an answer that says when to come back is documented with its Retry-After', async (t) => {
  const { port } = await startServer(t, { draining: () => true })
  const refused = { ready: await call(port, { path: '/ready' }), runs: await post(port, '/runs', {}) }
  assert.deepEqual([refused.ready.status, refused.runs.status], [503, 503])
  for (const [answer, operation] of [
    [refused.ready, document.paths['/ready'].get],
    [refused.runs, document.paths['/runs'].post],
  ]) {
    assert.match(answer.headers['retry-after'], /^\d+$/)
    assert.deepEqual(operation.responses['503'].headers['Retry-After'].schema, { type: 'integer' })
  }
  assert.ok(document.paths['/runs'].post.responses['429'].headers['Retry-After'])
  assert.equal(document.paths['/runs'].post.responses['409'].headers, undefined)
})

test('what the server answers is what the document says', async (t) => {
  const { port, runs, flags } = await startServer(t)
  const fits = (schema: unknown, text: string) => {
    const faults = new Faults()
    check(schema as Keywords, JSON.parse(text) as Json, '', faults)
    assert.deepEqual(faults.list, [], text)
  }
  runs.add()
  fits(StartedRun, (await post(port, '/runs', {})).text)
  runs.end('{}')
  runs.outcome = { kind: 'repeat', runId: ID }
  fits(StartedRun, (await post(port, '/runs', {})).text)
  fits(CancelledRun, (await call(port, { method: 'POST', path: `/runs/${ID}/cancel?token=${RUN_TOKEN}` })).text)
  fits(AckedRun, (await call(port, { method: 'POST', path: `/runs/${ID}/ack`, headers: ENGINE })).text)
  fits(Health, (await call(port, { path: '/health' })).text)
  fits(Ready, (await call(port, { path: '/ready' })).text)
  const late = await post(
    port,
    `/runs/${ID}/calls/c/result?token=${callToken(TOKENS, ID, 'c')}`,
    { status: 'ok', result: null },
    { 'content-type': 'application/json' },
  )
  fits(LateResultAnswer, late.text)
  flags.answer = { kind: 'refused', code: 'invalid_request', faults: [{ path: 'a', message: 'b' }] }
  fits(ErrorAnswer, (await post(port, '/runs', {})).text)
})
