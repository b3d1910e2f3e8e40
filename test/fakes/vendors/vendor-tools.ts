/**
 * The tools that conversations with the fake vendors use, and the server that answers them. Their schemas hold what some vendor
 * dislikes, for one odd schema must not make every request a 400. They do not change, so that nothing before a thought does.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Json, JsonObject } from '../../../src/contract/json.ts'
import { Signal, within } from '../../conformance/facts.ts'
import { bodyText, listen, type Owner } from './http-server.ts'

export interface VendorTools {
  /** `tools` of a run. */
  readonly tools: JsonObject[]
  /** Arguments of every call of a tool by one conversation, in the order in which they came. */
  calls(tool: string, session: string): readonly JsonObject[]
  /** Resolves once a tool has been called by a conversation. */
  called(tool: string, session: string): Promise<void>
}

const SCHEMAS: Readonly<Record<string, JsonObject>> = {
  find_order: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false },
  find_client: { type: 'object', properties: { name: { type: 'string' } } },
  list_all: { type: 'object' },
  fails: { type: 'object', properties: { id: { type: 'string' } } },
  approve: { type: 'object', properties: { id: { type: 'string' } } },
  /** Takes the call and never says a word. */
  hangs: {},
  half: { type: 'object' },
  by_reference: {
    $ref: '#/definitions/Wanted',
    definitions: {
      Wanted: {
        type: 'object',
        properties: {
          id: true,
          never: false,
          which: { description: 'One or more.', anyOf: [{ type: 'string' }, { type: 'array', items: {} }] },
          level: { type: 'integer', anyOf: [{ minimum: 3 }, { maximum: 1 }] },
          place: { type: 'array', items: [{ type: 'number' }, { enum: ['N', 'S'] }] },
          more: { additionalProperties: { $ref: '#/definitions/Wanted' } },
        },
      },
    },
    not: { required: ['never'] },
    enum: [{ id: 1 }],
  },
  odd: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    anyOf: [
      { type: 'object', properties: { by: { $ref: '#/$defs/by' } }, required: ['by'] },
      { type: 'object', properties: { level: { enum: [1, 2, null] }, tags: { type: 'array' }, 'order id': {} } },
    ],
    $defs: { by: { oneOf: [{ type: 'string', format: 'email' }, { type: ['integer', 'null'] }] } },
  },
}

/** What each of them answers. */
const ANSWERS: Readonly<Record<string, Json>> = {
  find_order: { status: 'ok', result: { state: 'shipped', note: 'über 🙂' } },
  find_client: { status: 'ok', result: 'Ann, of 7 Long Lane' },
  list_all: { status: 'ok', result: [1, 2, 3] },
  fails: { status: 'error', error: 'no such order' },
  approve: { status: 'deferred', operation_id: 'op_1' },
  odd: { status: 'ok', result: null },
  by_reference: { status: 'ok', result: { found: true } },
  half: { status: 'ok', result: `half ${'🙂'.slice(0, 1)} a pair` },
}

export async function startTools(owner: Owner): Promise<VendorTools> {
  const seen = new Map<string, JsonObject[]>()
  const changed = new Signal()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const tool = (request.url ?? '').slice(1)
    const call = JSON.parse((await bodyText(request)) || '{}') as { args: JsonObject; meta: { session_id?: string } }
    const key = `${tool} ${call.meta.session_id}`
    seen.set(key, [...(seen.get(key) ?? []), call.args])
    changed.emit()
    if (tool === 'hangs') return
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(ANSWERS[tool]))
  }

  const url = await listen(
    owner,
    createServer((request, response) => void answer(request, response)),
  )
  return {
    tools: Object.entries(SCHEMAS).map(([name, input_schema]) => ({
      name,
      description: `The tool ${name}.`,
      input_schema,
      url: `${url}/${name}`,
      effect: name === 'approve' ? 'write' : 'read',
    })),
    calls: (tool, session) => seen.get(`${tool} ${session}`) ?? [],
    called: (tool, session) =>
      within(
        changed.until(() => seen.has(`${tool} ${session}`)),
        () => `no call of the tool ${tool}`,
      ),
  }
}
