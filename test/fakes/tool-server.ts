/**
 * Tool endpoints on 127.0.0.1: one path a tool, each answering as its test says. Every call is kept with its headers and its
 * bytes. A tool without an answer for a call keeps the caller waiting.
 */
import type { ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import type { Json, JsonObject } from '../../src/contract/json.ts'
import type { ToolCallBody } from '../../src/contract/tool-exchange.ts'
import { Signal, within } from '../conformance/facts.ts'
import { recordingServer, type Received } from '../conformance/recording-server.ts'

export interface ToolCall extends Received {
  readonly tool: string
  /** The body, read by JSON.parse: digits that a double cannot hold are in `text` only. */
  readonly body: ToolCallBody
}

/** A body for a 200, text that is one already, or a hand that writes the whole HTTP answer. */
export type ToolAnswering =
  | Json
  | ((call: ToolCall, response: ServerResponse) => Json | undefined | void | Promise<Json | undefined | void>)

export interface ToolServer {
  /** A tool of a run request that points here. */
  tool(name: string, parts?: JsonObject): JsonObject
  readonly calls: readonly ToolCall[]
  /** The n-th call of any tool, from 1, as soon as it is there. */
  nth(number: number): Promise<ToolCall>
}

export async function startTools(
  t: TestContext,
  answers: Readonly<Record<string, ToolAnswering | readonly ToolAnswering[]>>,
): Promise<ToolServer> {
  const calls: ToolCall[] = []
  const changed = new Signal()
  const server = await recordingServer(t, 'the tool server', async (request, response) => {
    const tool = request.path.slice(1)
    const call: ToolCall = { ...request, tool, body: JSON.parse(request.text) as ToolCallBody }
    calls.push(call)
    changed.emit()
    const turn = calls.filter((one) => one.tool === tool).length - 1
    const given = answers[tool]
    const answer = Array.isArray(given) ? (given[turn] as ToolAnswering | undefined) : (given as ToolAnswering)
    const body = typeof answer === 'function' ? await answer(call, response) : answer
    if (body === undefined || response.headersSent) return
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  return {
    tool: (name, parts = {}) => ({
      name,
      description: `The tool ${name}.`,
      input_schema: { type: 'object' },
      url: `${server.url}/${name}`,
      ...parts,
    }),
    calls,
    async nth(number) {
      await within(
        changed.until(() => calls.length >= number),
        () => `the tools have been called ${calls.length} times; call ${number} was waited for`,
      )
      return calls[number - 1] as ToolCall
    },
  }
}

export function ok(result: Json): JsonObject {
  return { status: 'ok', result }
}

/** An HTTP answer that is not a plain 200. */
export function http(status: number, headers: Readonly<Record<string, string>> = {}, body = ''): ToolAnswering {
  return (_call, response) => {
    response.writeHead(status, headers)
    response.end(body)
  }
}

/** Sends the head of an answer and nothing of its body. Whoever has read the head and wants no more breaks the connection. */
export function headOnly(status: number, headers: Readonly<Record<string, string>> = {}): ToolAnswering {
  return (_call, response) => {
    response.writeHead(status, headers)
    response.flushHeaders()
  }
}

/** Takes the call and never says a word. */
export const hangs: ToolAnswering = () => {}
