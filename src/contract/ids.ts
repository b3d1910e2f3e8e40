/** Ids on the wire: opaque strings. A brand says which check a string has passed, so that a run id is never taken for a call id. */

declare const brand: unique symbol
type Branded<Name extends string> = string & { readonly [brand]: Name }

/** `run_` + ULID. */
export type RunId = Branded<'RunId'>
/** `call_` + ULID: made by the engine, unique for all time. Harnesses use it as a database key. */
export type CallId = Branded<'CallId'>

const RUN_ID = /^run_[0-9A-HJKMNP-TV-Z]{26}$/

export function isRunId(text: string): text is RunId {
  return RUN_ID.test(text)
}

/** `ulid` is 26 characters of Crockford's base 32. */
export function runId(ulid: string): RunId {
  return `run_${ulid}` as RunId
}

export function callId(ulid: string): CallId {
  return `call_${ulid}` as CallId
}
