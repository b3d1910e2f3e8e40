/** A vendor as data and rules: what `vendor-server.ts` needs to be one. Types, and the two lines that every row would repeat. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { ProviderName } from '../../../src/contract/run-request.ts'
import type { Tokens } from '../../../src/contract/usage.ts'
import type { WireObject } from '../../../src/providers/wire-value.ts'
import type { Issued } from './issued.ts'
import type { Judge, Refusal } from './judge.ts'
import type { TurnUsage } from './turn.ts'
import type { VendorAnswer } from './vendor-answer.ts'

/** What makes an answer to a request that was judged. */
export type Answering = (response: ServerResponse) => VendorAnswer

export interface Vendor {
  readonly provider: Exclude<ProviderName, 'scripted'>
  /** `llm.profile` of its runs, at `openai-compatible`. Default: none. */
  readonly profile?: string
  /** The model of a run that asks for no other. */
  readonly model: string
  /** Others of this vendor whose rules differ. */
  readonly otherModels: readonly string[]
  /** A model that takes no images; null: none here. */
  readonly blindModel: string | null
  /** What stands before the path of the dialect in the base URL. */
  readonly basePath: string
  /** The whole path of a request. */
  readonly path: string
  /** One call a message: calls side by side come one after the other. */
  readonly oneCall: boolean
  /** Requests that one key may have under way. */
  readonly streamsAtOnce: number
  /** Which figures its usage tells; what it does not tell is not part of any other figure. */
  readonly tells: { readonly cacheWrite: boolean; readonly reasoning: boolean }
  /** Its calls have ids. */
  readonly hasCallIds: boolean
  /** The status of a refusal that says none. */
  readonly refusalStatus: number
  judge(body: WireObject, headers: IncomingHttpHeaders, issued: Issued, judge: Judge): Answering
  /** The body of an error. */
  error(refusal: Refusal): object
  /** An error inside a 200 stream, as the bytes of its event: one that may pass, and one that cannot (no money). */
  readonly streamErrors: { readonly passing: string; readonly final: string }
}

/** One event with this data. */
export function eventOf(data: unknown, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`
}

/** What one answer costs, in the contract's words. */
export function tokensOf(usage: TurnUsage, tells: Vendor['tells']): Tokens {
  const { input, cacheRead, output } = usage
  const cacheWrite = tells.cacheWrite ? usage.cacheWrite : 0
  return {
    input_tokens: input,
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    output_tokens: output,
    reasoning_tokens: tells.reasoning ? usage.reasoning : 0,
    total_tokens: input + cacheRead + cacheWrite + output,
  }
}
