/**
 * One conversation as a harness keeps it: the stored messages, sent back whole with every run. Each run may go to another
 * provider, whose fake plays what the test says.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Json, JsonObject } from '../../../src/contract/json.ts'
import type { ProviderName } from '../../../src/contract/run-request.ts'
import type { RunResult } from '../../../src/contract/result.ts'
import type { Accepted } from '../../conformance/engine-client.ts'
import type { EventStream } from '../../conformance/event-stream.ts'
import { within } from '../../conformance/facts.ts'
import { TURN_USAGE, type Play, type Turn } from './turn.ts'
import type { Received } from './vendor-request.ts'
import type { LiveVendor } from './vendor-server.ts'
import type { World } from './vendor-world.ts'

/** Far beyond any run of these tests, also on a busy machine. */
const LONGEST_RUN_MS = 60_000

export interface RunFacts {
  /** Default: the vendor's own first. */
  readonly model?: string
  /** Of a server that is asked as `openai-compatible`. */
  readonly profile?: string
  readonly params?: JsonObject
  readonly limits?: JsonObject
  readonly output?: JsonObject
  readonly fallbacks?: readonly JsonObject[]
  /** Of a run before, whose plays go on. Default: a new one. */
  readonly key?: string
}

/** A run that has ended, and what its provider saw of it. */
export interface Ran {
  readonly result: RunResult
  /** Everything that was wrong with its requests. */
  readonly faults: readonly string[]
  /** Own reasoning that no longer fitted what stood before it. */
  readonly dropped: number
  readonly received: readonly Received[]
}

/** A run that goes on. */
export interface Running {
  readonly accepted: Accepted
  readonly stream: EventStream
  readonly live: LiveVendor | undefined
  readonly key: string
  /** Cancels it and keeps what it leaves. */
  cancel(): Promise<Ran>
  /** Waits for its end and keeps what it leaves. */
  ended(): Promise<Ran>
}

export class Conversation {
  readonly messages: JsonObject[] = []
  readonly session = `session-${randomUUID()}`
  system = 'You help with orders.'
  tools: JsonObject[]
  readonly #world: World
  #minute = 0

  constructor(world: World) {
    this.#world = world
    this.tools = world.tools.tools
  }

  /** Something the user says: a text, or parts. */
  user(content: string | readonly JsonObject[]): void {
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : [...content]
    this.#minute += 1
    const created_at = new Date(Date.UTC(2026, 10, 30, 9, this.#minute)).toISOString()
    this.messages.push({ role: 'user', content: parts, created_at })
  }

  /** The harness answers calls that were left open. */
  answer(result: RunResult, facts: JsonObject): void {
    for (const { call_id, operation_id, ticket, tool } of result.pending) {
      this.messages.push({ role: 'tool', call_id, tool, operation_id, ticket, ...facts })
    }
  }

  /** A model of a run whose requests are answered so, under a key of its own. */
  target(
    provider: ProviderName,
    plays: readonly Play[],
    { key: before, model, params = {}, profile }: RunFacts = {},
  ): { readonly llm: JsonObject; readonly key: string } {
    const live = this.#world.live(provider, profile)
    if (live === undefined) {
      const script = plays.map(movesOf)
      return { llm: { provider, model: 'play', params: { thinking: null, extra: { script } } }, key: '' }
    }
    const key = before ?? `sk${randomUUID().replaceAll('-', '')}`
    if (before === undefined || plays.length > 0) live.expect(key, plays)
    const llm = { provider, model: model ?? live.vendor.model, api_key: key, params: { thinking: 'medium', ...params } }
    return { llm: profile === undefined ? llm : { ...llm, profile, base_url: live.baseUrl }, key }
  }

  #body(llm: JsonObject, { fallbacks, limits = {}, output }: RunFacts): JsonObject {
    return {
      contract_version: '1',
      idempotency_key: randomUUID(),
      llm: fallbacks === undefined ? llm : { ...llm, fallbacks: [...fallbacks] },
      system: this.system,
      messages: [...this.messages],
      tools: this.tools,
      limits: { max_steps: 100, max_tool_calls: 200, ...limits },
      ...(output === undefined ? {} : { output }),
      meta: { session_id: this.session },
    }
  }

  /** A run to its end. What it leaves is kept. */
  async run(provider: ProviderName, plays: readonly Play[], facts: RunFacts = {}): Promise<Ran> {
    const { key, llm } = this.target(provider, plays, facts)
    const result = await within(
      this.#world.engine.run(this.#body(llm, facts)),
      () => `a run at ${provider} does not end`,
      LONGEST_RUN_MS,
    )
    return this.#ran(result, this.#world.live(provider, facts.profile), key)
  }

  /** A run that goes on, and a reader of its stream. */
  async start(provider: ProviderName, plays: readonly Play[], facts: RunFacts = {}): Promise<Running> {
    const { engine } = this.#world
    const { key, llm } = this.target(provider, plays, facts)
    const live = this.#world.live(provider, facts.profile)
    const accepted = await engine.start({ ...this.#body(llm, facts), stream: { reasoning: true } })
    const stream = await engine.stream(accepted)
    const end = async (result: RunResult) => {
      await stream.ended()
      await engine.ack(accepted.run_id)
      return this.#ran(result, live, key)
    }
    return {
      accepted,
      stream,
      live,
      key,
      cancel: async () => end((await engine.cancel(accepted.run_id)).json<RunResult>()),
      ended: async () => end(await engine.result(accepted)),
    }
  }

  #ran(result: RunResult, live: LiveVendor | undefined, key: string): Ran {
    this.messages.push(...(result.messages as unknown as JsonObject[]))
    return {
      result,
      faults: live?.faults(key) ?? [],
      dropped: live?.dropped(key) ?? 0,
      received: live?.received(key) ?? [],
    }
  }
}

/** A turn as a script plays it. */
function movesOf(turn: Play): Json {
  assert.ok(typeof turn !== 'function', 'a scripted model plays turns only')
  const { input, cacheRead, cacheWrite, output, reasoning } = TURN_USAGE
  return [
    ...words('reasoning', turn.thinking),
    ...words('text', turn.text),
    ...(turn.calls ?? []).map(({ args, tool }) => ({ tool_call: { name: tool, args } })),
    ...(turn.hang === true
      ? [{ silence: true }]
      : [
          {
            usage: {
              input_tokens: input,
              cache_read_tokens: cacheRead,
              cache_write_tokens: cacheWrite,
              output_tokens: output,
              reasoning_tokens: reasoning,
            },
          },
        ]),
  ]
}

function words(move: 'reasoning' | 'text', said: Turn['text']): JsonObject[] {
  return said === undefined ? [] : [{ [move]: said }]
}
