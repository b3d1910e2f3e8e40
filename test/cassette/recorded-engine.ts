/** An engine that records, in this process, over real sockets; and cassettes as they lie on disk when it has ended. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { createEngine } from '../../src/compose.ts'
import type { JsonObject } from '../../src/contract/json.ts'
import { readSettings } from '../../src/settings.ts'
import type { Environment } from '../../src/settings/setting-reader.ts'
import { EngineClient } from '../conformance/engine-client.ts'

export const ENGINE_TOKEN = 'engine-SECRET-token-0001'
export const CALLBACK_SECRET = 'callback-SECRET-0001'

export interface RecordedEngine {
  readonly client: EngineClient
  readonly folder: string
  /** Log lines so far. */
  readonly logged: readonly string[]
  /** Ends the engine; by then every cassette is written. */
  end(): Promise<void>
}

export function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cassettes-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export async function recordedEngine(t: TestContext, environment: Environment = {}): Promise<RecordedEngine> {
  const folder = newFolder(t)
  const outcome = readSettings({
    ENGINE_TOKEN,
    CALLBACK_SECRET,
    DEV_INSECURE: '1',
    HOST: '127.0.0.1',
    PORT: '0',
    LOG_LEVEL: 'trace',
    CALLBACK_SCHEDULE: '0',
    RECORD_DIR: folder,
    ...environment,
  })
  assert.ok(outcome.ok, JSON.stringify(outcome))
  const logged: string[] = []
  const sink = new Writable({ write: (line, _encoding, done) => (logged.push(String(line)), done()) })
  const engine = createEngine(outcome.settings, pino({ level: 'trace' }, sink))
  const address = await engine.listen()
  let ended: Promise<void> | null = null
  const end = () => (ended ??= engine.close({ graceMs: 1000 }))
  t.after(end)
  return { client: new EngineClient({ address }, ENGINE_TOKEN), folder, logged, end }
}

/** The one cassette of a folder. */
export function onlyCassette(folder: string): string {
  const files = readdirSync(folder)
  assert.equal(files.length, 1, files.join(', '))
  const [file = ''] = files
  assert.match(file, /^run_[0-9A-Z]{26}\.cassette\.jsonl$/)
  return join(folder, file)
}

export function linesOf(path: string): JsonObject[] {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as JsonObject)
}

/** A field that is a text. */
export function textOf(line: JsonObject, field: string): string {
  const value = line[field]
  assert.ok(typeof value === 'string', field)
  return value
}

/** The same cassette with some of its lines changed, beside it. */
export function changed(path: string, change: (lines: JsonObject[]) => JsonObject[]): string {
  const copy = `${path}.changed`
  writeFileSync(
    copy,
    `${change(linesOf(path))
      .map((line) => JSON.stringify(line))
      .join('\n')}\n`,
  )
  return copy
}
