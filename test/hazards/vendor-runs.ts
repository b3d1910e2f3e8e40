/**
 * A world in one process: the real runs, runner, loop, model chain, dialects and tools, before fake vendors that judge every
 * request by their rules, with no socket anywhere and a clock that is moved by hand. Conversations go from vendor to vendor.
 */
import assert from 'node:assert/strict'
import { parseJson, type JsonObject } from '../../src/contract/json.ts'
import { parseRunRequest } from '../../src/contract/parse-run-request.ts'
import type { RunResult } from '../../src/contract/result.ts'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import { Faults } from '../../src/contract/check.ts'
import type { StoredMessage } from '../../src/contract/message.ts'
import { NO_TOKENS, type Tokens } from '../../src/contract/usage.ts'
import type { Egress, EgressAnswer, EgressRequest } from '../../src/egress/egress.ts'
import { checkHistory } from '../../src/engine/history-rules.ts'
import type { JournalEntry } from '../../src/engine/ports.ts'
import { openRecord } from '../../src/engine/record.ts'
import { askOf, openPrompt } from '../../src/engine/step.ts'
import { builtIn } from '../../src/providers/built-in.ts'
import type { Repair } from '../../src/providers/dialect.ts'
import { createKeyGate } from '../../src/providers/key-gate.ts'
import { createModel } from '../../src/providers/model.ts'
import { isObject } from '../../src/providers/wire-value.ts'
import { createMemoryRuns } from '../../src/runs/memory-runs.ts'
import { liveSources } from '../../src/runs/run-sources.ts'
import { createRunner } from '../../src/runs/runner.ts'
import { checkValue } from '../../src/tools/arguments.ts'
import { createLateResults } from '../../src/tools/late-results.ts'
import { createTools } from '../../src/tools/tools.ts'
import { Tape } from '../engine/random-draws.ts'
import { say } from '../fakes/engine.ts'
import { requestBody, userMessage } from '../fakes/run-request.ts'
import { builtServers, builtVendors } from '../fakes/vendors/built.ts'
import { Issued } from '../fakes/vendors/issued.ts'
import { Judge } from '../fakes/vendors/judge.ts'
import { MemoryAnswer } from '../fakes/vendors/memory-answer.ts'
import { tokensOf, type Vendor } from '../fakes/vendors/vendor.ts'
import { limitsFrom, outputFrom, paramsFrom, toolAnswer, tools, writeAnswer, type Billed } from './vendor-draws.ts'

export const START = Date.parse('2026-11-30T12:00:00.000Z')

const VENDORS: readonly Vendor[] = [...builtVendors, ...builtServers]
const hostOf = (vendor: Vendor) => `${vendor.profile ?? vendor.provider}.fake`
const urlOf = (vendor: Vendor) => `https://${hostOf(vendor)}${vendor.basePath}`

export interface RunFacts {
  /** Requests that came to a vendor, in order; billed figures are known once the run has ended. */
  readonly requests: { readonly vendor: Vendor; readonly billed: Billed; readonly refused: boolean }[]
  readonly toolRequests: Map<string, number>
  readonly history: readonly StoredMessage[]
  readonly tape: Tape
  readonly cancelAt: number
}

export interface Ended {
  readonly result: RunResult
  readonly events: readonly StreamEvent[]
  readonly facts: RunFacts
  readonly history: readonly StoredMessage[]
}

export class VendorWorld {
  readonly journal: JournalEntry[] = []
  readonly gate = createKeyGate({ startLimit: 2 })
  readonly #issued = new Map(VENDORS.map((vendor) => [vendor, new Issued()]))
  readonly #facts = new Map<string, RunFacts>()
  readonly #active = new Map<string, number>()
  readonly #runs
  #serial = 0
  readonly #shutdown = new AbortController()
  /** What vendors found wrong with requests that the engine sent and could not mend. */
  readonly faults: string[] = []
  /** Answers that are open: at vendors and at tools. */
  open = 0

