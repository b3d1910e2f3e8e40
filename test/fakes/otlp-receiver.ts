/**
 * An OTLP/HTTP receiver on 127.0.0.1: it reads the JSON encoding of `ExportTraceServiceRequest` field by field as its protocol
 * buffers define it, and answers 400 to what is none. Spans are kept flat, with their attributes as plain values.
 */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { Signal, within } from '../conformance/facts.ts'
import { recordingServer, type RecordingServer } from '../conformance/recording-server.ts'

type Value = string | number | boolean

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  /** '' for none. */
  readonly parentSpanId: string
  readonly traceState: string
  readonly flags: number
  readonly name: string
  readonly kind: 'internal' | 'client'
  readonly startNs: bigint
  readonly endNs: bigint
  readonly attributes: Readonly<Record<string, Value>>
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, Value>> }[]
  readonly failed: boolean
  readonly resource: Readonly<Record<string, Value>>
}

export interface OtlpReceiver extends RecordingServer {
  /** OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string
  readonly spans: readonly ReceivedSpan[]
  /** All spans, as soon as so many are there. */
  count(least: number): Promise<readonly ReceivedSpan[]>
}

/** What is answered to the n-th request, from 1: nothing said, a status, or a hand that writes the whole answer. */
export type Answering = (number: number, response: ServerResponse) => number | void

export async function startOtlpReceiver(t: TestContext, answering: Answering = () => {}): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const changed = new Signal()
  const server = await recordingServer(t, 'the OTLP receiver', (request, response) => {
    const status = answering(request.number, response) ?? 200
    if (response.headersSent) return
    let body = '{}'
    try {
      assert.equal(request.method, 'POST')
      assert.equal(request.path, '/base/v1/traces')
      assert.equal(request.headers['content-type'], 'application/json')
      const read = spansOf(JSON.parse(request.text))
      if (status === 200) spans.push(...read)
    } catch (error) {
      body = JSON.stringify({ code: 3, message: String(error) })
      response.writeHead(400, { 'content-type': 'application/json' }).end(body)
      return
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
    changed.emit()
  })
  return {
    ...server,
    endpoint: `${server.url}/base`,
    spans,
    async count(least) {
      await within(
        changed.until(() => spans.length >= least),
        () => `${spans.length} spans came: ${spans.map(({ name }) => name).join(', ')}; ${least} were waited for`,
      )
      return spans
    },
  }
}

type Fields = Readonly<Record<string, unknown>>

function spansOf(body: unknown): ReceivedSpan[] {
  return list(only(body, ['resourceSpans'])['resourceSpans']).flatMap((resourceSpans) => {
    const { resource, scopeSpans } = only(resourceSpans, ['resource', 'scopeSpans'])
    const attributes = attributesOf(only(resource, ['attributes'])['attributes'])
    return list(scopeSpans).flatMap((one) => {
      const { scope, spans } = only(one, ['scope', 'spans'])
      const { name, version } = only(scope, ['name', 'version'])
      assert.equal(name, 'theloop')
      assert.match(String(version), /^\d+\.\d+\.\d+$/)
      return list(spans).map((span) => spanOf(span, attributes))
    })
  })
}

const SPAN_FIELDS = [
  'traceId',
  'spanId',
  'traceState',
  'parentSpanId',
  'flags',
  'name',
  'kind',
  'startTimeUnixNano',
  'endTimeUnixNano',
  'attributes',
  'events',
  'droppedEventsCount',
  'status',
]

function spanOf(json: unknown, resource: ReceivedSpan['resource']): ReceivedSpan {
  const fields = only(json, SPAN_FIELDS)
  const { traceId, spanId, parentSpanId = '', traceState = '', flags, name, kind, droppedEventsCount } = fields
  assert.match(String(traceId), /^(?!0{32})[0-9a-f]{32}$/)
  assert.match(String(spanId), /^(?!0{16})[0-9a-f]{16}$/)
  assert.match(String(parentSpanId), /^([0-9a-f]{16})?$/)
  assert.ok(typeof name === 'string' && name !== '')
  assert.ok(kind === 1 || kind === 3)
  assert.ok(Number.isSafeInteger(flags) && Number.isSafeInteger(droppedEventsCount))
  const { code = 0 } = only(fields['status'], ['code'])
  assert.ok(code === 0 || code === 2)
  const startNs = nanoseconds(fields['startTimeUnixNano'])
  const endNs = nanoseconds(fields['endTimeUnixNano'])
  assert.ok(startNs <= endNs, `${name} ends before it begins`)
  return {
    traceId: String(traceId),
    spanId: String(spanId),
    parentSpanId: String(parentSpanId),
    traceState: String(traceState),
    flags: Number(flags),
    name,
    kind: kind === 1 ? 'internal' : 'client',
    startNs,
    endNs,
    attributes: attributesOf(fields['attributes']),
    events: list(fields['events']).map((event) => {
      const told = only(event, ['timeUnixNano', 'name', 'attributes'])
      const at = nanoseconds(told['timeUnixNano'])
      assert.ok(at > 0n && typeof told['name'] === 'string')
      return { name: told['name'], attributes: attributesOf(told['attributes']) }
    }),
    failed: code === 2,
    resource,
  }
}

function attributesOf(json: unknown): Record<string, Value> {
  const attributes: Record<string, Value> = {}
  for (const one of list(json)) {
    const { key, value } = only(one, ['key', 'value'])
    assert.ok(typeof key === 'string' && key !== '' && !(key in attributes), `${String(key)} stands twice`)
    const [entry, ...others] = Object.entries(only(value, ['stringValue', 'boolValue', 'intValue', 'doubleValue']))
    assert.ok(entry !== undefined && others.length === 0)
    attributes[key] = valueOf(...entry)
  }
  return attributes
}

function valueOf(type: string, value: unknown): Value {
  switch (type) {
    case 'stringValue':
      assert.equal(typeof value, 'string')
      return value as string
    case 'boolValue':
      assert.equal(typeof value, 'boolean')
      return value as boolean
    case 'intValue':
      assert.match(String(value), /^-?\d+$/)
      return Number(value)
    default:
      assert.equal(typeof value, 'number')
      return value as number
  }
}

function nanoseconds(value: unknown): bigint {
  assert.ok(typeof value === 'string' && /^\d{19}$/.test(value), `no time: ${String(value)}`)
  return BigInt(value)
}

function only(json: unknown, names: readonly string[]): Fields {
  assert.ok(typeof json === 'object' && json !== null && !Array.isArray(json), `no object: ${JSON.stringify(json)}`)
  for (const name of Object.keys(json)) assert.ok(names.includes(name), `unknown field ${name}`)
  return json as Fields
}

function list(json: unknown): readonly unknown[] {
  assert.ok(Array.isArray(json), `no list: ${JSON.stringify(json)}`)
  return json as readonly unknown[]
}
