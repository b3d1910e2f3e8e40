/**
 * The documents and the code say the same: lists are compared both ways, examples are read by the real parsers, test
 * vectors are made anew. A list that is found empty fails, so that no check passes by reading nothing.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { argsHash, callKey, canonical, operationKey } from '../src/contract/canonical.ts'
import { check, Faults } from '../src/contract/check.ts'
import { errors, type ErrorBody } from '../src/contract/errors.ts'
import { parseJson, type Json, type JsonObject } from '../src/contract/json.ts'
import { STOP_REASONS, StoredMessage } from '../src/contract/message.ts'
import { parseRunRequest } from '../src/contract/parse-run-request.ts'
import { ProviderList } from '../src/contract/provider-list.ts'
import { CALL_STATUSES, LIMITS_REACHED, PendingCall, RunResult, STATUSES, WARNINGS } from '../src/contract/result.ts'
import { defaults, guardDefaults, META_MAX_BYTES, PROVIDERS } from '../src/contract/run-request.ts'
import { RunRequestBody } from '../src/contract/run-request-body.ts'
import type { Keywords } from '../src/contract/schema.ts'
import { streamEvents, type StreamEventName } from '../src/contract/stream-event.ts'
import { LateResult, ToolAnswer, ToolCallBody } from '../src/contract/tool-exchange.ts'
import { toolResultText } from '../src/contract/tool-result-text.ts'
import type { Tokens } from '../src/contract/usage.ts'
import { envelope, headersOf } from '../src/delivery/envelope.ts'
import { checkHistory } from '../src/engine/history-rules.ts'
import { localTime } from '../src/engine/message-dates.ts'
import { CALLS_PER_STEP } from '../src/engine/repeat-guard.ts'
import { kindOf } from '../src/journal/error-digest.ts'
import { createLogJournal } from '../src/journal/log-journal.ts'
import { createEngineMetrics, MOST_CURRENCIES, MOST_MODELS, MOST_TOOLS } from '../src/observe/engine-metrics.ts'
import type { Dialect } from '../src/providers/dialect.ts'
import { profileFor } from '../src/providers/profile.ts'
import { targetFaults } from '../src/providers/target-faults.ts'
import { signTicket } from '../src/runs/run-token.ts'
import {
  AckedRun,
  CancelledRun,
  ErrorAnswer,
  ErrorNotice,
  Health,
  Logs,
  RunAnswer,
  StartedRun,
} from '../src/server/answer-schemas.ts'
import { routes } from '../src/server/routes.ts'
import { HEARTBEAT_MS, STALLED_MS } from '../src/server/stream-writer.ts'
import { readSettings, settingNames } from '../src/settings.ts'
import { addUsage } from '../src/usage/add.ts'
import { price } from '../src/usage/price.ts'
import { tableRows } from './import-table.ts'
import { filesBelow, root, withoutComments } from './source-text.ts'

const read = (path: string) => readFileSync(`${root}${path}`, 'utf8')
const spec = read('SPEC.md')
const source = filesBelow('src', ['.ts'])

// ------------------------------------------------------------------------------------------------- reading SPEC.md

/** The text of `## 9. …`, `### 6.4 …` or `## Appendix B: …` up to the next heading of the same or a higher level. */
function section(number: string): string {
  const lines = spec.split('\n')
  const isHeading = new RegExp(`^(#{2,3}) ${number.replaceAll('.', '\\.')}[ .:]`)
  const start = lines.findIndex((line) => isHeading.test(line))
  assert.notEqual(start, -1, `SPEC.md has no section ${number}`)
  const level = isHeading.exec(lines[start] ?? '')?.[1]?.length ?? 2
  const length = lines.slice(start + 1).findIndex((line) => new RegExp(`^#{2,${level}} `).test(line))
  return lines.slice(start, length === -1 ? undefined : start + 1 + length).join('\n')
}

/** A section as running text, whatever its line breaks. */
const prose = (number: string) => section(number).replaceAll(/\s+/g, ' ')