  constructor() {
    const now = () => Date.now()
    this.#runs = createMemoryRuns({
      maxRuns: 100,
      maxResults: 1000,
      maxResultBytes: 1e9,
      resultTtlMs: 1e9,
      undeliveredTtlMs: 1e9,
      journal: (entry) => this.journal.push(entry),
      outbox: NO_OUTBOX,
    })
    const shared: Egress = { ...NO_EGRESS, request: async (request) => this.#token(request) }
    const keys = {
      keys: {},
      baseUrls: Object.fromEntries(builtVendors.map((vendor) => [vendor.provider, urlOf(vendor)])),
    }
    const model = createModel({
      egress: shared,
      table: builtIn,
      keys,
      gate: this.gate,
      gigachat: { authUrl: 'https://auth.fake/api/v2/oauth', scope: 'GIGACHAT_API_PERS' },
      firstTokenMs: 20_000,
      stallMs: 20_000,
      now,
      random: () => 0.5,
    })
    const lateResults = createLateResults({ now })
    this.#runs.queue.start(
      createRunner({
        sourcesFor: ({ runId }) => {
          const egress: Egress = { ...NO_EGRESS, request: (request) => this.#request(runId, request) }
          const parts = { egress, lateResults, random: () => 0.5, resultUrl: () => 'https://engine.fake/late' }
          return liveSources({
            modelForRun: (clock) => model.forRun((sources) => ({ ...sources, egress, now: clock })),
            toolsForRun: (clock) => createTools({ ...parts, now: clock }),
            ticket: () => 'ticket',
          })
        },
        outbox: NO_OUTBOX,
        say,
        checkOutput: checkValue,
        journal: (entry) => this.journal.push(entry),
        shutdown: this.#shutdown.signal,
      }),
    )
  }

  shutdown(): void {
    this.#shutdown.abort()
  }

  close(): void {
    this.#runs.close()
  }

  /** GigaChat's authorization host: a token is its key. */
  #token({ headers, url }: EgressRequest): EgressAnswer {
    assert.equal(new URL(url).hostname, 'auth.fake')
    const key = Object.entries(headers)
      .find(([name]) => name.toLowerCase() === 'authorization')?.[1]
      .split(' ')[1]
    const body = JSON.stringify({ access_token: key, expires_at: Date.now() + 1_800_000 })
    const answer = new MemoryAnswer(
      () => 0,
      () => {},
    )
    answer.writeHead(200, { 'content-type': 'application/json' }).end(body)
    return answer.whole()
  }

  async #request(runId: string, request: EgressRequest): Promise<EgressAnswer> {
    const facts = this.#facts.get(runId)
    assert.ok(facts !== undefined, 'a request of no run')
    const { tape } = facts
    this.open += 1
    const host = new URL(request.url).hostname
    const vendor = VENDORS.find((one) => hostOf(one) === host)
    const pauses = tape.of(0, 0, 0, 5, 900, 30_000)
    const slow = tape.below(6)
    let left = () => {}
    const answer = new MemoryAnswer(
      (piece) => {
        // All that was written has been read: for its vendor the answer is over, whatever becomes of the connection.
        if (piece >= answer.length && facts.requests.at(-1)?.billed.whole === true) left()
        return piece === slow ? pauses : 0
      },
      () => {
        this.open -= 1
        left()
      },
    )
    if (vendor === undefined) this.#tool(facts, request, answer)
    else if (tape.once(40)) {
      answer.close()
      return { kind: 'fault', fault: { kind: 'connect', message: 'nobody listens', unsent: true } }
    } else left = this.#vendor(facts, vendor, request, answer)
    return answer.answered(request.signal)
  }

  #tool({ tape, toolRequests }: RunFacts, { body, url }: EgressRequest, answer: MemoryAnswer): void {
    const parsed = parseJson(String(body))
    assert.ok(parsed.ok)
    const { call_id } = parsed.value as { readonly call_id: string }
    toolRequests.set(call_id, (toolRequests.get(call_id) ?? 0) + 1)
    const drawn = toolAnswer(tape, decodeURIComponent(new URL(url).pathname.slice(1)))
    if (drawn !== null) answer.writeHead(drawn.status, { 'content-type': 'application/json' }).end(drawn.body)
  }

  /** Judges it as the vendor does, and writes its answer. What comes back is called once the connection is gone. */
  #vendor(facts: RunFacts, vendor: Vendor, request: EgressRequest, answer: MemoryAnswer): () => void {
    const headers = lowerCased(request.headers)
    const key = `${vendor.provider} ${headers['authorization'] ?? headers['x-api-key']}`
    const active = (this.#active.get(key) ?? 0) + 1
    this.#active.set(key, active)
    let gone = false
    const left = () => {
      if (!gone) this.#active.set(key, (this.#active.get(key) ?? 0) - 1)
      gone = true
    }
    if (active > vendor.streamsAtOnce) this.faults.push(`${key}: ${active} requests at once`)
    const verdict = this.#judge(vendor, new URL(request.url).pathname, headers, String(request.body))
    this.#serial += 1
    const billed: Billed = { serial: this.#serial, usage: null, whole: false }
    facts.requests.push({ vendor, billed, refused: verdict.answering === null })
    if (facts.requests.length === facts.cancelAt) setTimeout(() => this.cancel(facts), facts.tape.of(1, 1, 400, 5000))
    if (verdict.answering === null) {
      if (verdict.final) this.faults.push(`${vendor.provider}: ${verdict.error}`)
      answer.writeHead(verdict.status, { 'content-type': 'application/json' }).end(verdict.error)
      return left
    }
    this.faults.push(...trueNotes(verdict.notes, facts.history).map((note) => `${vendor.provider}: ${note}`))
    writeAnswer(facts.tape, verdict.answering(answer.response), vendor, billed)
    return left
  }

  #judge(vendor: Vendor, path: string, headers: Readonly<Record<string, string>>, text: string) {
    const body: unknown = JSON.parse(text)
    assert.ok(isObject(body))
    const judge = new Judge(vendor.refusalStatus)
    if (path !== vendor.path) judge.refuse(`no such path: ${path}`)
    const issued = this.#issued.get(vendor) ?? new Issued()
    const answering = vendor.judge(body, headers, issued, judge)
    const { refusal } = judge
    if (refusal === null) return { answering, notes: judge.notes, status: 200, error: '', final: false, repair: null }
    const error = JSON.stringify(vendor.error(refusal))
    const { profile, dialect } = placeOf(vendor)
    assert.ok(profile !== null && dialect !== null)
    const { repair } = dialect.fault(refusal.status, {}, error, Date.now())
    return { answering: null, notes: [], status: refusal.status, error, final: repair === null, repair }
  }

  cancel(facts: RunFacts): void {
    for (const [runId, one] of this.#facts) if (one === facts) void this.#runs.store.requestCancel(runId)
  }

  /** A run on this history; what the user says next stands at its end. */
  async run(tape: Tape, name: string, history: readonly StoredMessage[]): Promise<Ended> {
    const body = requestBody({
      idempotency_key: name,
      llm: llmFrom(tape),
      messages: history as unknown as JsonObject[],
      system: tape.of('', '', '', 'Be brief.', 'Be kind.'),
      tools: tape.once(5) ? tools.slice(1) : tools,
      output: outputFrom(tape),
      limits: limitsFrom(tape),
      stream: { reasoning: true, tool_names: tape.once(2) },
      meta: { session_id: name },
    })
    const { request, faults } = parseRunRequest(body, {
      defaultTimezone: 'UTC',
    })
    checkHistory(request.messages, faults)
    assert.deepEqual(faults.list, [])
    const { messages } = request
    const cancelAt = tape.of(0, 0, 0, 1, 2)
    const facts: RunFacts = { requests: [], toolRequests: new Map(), history: messages, tape, cancelAt }
    const { store, events } = this.#runs
    const admitted = await store.admit({ request, warnings: [], fingerprint: name })
    assert.ok(admitted.kind === 'new')
    const { runId } = admitted
    this.#facts.set(runId, facts)
    const view = await store.waitForEnd(runId, NEVER)
    assert.ok(view?.result != null)
    const reading = await events.read(runId, undefined, NEVER)
    const seen: StreamEvent[] = []
    for await (const { event } of reading?.events ?? []) seen.push(event)
    await store.ack(runId)
    const result = JSON.parse(view.result.json) as RunResult
    return { result, events: seen, facts, history: [...request.messages, ...readMessages(view.result.json)] }
  }

  /** Whether this history could go to that vendor now. '' or what it says against it. */
  refusalOf(vendor: Vendor, history: readonly StoredMessage[]): string {
    const { dialect, profile, target } = placeOf(vendor)
    assert.ok(profile !== null && dialect !== null)
    const { request } = parseRunRequest(requestBody({ tools }), { defaultTimezone: 'UTC' })
    const record = openRecord(
      'run_01JDZZZZZZZZZZZZZZZZZZZZZZ' as never,
      { ...request, messages: history, targets: [target] },
      [],
      START,
    )
    const ask = askOf(record, openPrompt(record), { kind: 'ask', final: null, note: null })
    const repairs = new Set<Repair>()
    for (;;) {
      const call = { ask, target, profile, apiKey: 'key', baseUrl: urlOf(vendor), repairs }
      const { body, headers, url } = dialect.request(call)
      const verdict = this.#judge(vendor, new URL(url).pathname, lowerCased(headers), body)
      if (verdict.answering !== null) return trueNotes(verdict.notes, history).join(' ')
      if (verdict.repair === null || repairs.has(verdict.repair)) return verdict.error
      repairs.add(verdict.repair)
    }
  }
}

