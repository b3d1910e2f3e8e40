/**
 * The loop: ask the model, run the tools it asked for, ask again, until there is an end.
 *
 * It opens no socket, reads no clock and keeps nothing but its record. Every way for a run to end is a `return` below, so
 * this page is the whole list. What is decided stands in plan.ts, verdict.ts, calls.ts and repeat-guard.ts, without effects.
 */
import type { StopReason } from '../contract/message.ts'
import type { LimitReached } from '../contract/result.ts'
import { isBlank } from './blank.ts'
import { openBatch } from './calls.ts'
import {
  answered,
  awaitingTool,
  cutStop,
  doneOf,
  failed,
  failedBehindLimit,
  interrupted,
  unanswered,
  type Ending,
} from './ending.ts'
import { notes } from './notes.ts'
import { judgeFormat } from './format-gate.ts'
import { limitBehind, planStep, type FinalReason } from './plan.ts'
import type { EnginePorts, Interruption, ModelMessage, ModelPart } from './ports.ts'
import type { Repair, RunRecord } from './record.ts'
import { keepDraft, mayRepair, openRepair, warnForm } from './repair.ts'
import { next, verdict as guardVerdict } from './repeat-guard.ts'
import { journalUnsent, runBatch } from './run-batch.ts'
import { settle } from './settled-calls.ts'
import { askOf, openPrompt, tapOf, type Prompt, type Shown } from './step.ts'
import { keepSaid, keepSettled, keepShown, type Said } from './transcript.ts'
import { judge } from './verdict.ts'

/** Runs to the end. A fixed sentence that stands in for an answer is shown like one. */
export async function runLoop(record: RunRecord, ports: EnginePorts, signal: AbortSignal): Promise<Ending> {
  const ending = await loop(record, ports, signal)
  endStep(record, ports)
  if (ending.source === 'fallback') {
    const step = Math.max(1, record.steps)
    if (record.steps === 0) ports.emit({ event: 'step', data: { step, final: true } })
    ports.emit({ event: 'reset', data: { step, reason: 'empty' } })
    ports.emit({ event: 'delta', data: { step, offset: 0, text: ending.text } })
  }
  return ending
}

async function loop(record: RunRecord, ports: EnginePorts, signal: AbortSignal): Promise<Ending> {
  const prompt = openPrompt(record)
  for (;;) {
    if (signal.aborted) {
      const why = reasonOf(signal)
      if (record.repair === null) return stopped(record, ports, why, '')
      return stoppedInRepair(record, prompt, record.repair, why, { tap: tapOf(record, ports), ports })
    }
    const plan = planStep(record, ports.now())
    if (plan.kind === 'end') {
      journalLimit(record, ports, plan.limit)
      return unanswered(plan.limit, null, ports.say)
    }
    beginStep(record, ports, plan.final)
    const tap = tapOf(record, ports)
    const ask = askOf(record, prompt, plan)
    const mended = record.repair
    record.repair = null
    const answer = await ports.model(ask, tap, signal)

    switch (answer.kind) {
      case 'interrupted': {
        const why = reasonOf(signal)
        const ending =
          mended !== null && isBlank(answer.shown)
            ? stoppedInRepair(record, prompt, mended, why, { tap, ports })
            : stoppedInText(record, prompt, answer, why, ports)
        if (answer.drained !== undefined) await drained(record, ending, answer.drained, ports)
        return ending
      }
      case 'failed': {
        const { code, detail } = answer.failure
        ports.journal({ event: 'failed', run_id: record.runId, code, detail })
        if (mended !== null) return endUnmended(record, prompt, mended, plan.final, { tap, ports })
        keepShown(record, prompt, { text: answer.shown, target: answer.target, stop: 'error' }, ports.now())
        const limit = limitBehind(plan.final)
        return limit === null ? failed(code, answer.shown) : failedBehindLimit(limit, answer.shown, ports.say)
      }
      case 'out_of_time':
        // A step without tools has all the time there is: for it there is no other.
        if (mended !== null) return stoppedInRepair(record, prompt, mended, 'deadline', { tap, ports })
        if (plan.final !== null) return stopped(record, ports, 'deadline', '')
        // The next plan finds the time for tools over and asks for the final answer.
        tap.reset('restart')
        break
      case 'answer': {
        const ending = await takeAnswer(record, prompt, answer.message, plan.final, { tap, ports, signal, mended })
        if (ending !== null) return ending
      }
    }
    await ports.commit('step')
  }
}

