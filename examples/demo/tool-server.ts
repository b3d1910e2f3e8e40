/**
 * The shop's tools, as the engine calls them (SPEC §5): `getOrder` reads and answers at once; `createRefund` writes, so it
 * only registers an operation and answers `deferred`. Nothing is refunded here.
 *
 * Who the customer is comes from `meta`, which the harness wrote; arguments are a model's words and decide nothing of the
 * kind.
 */
import { timingSafeEqual } from 'node:crypto'
import type { Json } from '../../src/contract/json.ts'
import type { ToolAnswer, ToolCallBody } from '../../src/contract/tool-exchange.ts'
import type { Tool } from '../../src/contract/run-request.ts'
import { type Answer, type Incoming, type LocalServer, serve } from './local-server.ts'
import type { RefundOrder, Shop } from './shop.ts'

export interface ToolServer extends LocalServer {
  /** What a run is told of the tools. */
  readonly tools: readonly Pick<
    Tool,
    'name' | 'description' | 'input_schema' | 'url' | 'headers' | 'effect' | 'label'
  >[]
}

/** @param secret what the engine must show: it stands in the tools' `Authorization` header */
export async function startToolServer(shop: Shop, secret: string): Promise<ToolServer> {
  const server = await serve((incoming) => {
    if (!isBearer(incoming, secret)) return { status: 401, body: { error: 'unknown caller' } }
    // The engine has checked the arguments against the tool's input_schema before it called.
    const call = JSON.parse(incoming.body.toString('utf8')) as ToolCallBody
    if (incoming.path === '/tools/get-order') return told(getOrder(shop, call))
    if (incoming.path === '/tools/create-refund') return told(createRefund(shop, call))
    return { status: 404, body: { error: 'no such tool' } }
  })
  const headers = { Authorization: `Bearer ${secret}` }
  return {
    ...server,
    tools: [
      { ...GET_ORDER, url: `${server.url}/tools/get-order`, headers },
      { ...CREATE_REFUND, url: `${server.url}/tools/create-refund`, headers },
    ],
  }
}

const GET_ORDER = {
  name: 'getOrder',
  description: 'Looks up one order of the current customer.',
  input_schema: {
    type: 'object',
    properties: { orderId: { type: 'string', description: 'digits only, such as 12345' } },
    required: ['orderId'],
    additionalProperties: false,
  },
  effect: 'read',
  label: 'Looking at the order…',
} as const

const CREATE_REFUND = {
  name: 'createRefund',
  description: 'Asks for a refund of an order of the current customer. A colleague decides; the answer comes later.',
  input_schema: {
    type: 'object',
    properties: {
      orderId: { type: 'string' },
      amount: { type: 'number', exclusiveMinimum: 0, description: 'at most the total of the order' },
      reason: { type: 'string', maxLength: 500 },
    },
    required: ['orderId', 'amount', 'reason'],
    additionalProperties: false,
  },
  effect: 'write',
  label: 'Preparing the refund…',
} as const

function getOrder(shop: Shop, { args, meta }: ToolCallBody): ToolAnswer {
  const order = shop.order(textIn(meta['user_id']), textIn(args['orderId']))
  if (order === null) return { status: 'error', error: 'no such order of this customer; ask for the number' }
  const { customer: _customer, ...shown } = order
  return { status: 'ok', result: shown }
}

function createRefund(shop: Shop, call: ToolCallBody): ToolAnswer {
  const customer = textIn(call.meta['user_id'])
  // The input_schema of the tool has this form.
  const args = call.args as unknown as RefundOrder
  const order = shop.order(customer, args.orderId)
  if (order === null) return { status: 'error', error: 'no such order of this customer; ask for the number' }
  if (args.amount > order.total) {
    return { status: 'error', error: `the order cost ${order.total} ${order.currency}; no more can be refunded` }
  }
  const { operation_key: id, args_hash: argsHash, tool } = call
  const operation = shop.register({ id, tool, customer, args, argsHash })
  if (operation.argsHash !== argsHash) {
    return { status: 'error', error: 'another refund already waits for a decision; ask for one at a time' }
  }
  return { status: 'deferred', operation_id: operation.id }
}

/** The harness wrote `meta` and the schema holds the arguments, so anything else is nobody's. */
function textIn(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

function told(answer: ToolAnswer): Answer {
  return { status: 200, body: answer }
}

function isBearer({ headers }: Incoming, secret: string): boolean {
  const given = Buffer.from(headers.authorization ?? '')
  const wanted = Buffer.from(`Bearer ${secret}`)
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}