/**
 * A vendor that has written an answer to its end takes it for its own, also where the engine was cut off behind its last word:
 * then the text alone was kept, without its phase and its reasoning.
 */
function trueNotes(notes: readonly string[], history: readonly StoredMessage[]): readonly string[] {
  const cut = history.some((message) => message.role === 'assistant' && CUT.includes(message.stop_reason ?? ''))
  return cut
    ? notes.filter((note) => !/ its [a-z_ ]+ is not there$| 0 thoughts where its answer had /.test(note))
    : notes
}

const CUT: readonly string[] = ['cancelled', 'timeout', 'error']

const NEVER = new AbortController().signal
const NO_OUTBOX = { add: () => {}, stop: () => {}, again: () => assert.fail('nothing is delivered again') }
const NO_EGRESS: Egress = {
  request: () => assert.fail('no such door'),
  judge: () => null,
  close: async () => {},
}

export const vendorsOfWorld = VENDORS

const PLACES = new Map(
  VENDORS.map((vendor) => {
    const { request } = parseRunRequest(requestBody({ llm: llmOf(vendor, vendor.model, {}) }), {
      defaultTimezone: 'UTC',
    })
    const [target] = request.targets
    const profile = builtIn.profile(target)
    return [vendor, { target, profile, dialect: profile === null ? null : builtIn.dialect(profile.dialect) }] as const
  }),
)