interface Around {
  readonly tap: Shown
  readonly ports: EnginePorts
  readonly signal: AbortSignal
  /** The answer that this step is to mend; null: none. */
  readonly mended: Repair | null
}

/** A whole answer: an end, or null where the loop goes on. */
async function takeAnswer(
  record: RunRecord,
  prompt: Prompt,
  message: ModelMessage,
  final: FinalReason | null,
  { tap, ports, signal, mended }: Around,
): Promise<Ending | null> {
  const verdict = judge(message, final === null)
  const said = { stop: message.stop, target: message.target, provider_data: message.provider_data, callIds: [] }
  record.target = message.target
  switch (verdict.kind) {
    case 'answered':
      return takeText(record, prompt, verdict, said, final, { tap, ports })
    case 'refused':
      if (mended !== null) return endUnmended(record, prompt, mended, final, { tap, ports })
      return unanswered(final, 'refusal', ports.say)
    case 'paused':
      keepSaid(record, prompt, { ...said, parts: verdict.parts }, ports.now())
      return null
    case 'cut_call':
      if (record.askedAgainCut) {
        // Cut inside a call for the second time: the text beside it stands, if there is one.
        if (isBlank(verdict.text)) return unanswered(null, 'length', ports.say)
        return takeText(record, prompt, { ...verdict, stop: 'length' }, said, final, { tap, ports })
      }
      tap.reset('repair')
      record.askedAgainCut = true
      record.note = notes.cut_call
      return null
    case 'empty':
      tap.reset('empty')
      ports.journal({ event: 'empty_answer', run_id: record.runId, step: record.steps, leaked: verdict.leaked })
      if (mended !== null) return endUnmended(record, prompt, mended, final, { tap, ports })
      // Asked again it goes without tools, so this is the second one.
      if (final !== null) return unanswered(final, verdict.stop, ports.say)
      record.forced = 'empty_answer'
      return null
    case 'calls': {
      const callIds = verdict.calls.map(() => ports.newCallId())
      keepSaid(record, prompt, { ...said, parts: verdict.parts, stop: 'tool_calls', callIds }, ports.now())
      record.batch = openBatch(record, verdict.calls, callIds, ports)
      journalUnsent(record, record.batch, ports)
      await ports.commit('answer')
      await callTools(record, prompt, ports, signal)
      if (signal.aborted) return stopped(record, ports, reasonOf(signal), '')
      return record.pending.length > 0 ? awaitingTool(verdict.text) : null
    }
  }
}

/** An answer in words: the end, or null where its form is missed and asked again. */
function takeText(
  record: RunRecord,
  prompt: Prompt,
  answer: { readonly parts: readonly ModelPart[]; readonly text: string; readonly stop: StopReason },
  said: Omit<Said, 'parts'>,
  final: FinalReason | null,
  { tap, ports }: Pick<Around, 'tap' | 'ports'>,
): Ending | null {
  const { stop, text } = answer
  const whole = { ...said, parts: answer.parts, stop }
  const formed = judgeFormat(text, record.request.output, ports.checkOutput)
  if (!formed.ok && mayRepair(record, stop, ports)) {
    tap.reset('repair')
    openRepair(record, final, { text, said: whole }, formed.faults)
    return null
  }
  if (formed.ok) record.output = formed.value
  else warnForm(record, formed.faults)
  keepSaid(record, prompt, whole, ports.now())
  return answered(final, stop, text)
}

/** The repair brought no text: the answer that it was to mend stands, and is shown again. */
function endUnmended(
  record: RunRecord,
  prompt: Prompt,
  mended: Repair,
  final: FinalReason | null,
  { tap, ports }: Pick<Around, 'tap' | 'ports'>,
): Ending {
  const { draft, said } = mended
  keepDraft(record, prompt, mended, said.stop, { tap, ports })
  return answered(final, said.stop, draft)
}