/** The cells of every table row whose first cell is one `word`; the backticks of a cell that is nothing else are taken off. */
function rows(text: string): string[][] {
  const lines = text.split('\n')
  const found = lines.flatMap((line, index) => {
    // A line with a rule below it is a table's head.
    if (!line.startsWith('| `') || lines[index + 1]?.startsWith('|---') === true) return []
    const cells = line.slice(1, line.lastIndexOf('|')).split('|')
    return [cells.map((cell) => cell.trim().replace(/^`([^`]*)`$/, '$1'))]
  })
  assert.ok(found.length > 0, 'no table was found')
  return found
}

const firstCells = (text: string) => rows(text).map(([first = '']) => first)

/** The fenced blocks of one kind: ```` ```json kind ````. */
function blocks(kind: string): string[] {
  const found = [...spec.matchAll(/^```json ([a-z-]+)(?: [a-z_]+)?\n([\s\S]*?)^```$/gm)].filter(
    ([, name]) => name === kind,
  )
  assert.ok(found.length > 0, `SPEC.md has no example ${kind}`)
  return found.map(([, , text = '']) => text)
}

function json(text: string): Json {
  const parsed = parseJson(text)
  assert.ok(parsed.ok, `not JSON: ${text.slice(0, 200)}`)
  return parsed.value
}

function faultsOf(schema: unknown, value: Json): Faults['list'] {
  const faults = new Faults()
  check(schema as Keywords, value, '', faults)
  return faults.list
}

function sameList(left: readonly string[], right: readonly string[]): void {
  assert.deepEqual(left.toSorted(), right.toSorted())
}

const camel = (name: string) => name.toLowerCase().replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase())

// --------------------------------------------------------------------------------------------------------- lists

test('SPEC §11 lists exactly the error codes, each with its HTTP status', () => {
  const documented = rows(section('11')).map(([code, http]) => `${code} ${http}`)
  sameList(
    documented,
    Object.entries(errors).map(([code, facts]) => `${code} ${'http' in facts ? facts.http : 'in result'}`),
  )
})

test('SPEC §9 lists exactly the stream events, each with exactly its fields', () => {
  const documented = rows(section('9').split('\n### ')[0] ?? '').map(
    ([event, fields = '']) => `${event}: ${words(fields).join(' ')}`,
  )
  const coded = Object.entries(streamEvents).map(
    ([event, schema]) => `${event}: ${Object.keys(schema.properties).toSorted().join(' ')}`,
  )
  sameList(documented, coded)
})

test('SPEC §9.1 says of each stream event what it becomes, and names exactly what the formats say', () => {
  const mapped = rows(section('9.1'))
  sameList(
    mapped.map(([event = '']) => event),
    Object.keys(streamEvents),
  )
  const named = (cells: readonly string[], form: RegExp) =>
    new Set(cells.flatMap((cell) => [...`\`${cell}\``.matchAll(form)].map(([, word = '']) => word)))
  const aiSdk = named(
    mapped.map(([, cell = '']) => cell),
    /`((?:[a-z]+-)?(?:start|delta|end|step|available|wait|metadata|error|abort|finish))`/g,
  )
  const agUi = named(
    mapped.map(([, , cell = '']) => cell),
    /`([A-Z_]+)`/g,
  )
  const said = (file: string) => source.get(file) ?? ''
  const parts = ['text', 'reasoning'].flatMap((part) => ['start', 'delta', 'end'].map((kind) => `${part}-${kind}`))
  const coded = [...said('server/ai-sdk-stream.ts').matchAll(/type: '([a-z-]+)'/g)].map(([, type = '']) => type)
  sameList(
    [...aiSdk].filter((word) => !word.startsWith('tool')),
    [...new Set([...coded.filter((type) => !type.startsWith('tool')), ...parts])],
  )
  for (const type of coded) assert.match(section('9.1'), new RegExp(`\`${type}\``))
  sameList(
    [...agUi],
    [...new Set([...said('server/ag-ui-stream.ts').matchAll(/'([A-Z]+(?:_[A-Z]+)*)'/g)].map(([, type = '']) => type))],
  )
})

test('SPEC §9 tells how often a heartbeat comes and when a reader is dropped', () => {
  assert.match(prose('9'), new RegExp(`a heartbeat comment follows every ${HEARTBEAT_MS / 1000} s;`))
  assert.match(prose('9'), new RegExp(`takes nothing at all for ${STALLED_MS / 1000} s is dropped`))
})

/** The backticked words of a cell, in order of the alphabet. */
function words(cell: string): string[] {
  const text = cell.includes('`') ? [...cell.matchAll(/`([a-z_]+)`/g)].map(([, word = '']) => word) : [cell]
  return text.toSorted()
}

test('SPEC §6 lists exactly the statuses, warnings, statuses of calls and stop reasons', () => {
  sameList(firstCells(section('6.2')), STATUSES)
  sameList(firstCells(section('6.4')), WARNINGS)
  sameList(firstCells(section('6.5')), CALL_STATUSES)
  sameList(firstCells(section('6.6')), STOP_REASONS)
})

test('SPEC §6.3 names exactly what an attempt can have met', () => {
  const types = [
    /type FaultClass =([^\n]*(?:\n  \|[^\n]*)*)/.exec(source.get('providers/dialect.ts') ?? ''),
    /type AttemptFaultClass =([^\n]*(?:\n  [|/][^\n]*)*)/.exec(source.get('providers/attempt-fault.ts') ?? ''),
    /type Interruption =([^\n]*)/.exec(source.get('engine/ports.ts') ?? ''),
  ]
  const coded = types.flatMap((type) => [...(type?.[1] ?? '').matchAll(/'([a-z_]+)'/g)].map(([, word = '']) => word))
  const sentence = /- `error_code` is null[^:]*:([\s\S]*?)\n- /.exec(section('6.3'))?.[1] ?? ''
  sameList(words(sentence), [...coded, 'out_of_time'])
})

test('SPEC §8.3 lists exactly the limits', () => {
  sameList(firstCells(section('8.3')), LIMITS_REACHED)
})

test('SPEC §8.5 publishes exactly the thresholds of loop protection', () => {
  const documented = rows(section('8.5')).filter(([, threshold = '']) => /^\d/.test(threshold))
  sameList(
    documented.map(([rule, threshold]) => `${rule} ${threshold}`),
    [...Object.entries(guardDefaults), ['calls_per_step', CALLS_PER_STEP]].map(
      ([rule, threshold]) => `${rule} ${threshold}`,
    ),
  )
})

test('SPEC §8.5 lists exactly the reasons for which a call is not sent', () => {
  const documented = rows(section('8.5')).filter(([, status = '']) => !/^\d/.test(status))
  const type = /export type UnsentReason =([\s\S]*?)>/.exec(source.get('engine/notes.ts') ?? '')?.[1] ?? ''
  sameList(
    documented.map(([reason = '']) => reason),
    [...[...type.matchAll(/'(\w+)'/g)].map(([, word = '']) => word), 'same_read'],
  )
})

test('SPEC §8.8 lists exactly the commit points', () => {
  const type = /export type CommitPoint =([^\n]*)/.exec(source.get('engine/ports.ts') ?? '')?.[1] ?? ''
  sameList(
    firstCells(section('8.8')),
    [...type.matchAll(/'(\w+)'/g)].map(([, point = '']) => point),
  )
})

test('SPEC §2.1 lists exactly the endpoints', () => {
  const documented = rows(section('2.1')).map(([endpoint]) => endpoint ?? '')
  const coded = Object.values(routes).map(
    ({ method, path }) => `${method} ${path.replace(':run_id', '{id}').replace(/:(\w+)/g, '{$1}')}`,
  )
  sameList(documented, coded)
})

/** Providers of the environment's names, as settings.ts makes them. */
const KEYED = PROVIDERS.filter((name) => name !== 'scripted').map((name) => name.toUpperCase().replaceAll('-', '_'))

test('SPEC §12.1 lists exactly the variables that are read', () => {
  const documented = firstCells(section('12.1')).flatMap((name) =>
    name.includes('<PROVIDER>') ? KEYED.map((provider) => name.replace('<PROVIDER>', provider)) : [name],
  )
  sameList(documented, settingNames)
})

test('SPEC §12.1 tells the defaults that hold', () => {
  const outcome = readSettings({ ENGINE_TOKEN: 'sixteen-characters' })
  assert.ok(outcome.ok)
  const settings: Readonly<Record<string, unknown>> = { ...outcome.settings }
  let compared = 0
  for (const [name = '', standard = ''] of rows(section('12.1'))) {
    const held = settings[camel(name)]
    if (typeof held !== 'number' && (typeof held !== 'string' || held.startsWith('http'))) continue
    assert.equal(standard, String(held), name)
    compared += 1
  }
  assert.ok(compared >= 12, `${compared} compared`)
  const pauses = rows(section('12.1')).find(([name]) => name === 'CALLBACK_SCHEDULE')?.[1] ?? ''
  assert.deepEqual(
    pauses.split(',').map((seconds) => Number(seconds) * 1000),
    outcome.settings.callbackPausesMs,
  )
  // Null stands for the loopback address of the port that is opened.
  assert.equal(outcome.settings.publicUrl, null)
})

test('SPEC §3.6 tells the defaults that hold, and the bounds that are checked', () => {
  const parsed = parseRunRequest(json(blocks('run-request')[1] ?? ''), { defaultTimezone: 'UTC' })
  const limits: Readonly<Record<string, unknown>> = { ...parsed.request.limits }
  const fields = (RunRequestBody as unknown as Keywords).properties
  const documented = rows(section('3.6'))
  const guard: Readonly<Record<string, unknown>> = { ...parsed.request.limits.loop_guard }
  for (const [path = '', standard, least, most] of documented) {
    const name = path.split('.').at(-1) ?? ''
    const ofTool = path.startsWith('tools[].')
    const ofGuard = path.startsWith('limits.loop_guard.')
    assert.equal(standard, String(ofTool ? defaults.tool_timeout_ms : ofGuard ? guard[name] : limits[name]), path)
    const wireLimits = fields?.['limits']?.properties
    const guardFields = wireLimits?.['loop_guard']?.properties
    const schema = ofTool ? fields?.['tools']?.items?.properties?.[name] : (ofGuard ? guardFields : wireLimits)?.[name]
    if (schema?.minimum !== undefined)
      assert.deepEqual([least, most], [String(schema.minimum), String(schema.maximum)], path)
  }
  const named = documented.map(([path = '']) => path)
  const { loop_guard: _guard, ...plain } = limits
  const all = [
    ...Object.keys(plain).map((name) => `limits.${name}`),
    ...Object.keys(guard).map((name) => `limits.loop_guard.${name}`),
    'tools[].timeout_ms',
  ]
  sameList(named, all)
  assert.ok(prose('3.4').includes(META_MAX_BYTES.toLocaleString('en-US')))
})

test('docs/metrics.md lists exactly the metrics, each with its type, its labels and its meaning', () => {
  const families = createEngineMetrics().registry.families()
  const documented = rows(read('docs/metrics.md')).map(([name, type, labels = '', help]) =>
    [name, type, labels.replaceAll(/[`–]/g, ''), help].join(' | '),
  )
  sameList(
    documented,
    families.map(({ name, type, labels, help }) =>
      [name, type, labels.map((label) => label.name).join(', '), help].join(' | '),
    ),
  )
  const text = prose('12.6')
  for (const bound of [`${MOST_MODELS} models`, `${MOST_TOOLS} tools`, `${MOST_CURRENCIES} currencies`])
    assert.ok(text.includes(bound), bound)
})

test('SPEC §12.7 lists exactly the attributes of the spans', () => {
  const documented = rows(section('12.7')).flatMap(([, , , attributes = '']) =>
    [...attributes.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  )
  const spans = ['observe/run-spans.ts', 'observe/delivery-span.ts'].map((file) => source.get(file) ?? '').join('')
  const coded = [...spans.matchAll(/'((?:gen_ai|theloop|error|http)\.[a-z_.]+)'/g)]
  sameList([...new Set(documented)], [...new Set(coded.map(([, name = '']) => name))])
})

test('metrics are named as Prometheus wants them', () => {
  for (const { name, type } of createEngineMetrics().registry.families()) {
    assert.match(name, /^(?:theloop|process|nodejs)_[a-z_]+$/)
    assert.equal(name.endsWith('_total'), type === 'counter', name)
    assert.doesNotMatch(name, /_(?:ms|milliseconds|minutes|kilobytes)\b/)
    if (type === 'histogram') assert.match(name, /_(?:seconds|steps)$/)
  }
})

test('SPEC §12.3 lists exactly the events that the code writes to the journal', () => {
  const written = new Set([...source.values()].flatMap(journalEvents))
  sameList(firstCells(section('12.3')), [...written])
})

test('SPEC §12.3 tells the level of every event', () => {
  let logged = ''
  const at = (level: string) => () => (logged = level)
  const logger = { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') }
  const write = createLogJournal(logger as unknown as Parameters<typeof createLogJournal>[0])
  for (const [event = '', level] of rows(section('12.3'))) {
    write({ event, run_id: 'run_1' })
    assert.equal(level, logged, event)
  }
})

test('SPEC §12.5 names every event that errors are told of', () => {
  const told = firstCells(section('12.3')).filter((event) => kindOf({ event, run_id: null }) !== null)
  const [, first = ''] = section('12.5').split('\n\n')
  const named = [...first.matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name)
  sameList(
    named.filter((name) => !['failed', 'provider_auth', 'provider_quota'].includes(name)),
    told,
  )
})

/**
 * Names in `event: '…'` that begin a journal entry. What is followed by `data` is an event of the stream; in `x === 'a' ? 'b'
 * : 'c'` only b and c are names.
 */
function journalEvents(text: string): string[] {
  return [
    ...withoutComments(text).matchAll(/[{\s]event: ([^,\n}]*'[^,\n}]*?)\s*(?:as const\s*)?[,}\n]\s*(\w*)/g),
  ].flatMap(([, value = '', following]) => {
    // `event: 'drain' | 'finish'` is a type.
    if (following === 'data' || value.includes('|')) return []
    const names = value.replace(/[=!]==? '[^']*'/g, '')
    return [...names.matchAll(/'([a-z_]+)'/g)].map(([, name = '']) => name)
  })
}

test('events of the stream are not taken for events of the journal', () => {
  const text = `emit({ event: 'delta', data: { step } })\n emit({\n event: 'step',\n data })\n journal({ event: 'limit', run_id })
    function moves(event: 'drain' | 'finish', ms: number) {}
    journal({\n event: reason === 'queue' ? 'queued' : 'retry',\n run_id })`
  assert.deepEqual(journalEvents(text), ['limit', 'queued', 'retry'])
})

// ------------------------------------------------------------------------------------------------------ examples

test('every run request of SPEC.md is accepted without a fault or a warning', () => {
  for (const text of blocks('run-request')) {
    const parsed = parseRunRequest(json(text), { defaultTimezone: 'UTC' })
    assert.deepEqual({ faults: parsed.faults.list, warnings: parsed.warnings }, { faults: [], warnings: [] })
    const faults = new Faults()
    checkHistory(parsed.request.messages, faults)
    assert.deepEqual(faults.list, [])
    const anyDialect = { name: 'anthropic' } as Dialect
    const rules = {
      keys: { keys: { anthropic: 'sk-example' }, baseUrls: {} },
      table: { profile: profileFor, dialect: () => anyDialect },
      judge: () => null,
    }
    assert.deepEqual(targetFaults(parsed.request.targets, rules), [])
  }
})

test('the faults that SPEC §2.3 shows are the ones that are told', () => {
  const [first, second] = blocks('run-request').map((text) => json(text) as JsonObject)
  const body = {
    ...second,
    llm: { ...(second?.['llm'] as JsonObject), temprature: 1 },
    messages: [{ role: 'user', content: [{ type: 'text', text: 12 }], created_at: '2026-11-30T09:15:01.870Z' }],
    limits: { ...(first?.['limits'] as JsonObject), max_steps: 'ten' },
  }
  const { details } = (json(blocks('error')[0] ?? '') as unknown as ErrorBody).error
  assert.deepEqual(parseRunRequest(body, { defaultTimezone: 'UTC' }).faults.list, details)
})

test('the full run request of SPEC §3.1 shows every field there is', () => {
  const missing: string[] = []
  const look = (schema: Keywords, value: unknown, path: string) => {
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      const inner = (value as Readonly<Record<string, unknown>>)[name]
      if (inner === undefined) missing.push(`${path}${name}`)
      else if (typeof inner === 'object' && inner !== null && !Array.isArray(inner))
        look(field, inner, `${path}${name}.`)
    }
  }
  look(RunRequestBody as unknown as Keywords, json(blocks('run-request')[0] ?? ''), '')
  assert.deepEqual(missing, [])
})

test('every other example of SPEC.md fits its schema', () => {
  const schemas: Readonly<Record<string, unknown>> = {
    error: ErrorAnswer,
    accepted: StartedRun,
    'run-view': RunAnswer,
    'delivery-attempt': (RunAnswer as unknown as Keywords).properties?.['delivery']?.properties?.['attempts']?.items,
    'tool-call': ToolCallBody,
    'tool-answer': ToolAnswer,
    pending: PendingCall,
    'run-result': RunResult,
    health: Health,
    'provider-list': ProviderList,
    logs: Logs,
    'error-notice': ErrorNotice,
  }
  for (const [kind, schema] of Object.entries(schemas)) {
    assert.ok(schema !== undefined, kind)
    for (const text of blocks(kind)) assert.deepEqual(faultsOf(schema, json(text)), [], kind)
  }
})

test('the small answers that SPEC.md names in its text are those of the code', () => {
  const run_id = 'run_01M8NVRYK2NQ8QRWHDSXEDPFH8'
  assert.ok(prose('2.6').includes('{ "run_id", "acked": true }'))
  assert.deepEqual(faultsOf(AckedRun, { run_id, acked: true }), [])
  assert.ok(prose('2.5').includes('{ "run_id", "status" }'))
  assert.deepEqual(faultsOf(CancelledRun, { run_id, status: 'cancelled' }), [])
  assert.deepEqual(faultsOf(LateResult, { status: 'ok', result: null }), [])
})

test('every stream event has an example that fits it', () => {
  const examples = [...spec.matchAll(/^```json stream-event ([a-z_]+)\n([\s\S]*?)^```$/gm)]
  sameList(
    examples.map(([, event = '']) => event),
    Object.keys(streamEvents),
  )
  for (const [, event = '', text = ''] of examples) {
    assert.deepEqual(faultsOf(streamEvents[event as StreamEventName], json(text)), [], event)
    assert.equal(text.trim().split('\n').length, 1, `${event} is one line`)
  }
})

test('the stored messages of SPEC §4.1 are a history', () => {
  const messages = json(blocks('stored-messages')[0] ?? '') as readonly Json[]
  for (const message of messages) assert.deepEqual(faultsOf(StoredMessage, message), [])
  const faults = new Faults()
  checkHistory(messages as unknown as readonly StoredMessage[], faults)
  assert.deepEqual(faults.list, [])
})

test('the result of SPEC §6.1 continues the request of §3.1, and its figures add up', () => {
  const parsed = parseRunRequest(json(blocks('run-request')[0] ?? ''), { defaultTimezone: 'UTC' })
  const request = parsed.request
  const result = json(blocks('run-result')[0] ?? '') as unknown as RunResult
  assert.deepEqual(result.meta, request.meta)
  assert.deepEqual(
    result.messages.map(({ seq, run_id }) => `${run_id}:${seq}`),
    [0, 1, 2].map((seq) => `${result.run_id}:${seq}`),
  )
  const faults = new Faults()
  const question = request.messages.at(-1)
  assert.ok(question)
  checkHistory([...request.messages, ...result.messages, question], faults)
  assert.deepEqual(faults.list, [])

  const { attempts } = result.usage
  for (const attempt of attempts) {
    assert.equal(attempt.total_tokens, total(attempt))
    assert.equal(attempt.cost, price(attempt, request.targets[0].pricing))
  }
  assert.deepEqual(result.usage, addUsage(attempts, request.targets))
})

function total(tokens: Tokens): number {
  return tokens.input_tokens + tokens.cache_read_tokens + tokens.cache_write_tokens + tokens.output_tokens
}

test('what SPEC §5.6 says a model sees is what it is shown', () => {
  for (const text of blocks('model-sees')) {
    const seen = json(text) as JsonObject
    const shown = toolResultText({
      result: seen['result'],
      is_error: 'error' in seen,
      error: (seen['error'] ?? null) as string | null,
      note: (seen['note'] ?? null) as string | null,
    })
    assert.equal(shown, JSON.stringify(seen))
  }
})

// -------------------------------------------------------------------------------------------------- test vectors

test('the stamps of SPEC §4.5 are the ones a model is shown', () => {
  for (const [at = '', zone = '', stamp] of rows(section('4.5'))) assert.equal(localTime(Date.parse(at), zone), stamp)
})

interface KeyVector {
  readonly args: JsonObject
  readonly session_id: string | null
  readonly tool: string
  readonly origin_request_id: string
  readonly canonical: string
  readonly args_hash: string
  readonly call_key: string
  readonly operation_key: string
}

test('the keys of SPEC Appendix B.1 are made anew', () => {
  const vectors = json(blocks('key-vectors')[0] ?? '') as unknown as readonly KeyVector[]
  assert.ok(vectors.length >= 4)
  for (const vector of vectors) {
    const facts = {
      sessionId: vector.session_id,
      tool: vector.tool,
      originRequestId: vector.origin_request_id,
      argsHash: argsHash(vector.args),
    }
    assert.equal(canonical(vector.args), vector.canonical)
    assert.equal(facts.argsHash, vector.args_hash)
    assert.equal(callKey(facts), vector.call_key)
    assert.equal(operationKey(facts), vector.operation_key)
  }
})

test('the tool call of SPEC §5.2 carries the keys of its own facts', () => {
  const call = json(blocks('tool-call')[0] ?? '') as unknown as ToolCallBody
  const facts = {
    sessionId: call.meta['session_id'] as string,
    tool: call.tool,
    originRequestId: call.origin_request_id,
    argsHash: argsHash(call.args),
  }
  assert.deepEqual(
    [call.args_hash, call.call_key, call.operation_key],
    [facts.argsHash, callKey(facts), operationKey(facts)],
  )
})

test('the ticket of SPEC Appendix B.2 is made anew', () => {
  const vector = json(blocks('ticket-vector')[0] ?? '') as Readonly<Record<string, string>>
  const { engine_token = '', run_id = '', call_id = '', tool = '', args_hash = '', expires_at = '' } = vector
  const facts = { runId: run_id, callId: call_id, tool, argsHash: args_hash, expiresAt: Date.parse(expires_at) }
  assert.equal(signTicket([engine_token], facts), vector['ticket'])
})

test('the callback signature of SPEC Appendix B.3 is made anew', () => {
  const vector = json(blocks('signature-vector')[0] ?? '') as Readonly<Record<string, string>>
  const { webhook_id = '', webhook_timestamp = '', body = '', callback_secret = '' } = vector
  const letter = envelope(webhook_id, { url: 'https://shop.example.com/', headers: {} }, '{}')
  assert.equal(Buffer.from(letter.body).toString(), body)
  const headers = headersOf(letter, [callback_secret], Number(webhook_timestamp) * 1000)
  assert.equal(headers['webhook-signature'], vector['webhook_signature'])
  assert.equal(headers['webhook-timestamp'], webhook_timestamp)
})

// ------------------------------------------------------------------------------------------------ other documents

test('ARCHITECTURE.md shows the table that architecture.test.ts checks', () => {
  const architecture = read('ARCHITECTURE.md')
  const shown = architecture.split('\n').filter((line) => /^\| `[a-z0-9.-]+` \|/.test(line))
  assert.deepEqual(shown, tableRows())
})

test('every section of SPEC.md that the code and the tests name is there', () => {
  const texts = [...source.values(), ...filesBelow('test', ['.ts']).values()]
  const named = new Set(
    texts.flatMap((text) => [...text.matchAll(/(?:SPEC |['`])§(\d+(?:\.\d+)?)/g)].map(([, number = '']) => number)),
  )
  assert.ok(named.size > 25)
  for (const number of named) section(number)
})

test('docs/decisions/dependencies.md argues exactly the packages that are there at run time', () => {
  const manifest = JSON.parse(read('package.json')) as { readonly dependencies: Readonly<Record<string, string>> }
  const argued = rows(read('docs/decisions/dependencies.md')).map(([name]) => name ?? '')
  sameList(argued, Object.keys(manifest.dependencies))
})

const documents = new Map(
  [...filesBelow('', ['.md'])].filter(([path]) => !path.startsWith('.') && !path.startsWith('dist/')),
)

test('every link of a document leads to a file or heading that is there', () => {
  assert.ok(documents.size >= 10)
  const broken: string[] = []
  for (const [path, text] of documents) {
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue
      const [file = '', anchor] = target.split('#')
      const full = file === '' ? path : new URL(file, `file:///${path}`).pathname.slice(1)
      if (!existsSync(`${root}${full}`)) broken.push(`${path}: ${target}`)
      else if (anchor !== undefined && !anchors(documents.get(full) ?? '').includes(anchor))
        broken.push(`${path}: ${target}`)
    }
  }
  assert.deepEqual(broken, [])
})

