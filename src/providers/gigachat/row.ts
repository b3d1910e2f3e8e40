/**
 * What GigaChat takes, as data: its row in `profile.ts`. Source: the vendor's API reference, reasoning, limits and migration
 * pages, November 2026. All models take the same; one that a field is not for refuses it only where it was asked for.
 */
import { type ModelTable, patternsOf, rulesFor } from '../model-table.ts'
import type { ProfileRow, ThinkingRule } from '../profile.ts'
import { GIGACHAT_STRICT } from '../schema-subsets.ts'
import { concurrencyOf, DEFAULT_SCOPE } from './token-settings.ts'

const SILENT: ThinkingRule = { body: {}, thinks: false }

function effort(level: 'low' | 'medium' | 'high'): ThinkingRule {
  return { body: { reasoning_effort: level }, thinks: true }
}

/** How much one answer of these may hold; of the others nobody says. */
const MODELS: ModelTable<ProfileRow> = {
  groups: [
    { models: ['GigaChat-2', 'GigaChat-2-Pro', 'GigaChat-2-Max', 'GigaChat-3-Ultra'], rules: { maxTokensMost: 8_192 } },
  ],
  others: {},
}

export const gigachatModels = patternsOf(MODELS)

export function gigachatModel(model: string): ProfileRow {
  return { ...gigachatRow, ...rulesFor(MODELS, model) }
}

export const gigachatRow = {
  provider: 'gigachat',
  dialect: 'gigachat',
  baseUrl: 'https://api.giga.chat/v1',
  auth: 'bearer',
  exchangesKey: true,
  family: 'gigachat',
  // Files are taken by the id of an upload only, and nothing here uploads.
  reads: [],
  // 0 is refused; up to here an answer is the same each time.
  sampling: { temperature: { least: 0.001, most: 2 }, top_p: { least: 0, most: 1 }, together: true },
  stops: 0,
  seed: false,
  parallelToolCalls: false,
  thinking: {
    off: SILENT,
    low: effort('low'),
    medium: effort('medium'),
    high: effort('high'),
    max: effort('high'),
    unsaid: SILENT,
  },
  output: { form: 'json_schema', subset: GIGACHAT_STRICT },
  concurrency: concurrencyOf(DEFAULT_SCOPE),
} as const satisfies ProfileRow