/** Stopped before the repair brought a text: the answer that it was to mend was whole, and is shown again. */
function stoppedInRepair(
  record: RunRecord,
  prompt: Prompt,
  mended: Repair,
  why: Interruption,
  { tap, ports }: Pick<Around, 'tap' | 'ports'>,
): Ending {
  keepDraft(record, prompt, mended, cutStop[why], { tap, ports })
  return stopped(record, ports, why, mended.draft)
}

/** Stopped in the middle of an answer: what was shown of it stays. */
function stoppedInText(
  record: RunRecord,
  prompt: Prompt,
  { shown, target }: { readonly shown: string; readonly target: number },
  why: Interruption,
  ports: EnginePorts,
): Ending {
  keepShown(record, prompt, { text: shown, target, stop: cutStop[why] }, ports.now())
  return stopped(record, ports, why, shown)
}

/** Runs the open batch to its end and draws what follows from it. */
async function callTools(record: RunRecord, prompt: Prompt, ports: EnginePorts, signal: AbortSignal): Promise<void> {
  if (record.batch === null) return
  await runBatch(record, record.batch, ports, signal)
  const settled = settle(record, record.batch)
  record.batch = null
  keepSettled(record, prompt, settled, ports)
  for (const { outcome, call } of settled) if (outcome?.kind === 'not_deferred') closeTool(record, ports, call.tool)
  const { loop_guard } = record.request.limits
  const seen = settled.map((one) => one.seen)
  record.guard = next(record.guard, loop_guard, seen)
  const loop = guardVerdict(record.guard, loop_guard)
  if (loop === null || record.forced !== null) return
  record.forced = 'loop_protection'
  ports.journal({ event: 'repeat', run_id: record.runId, step: record.steps, reason: loop })
  record.warnings.push({
    code: 'loop_protection',
    message: `tools were taken away after step ${record.steps}: ${loop.replaceAll('_', ' ')}`,
    path: null,
  })
}

/** A write tool that does not defer has broken the contract: nobody knows what it did, so it is not asked again. */
function closeTool(record: RunRecord, ports: EnginePorts, tool: string): void {
  if (record.closedTools.includes(tool)) return
  record.closedTools.push(tool)
  record.warnings.push({
    code: 'write_not_deferred',
    message: `write tool ${tool} answered neither "deferred" nor "error": its outcome is unknown and it is closed for the rest of the run`,
    path: null,
  })
  ports.journal({ event: 'write_not_deferred', run_id: record.runId, step: record.steps, tool })
}

function beginStep(record: RunRecord, ports: EnginePorts, final: FinalReason | null): void {
  endStep(record, ports)
  record.steps += 1
  if (final === null) record.toolSteps += 1
  record.note = null
  const limit = limitBehind(final)
  if (limit !== null) journalLimit(record, ports, limit)
  ports.emit({ event: 'step', data: { step: record.steps, final: final !== null } })
}

/** The step before, once another begins or the run has come to its end. */
function endStep(record: RunRecord, ports: EnginePorts): void {
  if (record.steps === 0) return
  const entry = { event: 'step_ended', run_id: record.runId, step: record.steps }
  ports.journal(entry, () => ({ answer: record.messages.findLast(({ role }) => role === 'assistant') ?? null }))
}

/** Stopped from outside, or by the end of its time. */
function stopped(record: RunRecord, ports: EnginePorts, why: Interruption, shown: string): Ending {
  if (why === 'deadline') journalLimit(record, ports, 'timeout_ms')
  return interrupted(record, why, shown, ports.say)
}

/** The end is known to everyone; the result waits for the usage of what is still read. */
async function drained(record: RunRecord, ending: Ending, drain: Promise<void>, ports: EnginePorts): Promise<void> {
  record.announced = true
  await ports.announce(doneOf(record, ending, ports.say))
  await drain
}

function journalLimit(record: RunRecord, ports: EnginePorts, limit: LimitReached): void {
  ports.journal({ event: 'limit', run_id: record.runId, step: record.steps, limit })
}

function reasonOf(signal: AbortSignal): Interruption {
  return signal.reason as Interruption
}