/** As GitHub makes them. */
function anchors(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test('no text names a path of the machine it was written on', () => {
  const endings = ['.ts', '.md', '.json', '.yaml', 'Dockerfile', '.dockerignore']
  const skipped = /^(?:\.git|dist|coverage)\/|^package-lock\.json$|^test\/documents\.test\.ts$/
  const texts = [...filesBelow('', endings)].filter(([path]) => !skipped.test(path))
  assert.ok(texts.length > 100)
  const machine = /(?<![\w.:/-])\/(?:work|root|home|Users|mnt|farm)\/[\w.-]+/
  assert.deepEqual(
    texts.flatMap(([path, text]) => machine.exec(text)?.map((found) => `${path}: ${found}`) ?? []),
    [],
  )
})

test('no file holds what a merge left undecided', () => {
  const texts = [...filesBelow('', ['.ts', '.js', '.md', '.json', '.yaml', '.yml'])]
  const undecided = /^(?:<{7}|>{7}) /m
  assert.deepEqual(
    texts.filter(([, text]) => undecided.test(text)).map(([path]) => path),
    [],
  )
})

test('no file is longer than it may be', () => {
  // The contract is one document, and grows with what is promised.
  const single: Readonly<Record<string, number>> = { 'ARCHITECTURE.md': 200, 'SPEC.md': 2500 }
  const most = (path: string) =>
    single[path] ?? (path.startsWith('src/') ? 400 : path.startsWith('docs/decisions/') ? 70 : 2000)
  const texts = [...filesBelow('', ['.ts', '.md'])].filter(([path]) => !/^(?:\.git|dist)\//.test(path))
  const long = texts
    .map(([path, text]) => ({ path, lines: text.split('\n').length }))
    .filter(({ path, lines }) => lines > most(path))
  assert.deepEqual(long, [])
})

test('Attempt and usage carry the same token fields', () => {
  const usage = (RunResult as unknown as Keywords).properties?.['usage']?.properties ?? {}
  const attempt = usage['attempts']?.items?.properties ?? {}
  const tokens = (fields: Readonly<Record<string, unknown>>) =>
    Object.keys(fields).filter((name) => name.endsWith('_tokens'))
  sameList(tokens(usage), tokens(attempt))
})
