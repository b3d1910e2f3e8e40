/**
 * A harness with one conversation: posts a run, again until it is answered, waits for the result, checks it, and goes on with
 * the history that came of it. It asks the engine for a result only where the receiver has refused it.
 */
import timers from 'node:timers/promises'
import type { ErrorBody } from '../../src/contract/errors.ts'
import type { JsonObject } from '../../src/contract/json.ts'
import type { RunResult } from '../../src/contract/result.ts'
import { EngineClient, resultText, type Accepted } from '../conformance/engine-client.ts'
import { within } from '../conformance/facts.ts'
import type { Answer } from '../conformance/http.ts'
import type { Random } from '../fuzz/random.ts'
import { ask, closing, faultsOf } from './checks.ts'
import type { Ledger } from './ledger.ts'

export interface Scene {
  readonly address: string
  readonly worldUrl: string
  readonly ledger: Ledger
  readonly random: Random
}

/** A conversation is begun anew beyond so many messages. */
const LONGEST_HISTORY = 24
/** Longer than any run, its callbacks and a few deaths of the engine in between. */
const LONGEST_RUN_MS = 120_000

/** @param next the idempotency key of one more run, or null: there have been enough. */
export async function converse(scene: Scene, name: string, next: () => string | null): Promise<void> {
  let history: JsonObject[] = []
  let pending: RunResult['pending'] = []
  for (let key = next(); key !== null && scene.ledger.faults.length === 0; key = next()) {
    if (history.length > LONGEST_HISTORY) {
      history = []
      pending = []
    }
    history.push(...closing(pending), ask(`say ${key}`))
    const result = await runOnce(scene, name, key, history)
    if (result === null) return
    scene.ledger.count(`${result.status} ${result.error?.code ?? result.limit_reached ?? ''}`.trim())
    history.push(...(result.messages as unknown as JsonObject[]))
    pending = result.pending
  }
}

/** null: there is a fault, and nothing to go on with. */
async function runOnce(
  scene: Scene,
  name: string,
  key: string,
  history: readonly JsonObject[],
): Promise<RunResult | null> {
  const { ledger, random } = scene
  const client = new EngineClient(scene)
  const { accepted, unanswered } = await post(scene, client, key, bodyOf(scene, name, key, history))
  if (accepted === null) return null
  if (random.chance(0.05)) void soon(random, 200, () => client.cancel(accepted))
  if (random.chance(0.05)) void soon(random, 1000, () => client.send(`/runs/${accepted}/redeliver`, { method: 'POST' }))
  const known = ledger.changed.until(
    () => ledger.stored.has(accepted) || ledger.refused.has(accepted) || ledger.faults.length > 0,
  )
  const late = await within(known, () => `no result of ${accepted} (${key})`, LONGEST_RUN_MS).catch(
    (error: Error) => error,
  )
  if (late !== undefined) ledger.fault(late.message)
  if (!ledger.stored.has(accepted) && ledger.refused.has(accepted)) await fetchResult(ledger, client, key, accepted)
  const stored = ledger.stored.get(accepted)
  if (stored === undefined) return null
  if (ledger.runOfKey.get(key) !== accepted)
    ledger.fault(`${key}: taken as ${accepted}, which is not the run of its result`)
  for (const fault of faultsOf(stored.result, { key, history, unanswered }, ledger)) ledger.fault(fault)
  // Many harnesses ack what they have stored; the others let the receiver's answer do.
  if (random.chance(0.3)) await client.ack(accepted).catch(() => null)
  ledger.asked.delete(key)
  ledger.called.delete(accepted)
  return stored.result
}

