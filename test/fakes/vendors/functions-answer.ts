/** An answer in the stream format of GigaChat's v1 API: phrases, and one whole call at most. */
import type { ServerResponse } from 'node:http'
import type { JsonObject } from '../../../src/contract/json.ts'
import type { FunctionsFacts } from './functions-rules.ts'
import type { Issued } from './issued.ts'
import type { TurnUsage } from './turn.ts'
import { StreamedAnswer, usageObject, type FinishFacts, type StopKind } from './vendor-answer.ts'

const STOPS: Readonly<Record<StopKind, string>> = { end: 'stop', calls: 'function_call', length: 'length' }

export class FunctionsAnswer extends StreamedAnswer {
  readonly #facts: FunctionsFacts
  readonly #state: string
  #first = true

  constructor(response: ServerResponse, facts: FunctionsFacts, issued: Issued) {
    super(response)
    this.#facts = facts
    this.#state = `0199e210-2f13-744c-8fe5-${String(issued.next()).padStart(12, '0')}`
    // Sent back, it says that the functions' state of this answer is known.
    issued.remember({ model: facts.model, reasoning: [] }, [this.#state], '')
  }

  /** There is none: the first phrase says who speaks. */
  protected opening(): void {}

  #delta(delta: object, finish: string | null = null, beside: object = {}): void {
    const role = this.#first ? { role: 'assistant' } : {}
    this.#first = false
    const choice = { delta: { ...delta, ...role }, index: 0, ...(finish === null ? {} : { finish_reason: finish }) }
    const model = `${this.#facts.model}:2.0.30.01`
    const chunk = { choices: [choice], created: 1_796_000_000, model, object: 'chat.completion', ...beside }
    this.event(JSON.stringify(chunk))
  }

  thinking(words: string): void {
    if (this.#facts.thinks) this.#delta({ content: '', reasoning_content: words })
  }

  text(words: string): void {
    this.#delta({ content: words })
  }

  call(tool: string, args: JsonObject | string): string {
    this.calls += 1
    this.#delta({
      content: '',
      function_call: { name: tool, arguments: args },
      functions_state_id: this.#state,
    })
    return ''
  }

  openCall(tool: string, args: string): void {
    this.call(tool, args)
  }

  protected closing(stop: StopKind, usage: FinishFacts['usage'] | null, end: boolean): void {
    const told = usage == null ? {} : { usage: usageObject(usage, usageOf) }
    this.#delta({ content: '' }, STOPS[stop], told)
    if (end) this.event('[DONE]')
  }
}

/** `prompt_tokens` is what did not come from the cache. */
function usageOf({ input, cacheRead, output }: TurnUsage): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    precached_prompt_tokens: cacheRead,
  }
}
