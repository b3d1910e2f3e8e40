/** The warning of a request that leaves out a model's own earlier reasoning because the provider refused it. */
import type { Warning } from '../contract/result.ts'

export function reasoningDropped(model: string): Warning {
  return {
    code: 'reasoning_dropped',
    message: `earlier reasoning was left out: ${model} refused it, as it does after a change of system prompt, tools or history`,
    path: null,
  }
}
