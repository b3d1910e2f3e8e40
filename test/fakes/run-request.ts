/** Request bodies for tests: the smallest that is accepted, and the same with parts replaced. */
import type { Json, JsonObject } from '../../src/contract/json.ts'
import { parseRunRequest } from '../../src/contract/parse-run-request.ts'
import type { RunRequest } from '../../src/contract/run-request.ts'

export const at = '2026-11-30T12:00:00.000Z'

export function userMessage(text: string): JsonObject {
  return { role: 'user', content: [{ type: 'text', text }], created_at: at }
}

export function requestBody(parts: { readonly [key: string]: Json } = {}): JsonObject {
  return {
    contract_version: '1',
    idempotency_key: 'msg_1',
    llm: { provider: 'scripted', model: 'scripted' },
    messages: [userMessage('Where is 12345?')],
    ...parts,
  }
}

export function tool(name: string, parts: { readonly [key: string]: Json } = {}): JsonObject {
  return {
    name,
    description: name,
    input_schema: { type: 'object' },
    url: `https://tools.example/${name}`,
    effect: 'read',
    ...parts,
  }
}

/** A request as the engine sees it; throws where the body is not accepted, which is a fault of the test. */
export function runRequest(parts: { readonly [key: string]: Json } = {}): RunRequest {
  const { request, faults } = parseRunRequest(requestBody(parts), { defaultTimezone: 'UTC' })
  if (faults.list.length > 0) throw new Error(JSON.stringify(faults.list))
  return request
}