function bodyOf({ worldUrl, random }: Scene, name: string, key: string, history: readonly JsonObject[]): JsonObject {
  const model = (path: string) => ({
    provider: 'openai-compatible',
    model: 'm',
    base_url: `${worldUrl}/${path}/${key}`,
    api_key: `key-of-${name}`,
  })
  const tools = ['read', 'write'].map((tool) => ({
    name: tool,
    description: `The tool ${tool}.`,
    input_schema: { type: 'object', properties: { n: { type: 'integer' } } },
    url: `${worldUrl}/tool/${tool}`,
    effect: tool,
    timeout_ms: 1000,
  }))
  return {
    contract_version: '1',
    idempotency_key: key,
    llm: { ...model('model'), fallbacks: random.chance(0.3) ? [model('model')] : [] },
    messages: [...history],
    tools,
    callback: { url: `${worldUrl}/result/${key}` },
    meta: { session_id: name },
    limits: { max_steps: 2 + random.int(6), on_cancel: random.pick(['cut', 'drain']) },
  }
}

interface Posted {
  /** null: it was answered in a way that it must not be; that stands in the ledger. */
  readonly accepted: string | null
  readonly unanswered: number
}

async function post({ ledger, random }: Scene, client: EngineClient, key: string, body: JsonObject): Promise<Posted> {
  let unanswered = 0
  const since = Date.now()
  while (ledger.faults.length === 0) {
    const answer = await client.post(body).catch(() => null)
    if (answer === null) unanswered += 1
    else if (answer.status === 202 || answer.status === 200)
      return { accepted: answer.json<Accepted>().run_id, unanswered }
    else if (![429, 503].includes(answer.status)) {
      const known = await held(ledger, random, client, key, answer)
      if (known !== null) return { accepted: known, unanswered }
    }
    if (Date.now() - since > LONGEST_RUN_MS) ledger.fault(`${key}: not taken: ${answer?.text}`)
    // Between two lives nobody listens.
    await timers.setTimeout(5 + random.int(40))
  }
  return { accepted: null, unanswered }
}

/** What a post may be turned down with: what came before it is not over. The run that the key has, where it has one; null: try again. */
async function held(
  ledger: Ledger,
  random: Random,
  client: EngineClient,
  key: string,
  answer: Answer,
): Promise<string | null> {
  const { code, run_id: runId } = answer.json<ErrorBody>().error
  const stored = ledger.stored.has(runId ?? '')
  if (answer.status === 409 && code === 'result_pending') {
    // The answer of the receiver was lost, or not read yet. The order of a session holds only if its last result is here.
    if (!stored) ledger.fault(`${key}: the session waits for ${runId}, whose result never came`)
    if (random.chance(0.5)) await client.ack(runId ?? '').catch(() => null)
    return null
  }
  // The key outlived what is kept of its run: that is over, and had its result taken.
  if (answer.status === 404 && stored) return runId ?? null
  ledger.fault(`${key}: POST /runs is answered ${answer.status}: ${answer.text.slice(0, 1000)}`)
  return null
}

/** The receiver has said 410: the harness fetches the result, and says so, for the session waits. */
async function fetchResult(ledger: Ledger, client: EngineClient, key: string, runId: string): Promise<void> {
  while (ledger.faults.length === 0) {
    const answer = await client.send(`/runs/${runId}`).catch(() => null)
    if (answer?.status === 200 && resultText(answer) !== 'null') {
      ledger.store(key, resultText(answer))
      break
    }
    if (answer !== null && answer.status !== 200)
      return ledger.fault(`${runId}: GET is answered ${answer.status}: ${answer.text}`)
    await timers.setTimeout(20)
  }
  while (ledger.faults.length === 0) {
    const answer = await client.ack(runId).catch(() => null)
    if (answer?.status === 200) return
    if (answer !== null) return ledger.fault(`${runId}: the ack is answered ${answer.status}: ${answer.text}`)
    await timers.setTimeout(20)
  }
}

/** What comes of it is nobody's business: the run may be over, and the engine gone. */
async function soon(random: Random, ms: number, act: () => Promise<Answer>): Promise<void> {
  await timers.setTimeout(random.int(ms))
  await act().catch(() => null)
}
