/**
 * The engine's tool port: arguments are checked, calls go out over HTTP through the egress gate. Wiring only.
 */
import type { ToolPort } from '../engine/ports.ts'
import { checkArguments } from './arguments.ts'
import { callTool, type CallParts } from './call.ts'

export type ToolsOptions = CallParts

/** `lateResults` is shared with the server's door for late results. Keeps nothing of its own. */
export function createTools(options: ToolsOptions): ToolPort {
  return {
    checkArgs: checkArguments,
    call: (order, attemptStarting, signal) => callTool(options, order, attemptStarting, signal),
  }
}
