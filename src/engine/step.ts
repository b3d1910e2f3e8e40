/**
 * One step's conversation with the model port: the question, and what the stream is told while the answer comes.
 */
import { fingerprint } from '../contract/canonical.ts'
import { instantOf } from '../contract/instant.ts'
import type { StoredMessage } from '../contract/message.ts'
import { localTime, stampedHistory, systemWithSentence } from './message-dates.ts'
import { notes } from './notes.ts'
import { lastCallAt, type Plan } from './plan.ts'
import type { Ask, EnginePorts, StepTap } from './ports.ts'
import type { Repair, RunRecord } from './record.ts'
import { saidMessage } from './transcript.ts'

/** What the model is shown of a run: made once, then only appended to. */
export interface Prompt {
  readonly system: string
  readonly messages: StoredMessage[]
  readonly cacheKey: string | null
  /** The current time, for a run that no new user message began; null otherwise. The same text on every step. */
  readonly timeNote: string | null
}

export function openPrompt(record: RunRecord): Prompt {
  const { request } = record
  const begunByUser = request.messages.at(-1)?.role === 'user'
  const session = request.session_id
  return {
    system: systemWithSentence(request.system, request.timezone),
    messages: [...stampedHistory(request.messages, request.timezone), ...record.messages],
    cacheKey: session === null ? null : fingerprint([request.tenant_id, session]).slice(0, 32),
    timeNote: begunByUser ? null : notes.now(localTime(instantOf(record.startedAt), request.timezone)),
  }
}

export function askOf(record: RunRecord, prompt: Prompt, plan: Extract<Plan, { kind: 'ask' }>): Ask {
  const lines = [prompt.timeNote, plan.note].filter((line) => line !== null)
  return {
    runId: record.runId,
    step: record.steps,
    targets: record.request.targets,
    firstTarget: record.target,
    system: prompt.system,
    messages: record.repair === null ? prompt.messages : [...prompt.messages, ...draftOf(record, record.repair)],
    tools: record.request.tools,
    toolChoice: plan.final === null ? 'auto' : 'none',
    outputSchema: record.request.output.schema,
    note: lines.length === 0 ? null : lines.join('\n'),
    cacheKey: prompt.cacheKey,
    deadlineAt: record.deadlineAt,
    giveUpAt: plan.final === null ? lastCallAt(record) : record.deadlineAt,
  }
}

/** The answer to be mended goes back as any other does: models lose the thread without their reasoning and their marks. */
function draftOf(record: RunRecord, { said }: Repair): StoredMessage[] {
  const message = saidMessage(record, said)
  return message === null ? [] : [message]
}

/** What the stream has been shown of the running step. */
export interface Shown extends StepTap {
  /** True while something shown of this step would have to be discarded. */
  dirty(): boolean
}

export function tapOf(record: RunRecord, ports: EnginePorts): Shown {
  const step = record.steps
  let offset = 0
  let reasoned = false
  let asked = record.target
  return {
    text(text) {
      ports.emit({ event: 'delta', data: { step, offset, text } })
      offset += text.length
    },
    reasoning(text) {
      if (!record.request.stream.reasoning) return
      reasoned = true
      ports.emit({ event: 'reasoning', data: { step, text } })
    },
    reset(reason) {
      // Nothing shown, nothing to discard.
      if (offset === 0 && !reasoned) return
      offset = 0
      reasoned = false
      ports.emit({ event: 'reset', data: { step, reason } })
      ports.journal({ event: 'reset', run_id: record.runId, step, reason })
    },
    wait(reason, ms, position) {
      const place = position === undefined ? {} : { position }
      ports.emit({ event: 'wait', data: { reason, ms, ...place } })
      ports.journal({ event: reason === 'queue' ? 'queued' : 'retry', run_id: record.runId, step, ms, ...place })
    },
    async attemptStarting({ attempt, target }) {
      const model = record.request.targets[target]
      ports.journal({
        event: 'attempt_started',
        run_id: record.runId,
        step,
        attempt,
        provider: model?.provider ?? null,
        model: model?.model ?? null,
      })
      if (target !== asked) ports.journal({ event: 'fallback', run_id: record.runId, step, from: asked, to: target })
      asked = target
      record.attempting = { attempt, target }
      await ports.commit('attempt')
    },
    attemptEnded(attempt) {
      const { pricing = null } = record.request.targets[record.attempting?.target ?? record.target] ?? {}
      record.attempts.push(attempt)
      record.attempting = null
      const currency = pricing?.currency ?? null
      ports.journal({ event: 'attempt_ended', run_id: record.runId, ...attempt, currency })
    },
    warn(warning) {
      const known = record.warnings.some(
        ({ code, message, path }) => code === warning.code && message === warning.message && path === warning.path,
      )
      if (!known) record.warnings.push(warning)
    },
    partFetched({ host, outcome, status, bytes, durationMs: duration_ms }) {
      const facts = { host, outcome, status, bytes, duration_ms }
      ports.journal({ event: 'part_fetched', run_id: record.runId, step, ...facts })
    },
    dirty: () => offset > 0 || reasoned,
  }
}