function placeOf(vendor: Vendor) {
  const place = PLACES.get(vendor)
  assert.ok(place !== undefined)
  return place
}

function llmOf(vendor: Vendor, model: string, params: JsonObject, key = 'a2V5'): JsonObject {
  return {
    provider: vendor.provider,
    model,
    api_key: key,
    ...(vendor.profile === undefined ? {} : { profile: vendor.profile }),
    ...(vendor.profile !== undefined || vendor.provider === 'openai-compatible' ? { base_url: urlOf(vendor) } : {}),
    params,
    pricing: { currency: 'USD', input: 3, output: 15 },
  }
}

function llmFrom(tape: Tape): JsonObject {
  const target = () => {
    const vendor = VENDORS[tape.below(VENDORS.length)] as Vendor
    const model = tape.once(4) ? tape.of(vendor.model, ...vendor.otherModels) : vendor.model
    return llmOf(vendor, model, paramsFrom(tape), tape.of('a2V5', 'b3RoZXI='))
  }
  const first = target()
  return tape.once(3) ? { ...first, fallbacks: [target()] } : first
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function readMessages(json: string): StoredMessage[] {
  const parsed = parseJson(json)
  assert.ok(parsed.ok)
  return (parsed.value as unknown as RunResult).messages as StoredMessage[]
}

/** What the user, or the harness, says next. */
export function goneOn(ended: Ended, words: string): StoredMessage[] {
  const closing = ended.result.pending.map(({ call_id, tool }): StoredMessage => ({
    role: 'tool',
    call_id,
    tool,
    is_error: true,
    error: 'superseded',
  }))
  const history = [...ended.history, ...closing, userMessage(words) as unknown as StoredMessage]
  const faults = new Faults()
  checkHistory(history, faults)
  assert.deepEqual(faults.list, [])
  return history
}

/** What a vendor's figures are in the contract's words; nothing where it told none. */
export function billedTokens({ billed, vendor }: RunFacts['requests'][number]): Tokens {
  return billed.usage === null ? NO_TOKENS : tokensOf(billed.usage, vendor.tells)
}
