/**
 * What the engine itself says to a model. Ephemeral notes stand at the very end of one request and are never stored; call
 * errors stand in a tool message's `error`. English on purpose: models follow it best, and users never see it.
 */
import type { LimitReached } from '../contract/result.ts'
import { CALLS_PER_STEP } from './repeat-guard.ts'

export const notes = {
  limit: (limit: LimitReached) =>
    `The limit ${limit} of this run is reached: no tool can be called any more. Answer the user now with what you have, and say what is missing.`,
  loop_protection:
    'The last tool calls brought nothing new, so no tool can be called any more. Answer the user now with what you have, and say what is missing.',
  empty_answer: 'Your last answer was empty. Answer the user now, in text.',
  cut_call:
    'Your last answer was cut by its length limit inside a tool call, so nothing was called. Call the tool again with shorter arguments, or answer in text.',
  format: (faults: readonly string[]) =>
    `Your last answer does not have the form that is asked for. ${faults.join(' ')} Give the whole answer again, in the right form.`,
  now: (time: string) => `The current time is ${time}.`,
} as const

const quoted = (text: string) => JSON.stringify(text.length > 80 ? `${text.slice(0, 80).toWellFormed()}…` : text)

export const callErrors = {
  unknown_tool: (name: string, declared: readonly string[]) => {
    const names = declared.slice(0, 40).join(', ')
    return `There is no tool named ${quoted(name)}. Nothing was executed. Tools: ${names === '' ? 'none' : names}.`
  },
  not_json: (args: string) =>
    `The arguments are not valid JSON; nothing was executed. Got: ${quoted(args)}. Send one JSON object.`,
  not_object: (args: string) => `The arguments must be one JSON object; nothing was executed. Got: ${quoted(args)}.`,
  too_large: 'The arguments are too large; nothing was executed. Send less.',
  mismatch: (faults: readonly string[]) =>
    `The arguments do not fit the tool's schema; nothing was executed. ${faults.join(' ')}`,
  same_result:
    'This same call was made before and its earlier result stands; it was not sent again. Use the result you have.',
  same_call: 'This same call was made too often in this run; it was not sent again. Use the results you have.',
  too_many: `At most ${CALLS_PER_STEP} tool calls are made in one step; this one was not sent.`,
  closed_tool: 'This tool cannot be called any more in this run; nothing was executed.',
  same_write: 'The same write was already asked for in this step; this one was not sent.',
  not_deferred:
    'The tool did not confirm that the change is waiting for approval: its outcome is unknown. Do not repeat it; tell the user that it must be checked.',
  limit: 'A limit of this run is reached; this call was not sent.',
  cancelled_unsent: 'The run was stopped before this call was sent.',
  cancelled_sent: 'The run was stopped while this call was under way: whether it was carried out is unknown.',
  timeout: 'The tool gave no answer in time: whether the call was carried out is unknown.',
  reset: 'The connection to the tool broke before its answer came: whether the call was carried out is unknown.',
} as const

/** Why a call is not sent. SPEC §12.3. */
export type UnsentReason = Extract<
  keyof typeof callErrors,
  | 'unknown_tool'
  | 'not_json'
  | 'not_object'
  | 'too_large'
  | 'mismatch'
  | 'same_result'
  | 'same_call'
  | 'too_many'
  | 'closed_tool'
  | 'same_write'
  | 'limit'
>
