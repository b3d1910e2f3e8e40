/**
 * The repair of an answer whose form was missed (SPEC §13): whether there is one, and what becomes of the answer if the repair
 * brings no text. It decides nothing about the run; what a repair may lead to stands in loop.ts.
 */
import type { StopReason } from '../contract/message.ts'
import { MOST_REPAIRS } from './format-gate.ts'
import { lastCallAt, type FinalReason } from './plan.ts'
import type { EnginePorts } from './ports.ts'
import type { Repair, RunRecord } from './record.ts'
import type { Prompt, Shown } from './step.ts'
import { keepSaid, type Said } from './transcript.ts'

/** A refusal would only come again, and time for a repair must be left. */
export function mayRepair(record: RunRecord, stop: StopReason, ports: Pick<EnginePorts, 'now'>): boolean {
  return stop !== 'refusal' && record.repairs < MOST_REPAIRS && ports.now() < lastCallAt(record)
}

/** Else the model, which sees half its JSON and is told what is wrong with it, only writes the same length again. */
const CUT = 'It was cut by its length limit: it must be shorter.'

/** The next step mends this answer. */
export function openRepair(
  record: RunRecord,
  final: FinalReason | null,
  answer: { readonly text: string; readonly said: Said },
  faults: readonly string[],
): void {
  record.repairs += 1
  const { said, text } = answer
  const told = said.stop === 'length' ? [CUT, ...faults] : faults
  record.repair = { final: final === 'repair' ? null : final, draft: text, said, faults: told }
}

/** The answer stands though its form is missed. */
export function warnForm(record: RunRecord, faults: readonly string[]): void {
  record.warnings.push({ code: 'format_not_met', message: faults.join(' '), path: null })
}

/** The answer that was to be mended is shown and stored after all. */
export function keepDraft(
  record: RunRecord,
  prompt: Prompt,
  { draft, faults, said }: Repair,
  stop: StopReason,
  { tap, ports }: { readonly tap: Shown; readonly ports: EnginePorts },
): void {
  tap.reset('repair')
  tap.text(draft)
  warnForm(record, faults)
  keepSaid(record, prompt, { ...said, stop }, ports.now())
}
