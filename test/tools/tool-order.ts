/** Orders of calls for tests, and an Egress that answers what a test says. */
import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { argsHash, callKey, operationKey } from '../../src/contract/canonical.ts'
import { callId, runId } from '../../src/contract/ids.ts'
import type { JsonObject } from '../../src/contract/json.ts'
import type { Tool } from '../../src/contract/run-request.ts'
import type { ToolCallBody } from '../../src/contract/tool-exchange.ts'
import type { Egress, EgressAnswer, EgressRequest, Fault } from '../../src/egress/egress.ts'
import type { CallOrder } from '../../src/engine/ports.ts'

export const RUN = runId('01JDZZZZZZZZZZZZZZZZZZZZZA')
export const CALL = callId('01JDZZZZZZZZZZZZZZZZZZZZZB')

export function readTool(parts: Partial<Tool> = {}): Tool {
  return {
    name: 'getOrders',
    description: '',
    input_schema: { type: 'object' },
    url: 'http://127.0.0.1:1/getOrders',
    headers: {},
    effect: 'read',
    timeout_ms: 30_000,
    label: null,
    repeatable: false,
    ...parts,
  }
}

export function callOrder(parts: Partial<CallOrder> = {}, tool: Partial<Tool> = {}): CallOrder {
  const args = parts.args ?? { orderId: '12345' }
  const facts = { sessionId: 'chat_7', tool: 'getOrders', originRequestId: 'msg_81', argsHash: argsHash(args) }
  return {
    runId: RUN,
    callId: CALL,
    tool: readTool(tool),
    args,
    argsHash: facts.argsHash,
    callKey: callKey(facts),
    operationKey: operationKey(facts),
    originRequestId: facts.originRequestId,
    meta: { session_id: 'chat_7' },
    deadlineAt: Date.now() + 3_600_000,
    maxResultBytes: 32_768,
    ...parts,
  }
}

export function response(
  status: number,
  body: string | Uint8Array = '',
  headers: Record<string, string> = {},
): EgressAnswer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return {
    kind: 'response',
    response: {
      status,
      headers: { 'content-type': 'application/json', ...headers },
      body: (async function* () {
        if (bytes.length > 0) yield bytes
      })(),
      destroy: () => {},
    },
  }
}

export function json(body: JsonObject, status = 200): EgressAnswer {
  return response(status, JSON.stringify(body))
}

/** Without a connection nothing has left; whether it stood cannot be told from the other kinds. */
export function fault(kind: Fault['kind'], unsent = ['connect', 'dns', 'tls'].includes(kind)): EgressAnswer {
  return { kind: 'fault', fault: { kind, message: `${kind} at 127.0.0.1`, ...(unsent && { unsent }) } }
}

/** An answer that never comes; when the signal aborts it is a fault, unless it is deaf. */
export function silence(deaf = false): (request: EgressRequest) => Promise<EgressAnswer> {
  return ({ signal }) =>
    new Promise((resolve) => {
      if (!deaf) signal.addEventListener('abort', () => resolve(fault('aborted')), { once: true })
    })
}

/** A connection that never stands: nothing leaves, and an abort tells so. */
export function unconnected({ signal }: EgressRequest): Promise<EgressAnswer> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(fault('aborted', true)), { once: true })
  })
}

type Play = EgressAnswer | ((request: EgressRequest) => EgressAnswer | Promise<EgressAnswer>)

export interface ScriptedEgress extends Egress {
  readonly requests: readonly EgressRequest[]
}

/** One answer a request; asking once too often fails the test. */
export function scriptedEgress(...answers: readonly Play[]): ScriptedEgress {
  const requests: EgressRequest[] = []
  return {
    requests,
    request: async (request) => {
      const play = answers[requests.length]
      requests.push(request)
      assert.ok(play !== undefined, `the tool was called once too often: ${requests.length}`)
      return typeof play === 'function' ? play(request) : play
    },
    judge: () => null,
    close: async () => {},
  }
}

export function bodyOf(request: EgressRequest | undefined): ToolCallBody {
  assert.ok(typeof request?.body === 'string')
  return JSON.parse(request.body) as ToolCallBody
}

/** Lets everything run that waits for nothing but its turn. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await nextTurn()
}
