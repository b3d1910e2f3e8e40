/**
 * What each vendor takes of JSON Schema where it writes an answer after one (`schema-subset.ts`), as data. Strict on purpose: what
 * a vendor's documents do not name as taken is not sent, because the price of a refusal is a request.
 */
import type { Subset } from './schema-subset.ts'

const FORMATS = new Set('date-time time date duration email hostname ipv4 ipv6 uuid'.split(' '))

/** OpenAI's strict mode, which servers of other vendors follow. Source: OpenAI's structured outputs guide, November 2026. */
export const OPENAI_STRICT: Subset = {
  bounds: new Set('pattern multipleOf minimum maximum exclusiveMinimum exclusiveMaximum maxItems'.split(' ')),
  minItems: Infinity,
  formats: FORMATS,
  closed: true,
  optional: 0,
  unions: Infinity,
  references: 'any',
  textEnums: false,
  depth: 10,
  properties: 5_000,
  enumValues: 1_000,
  letters: 120_000,
}

/** Source: Anthropic's structured outputs page, November 2026. */
export const ANTHROPIC_STRICT: Subset = {
  bounds: new Set(['pattern']),
  minItems: 1,
  formats: new Set([...FORMATS, 'uri']),
  closed: true,
  optional: 24,
  unions: 16,
  references: 'without_loops',
  textEnums: false,
  depth: 32,
  properties: 5_000,
  enumValues: 1_000,
  letters: 120_000,
}

/** Source: GigaChat's API reference; for what it says nothing of, the rules of its functions. */
export const GIGACHAT_STRICT: Subset = {
  bounds: new Set('minimum maximum minLength maxLength maxItems'.split(' ')),
  minItems: Infinity,
  formats: new Set(['date', 'date-time', 'time']),
  closed: false,
  optional: Infinity,
  unions: 0,
  references: 'none',
  textEnums: true,
  depth: 24,
  properties: 2_000,
  enumValues: 1_000,
  letters: 120_000,
}
