/**
 * Each number that SPEC.md tells in a sentence is the code's: the sentence is looked up in its section, the constant in the text of
 * its file, and one is held against the other. A sentence or a constant that is not found fails.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { RunRequestBody } from '../src/contract/run-request-body.ts'
import type { Keywords } from '../src/contract/schema.ts'
import { createKeyGate } from '../src/providers/key-gate.ts'
import { filesBelow, root } from './source-text.ts'

const spec = readFileSync(`${root}SPEC.md`, 'utf8')
const source = filesBelow('src', ['.ts'])

/** A section as running text. */
function prose(number: string): string {
  const at = spec.search(new RegExp(`^#{2,3} ${number.replace('.', '\\.')}\\.? `, 'm'))
  assert.ok(at >= 0, `SPEC.md has no section ${number}`)
  const rest = spec.slice(at + 3)
  const next = rest.search(/^#{2,3} /m)
  return rest.slice(0, next === -1 ? undefined : next).replaceAll(/\s+/g, ' ')
}

/** A constant of a file under src/: a number, or a product of numbers. */
function constant(file: string, name: string): number {
  const text = new RegExp(`const ${name} = ([\\d_ *]+)\\n`).exec(source.get(file) ?? '')?.[1]
  assert.ok(text !== undefined, `${file} has no constant ${name}`)
  return text.split('*').reduce((product, factor) => product * Number(factor.replaceAll('_', '').trim()), 1)
}

const commas = (number: number) => number.toLocaleString('en-US')
const seconds = (ms: number) => `${ms / 1000} s`
const mebi = (units: number) => `${units / 1024 / 1024} Mi`
const mebibytes = (bytes: number) => `${bytes / 1024 / 1024} MiB`
const kibibytes = (bytes: number) => `${bytes / 1024} KiB`
const plain = String
const NUMERALS: Readonly<Record<number, string>> = { 2: 'twice', 4: 'four' }
const word = (number: number) => NUMERALS[number] ?? String(number)

/** Section, the sentence with `#` for the number, how it is written, and where it stands in the code. */
const SENTENCES: readonly (readonly [string, string, (value: number) => string, string, string])[] = [
  ['2.3', 'lists **every** fault of the request, up to #:', plain, 'contract/check.ts', 'MAX_FAULTS'],
  ['2.3', 'JSON may nest at most # levels', plain, 'contract/json.ts', 'MAX_JSON_DEPTH'],
  ['2.7', 'At most # are listed', commas, 'contract/validation.ts', 'MAX_CHANGES'],
  ['3.2', 'is # then', commas, 'providers/claude-family.ts', 'DEFAULT_MAX_TOKENS'],
  ['3.5', 'is now + `timeout_ms` + #', seconds, 'contract/run-request.ts', 'DEADLINE_GRACE_MS'],
  ['5.3', 'at most # bytes,', commas, 'tools/schema-bounds.ts', 'MAX_SCHEMA_BYTES'],
  ['5.3', ' # schemas in it', commas, 'tools/read-schema.ts', 'MAX_SCHEMAS'],
  ['5.3', ' # levels, ', plain, 'tools/read-schema.ts', 'MAX_SCHEMA_DEPTH'],
  ['5.3', '# schemas for one value', commas, 'tools/schema-bounds.ts', 'MAX_EXPANSION'],
  ['5.3', 'a result nests at most # levels', plain, 'tools/answer.ts', 'MAX_RESULT_DEPTH'],
  ['5.3', 'Arguments are at most # characters', commas, 'providers/arguments.ts', 'MAX_ARGUMENTS_LENGTH'],
  ['5.3', 'characters and nest at most # levels', plain, 'providers/arguments.ts', 'MOST_LEVELS'],
  ['5.4', 'side by side, at most # at once', plain, 'engine/run-batch.ts', 'SIDE_BY_SIDE'],
  ['5.4', 'at most # attempts in all', plain, 'tools/retry-pause.ts', 'MAX_ATTEMPTS'],
  ['5.4', 'at least #, counted after', mebibytes, 'tools/call.ts', 'MIN_BODY_LIMIT_BYTES'],
  ['5.6', 'at # bytes at the latest', commas, 'tools/fit-result.ts', 'MAX_ERROR_BYTES'],
  ['6.3', 'An estimate reckons # bytes of UTF-8 for a token', word, 'providers/estimate.ts', 'BYTES_PER_TOKEN'],
  ['6.3', '# tokens for an image', commas, 'usage/media.ts', 'IMAGE_TOKENS'],
  ['6.3', 'and # for each', commas, 'usage/media.ts', 'PAGE_TOKENS'],
  ['6.3', 'for each # bytes of a PDF', commas, 'usage/media.ts', 'PAGE_BYTES'],
  ['6.3', '(# such pages', plain, 'usage/media.ts', 'UNSEEN_PAGES'],
  ['7.2', 'Each attempt has #', seconds, 'delivery/deliver.ts', 'ATTEMPT_TIMEOUT_MS'],
  ['8.1', 'Per target up to # attempts', plain, 'providers/retry.ts', 'ATTEMPTS_PER_MODEL'],
  ['8.1', 'the pause is #,', seconds, 'providers/retry.ts', 'FIRST_BACKOFF_MS'],
  ['8.1', 'doubling to #,', seconds, 'providers/retry.ts', 'LONGEST_BACKOFF_MS'],
  ['8.2', 'at most # at once', seconds, 'providers/key-window.ts', 'LONGEST_PAUSE_MS'],
  ['8.3', '# bytes of UTF-8 a token', word, 'engine/budget.ts', 'BYTES_PER_TOKEN'],
  ['8.3', 'It is read for at most #,', seconds, 'runs/runner.ts', 'DRAIN_MS'],
  ['8.3', 'at most # of it', mebibytes, 'providers/attempt.ts', 'MAX_DRAINED_BYTES'],
  ['8.4', 'after a finish word at most # are given', seconds, 'providers/attempt-deadlines.ts', 'LATE_MS'],
  ['8.4', 'is at most #, the whole', mebibytes, 'providers/answer-feed.ts', 'MAX_EVENT_LENGTH'],
  ['8.4', 'the whole of it #;', mebibytes, 'providers/answer-feed.ts', 'MAX_ANSWER_BYTES'],
  ['8.4', 'says in it is at most # characters', mebi, 'providers/answer-feed.ts', 'MAX_OUTPUT_LENGTH'],
  ['8.4', 'Of one answer # calls', plain, 'providers/arguments.ts', 'MAX_CALLS'],
  ['8.4', 'is read for # and', seconds, 'providers/attempt-deadlines.ts', 'ERROR_BODY_MS'],
  ['8.4', 'for 5 s and #.', kibibytes, 'providers/error-body.ts', 'MAX_ERROR_BYTES'],
  ['9', 'a heartbeat comment follows every #', seconds, 'server/stream-writer.ts', 'HEARTBEAT_MS'],
  ['10', 'At most #', mebibytes, 'providers/fetch-part.ts', 'MAX_PART_BYTES'],
  ['10', '(# bytes) a part', commas, 'providers/fetch-part.ts', 'MAX_PART_BYTES'],
  ['10', 'for one run # and', mebibytes, 'providers/run-parts.ts', 'MAX_RUN_BYTES'],
  ['10', ' and # parts,', plain, 'providers/run-parts.ts', 'MOST_PARTS'],
  ['10', 'parts, # at once', plain, 'providers/run-parts.ts', 'PARTS_AT_ONCE'],
  ['10', 'at once; # a part', seconds, 'providers/run-parts.ts', 'PART_MS'],
  ['10', 'a part, # for all that', seconds, 'providers/run-parts.ts', 'ALL_PARTS_MS'],
  ['10', 'hold at most # of base64', mebibytes, 'providers/part-budget.ts', 'MAX_HELD_BYTES'],
  ['13', 'A miss is asked again, at most #', word, 'engine/format-gate.ts', 'MOST_REPAIRS'],
]

for (const [section, sentence, written, file, name] of SENTENCES) {
  test(`SPEC §${section} tells ${name} of ${file} as it is`, () => {
    const told = sentence.replace('#', written(constant(file, name)))
    assert.ok(prose(section).includes(told), `§${section} does not say “${told}”`)
  })
}

test('SPEC §3.6 tells the bounds that are checked and stand in no table', () => {
  const { properties = {} } = RunRequestBody as unknown as Keywords
  const { idempotency_key: key, llm, messages, meta, origin_request_id: origin, tools } = properties
  const told = prose('3.6')
  assert.deepEqual([key?.minLength, key?.maxLength, origin?.maxLength], [1, 200, 200])
  assert.ok(told.includes('`idempotency_key` and `origin_request_id` 1 to 200 characters'))
  assert.ok(told.includes(`\`messages\` ${messages?.minItems} to ${commas(messages?.maxItems ?? 0)}`))
  assert.ok(told.includes(`\`tools\` ${tools?.maxItems}`))
  assert.ok(told.includes(`\`fallbacks\` ${llm?.properties?.['fallbacks']?.maxItems}`))
  const ids = ['session_id', 'user_id', 'tenant_id', 'assistant_id'].map((name) => meta?.properties?.[name]?.maxLength)
  assert.deepEqual(new Set(ids), new Set([500]))
  assert.ok(told.includes('the four named ids in `meta` 1 to 500 characters'))
})

test('SPEC §8.2 tells how far the window of a key grows', async () => {
  const gate = createKeyGate()
  const [most = ''] = /up to (\d+),/.exec(prose('8.2'))?.slice(1) ?? []
  const never = new AbortController().signal
  for (let round = 0; round < 80 * 80; round += 1) {
    const slot = await gate.acquire('key', 's', never, () => {})
    slot?.release({ kind: 'ok' })
  }
  let granted = 0
  const leave = new AbortController()
  const waiting = Array.from({ length: 100 }, async () => {
    if ((await gate.acquire('key', 's', leave.signal, () => {})) !== null) granted += 1
  })
  leave.abort()
  await Promise.all(waiting)
  assert.equal(granted, Number(most))
})

test('SPEC §8.3 tells the time that is kept for the final answer', () => {
  const text = /Math\.min\(([\d_]+), Math\.floor\(limits\.timeout_ms \/ (\d)\)\)/.exec(
    source.get('engine/plan.ts') ?? '',
  )
  const [, most = '', part = ''] = text ?? []
  assert.equal(part, '4')
  assert.ok(prose('8.3').includes(`min(${seconds(Number(most.replaceAll('_', '')))}, a quarter of \`timeout_ms\`)`))
})

test('SPEC §4.1 tells how much is kept of arguments that were no object', () => {
  const [, kept = ''] = /argsText\.slice\(0, (\d+)\)/.exec(source.get('engine/transcript.ts') ?? '') ?? []
  assert.ok(prose('4.1').includes(`cut at ${commas(Number(kept))} characters`))
})

test('SPEC §5.7 tells how long an ended call is remembered', () => {
  const [, ms = ''] = /rememberMs = ([\d_]+)/.exec(source.get('tools/late-results.ts') ?? '') ?? []
  assert.equal(Number(ms.replaceAll('_', '')), 10 * 60 * 1000)
  assert.ok(prose('5.7').includes('more than ten minutes ago'))
})
