/**
 * What a human decides about, and what follows (SPEC §5.5). The engine is not involved: it ended its run and waits for
 * nothing. The order of things is the harness's to keep: decide, carry out once, then write the tool message.
 */
import type { ToolMessage } from '../../src/contract/message.ts'
import type { PendingCall, RunResult } from '../../src/contract/result.ts'
import { DemoFailure } from './failure.ts'
import type { Operation, Shop } from './shop.ts'

/** The operation a pending call registered. It must be of the very arguments that the engine signed its ticket over. */
export function operationOf(call: PendingCall, shop: Shop): Operation {
  const operation = call.operation_id === null ? null : shop.operation(call.operation_id)
  if (operation === null) throw new DemoFailure(`no operation was registered for ${call.tool}`)
  if (operation.argsHash !== call.args_hash)
    throw new DemoFailure('the operation is not of the arguments in the ticket')
  return operation
}

/** The lines a human would see before the two buttons. */
export function question({ run_id }: RunResult, call: PendingCall, operation: Operation): string[] {
  const { orderId, amount, reason } = operation.args
  return [
    `${call.tool}: ${amount} for order ${orderId}, customer ${operation.customer}`,
    `reason     "${reason}"`,
    `operation  ${operation.id.slice(0, 19)}…`,
    `asked by   ${run_id}, good until ${call.expires_at}`,
  ]
}

/** Carries the operation out and gives the message that answers its call. */
export function approve(call: PendingCall, operation: Operation, shop: Shop): ToolMessage {
  const refund = shop.execute(operation.id)
  if (refund === null) throw new DemoFailure(`operation ${operation.id} is gone`)
  return {
    role: 'tool',
    call_id: call.call_id,
    tool: call.tool,
    operation_id: operation.id,
    result: { ...refund },
    is_error: false,
    // The engine checks it against the call in the history: another call or other arguments are refused.
    ticket: call.ticket,
  }
}
