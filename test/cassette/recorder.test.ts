/** Recording never costs a run anything: bounded, told once where it fails, and gone from the path of the run. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { CassetteFile } from '../../src/cassette/cassette-file.ts'
import { replayCassette } from '../../src/cassette/replay.ts'
import { readSettings } from '../../src/settings.ts'
import { runBody, scripted } from '../conformance/engine-client.ts'
import { changed, ENGINE_TOKEN, linesOf, newFolder, onlyCassette, recordedEngine } from './recorded-engine.ts'

test('a folder that is gone costs the cassette and one line of the journal, not the run', async (t) => {
  const engine = await recordedEngine(t)
  rmSync(engine.folder, { recursive: true })
  const result = await engine.client.run(runBody())
  assert.equal(result.status, 'completed')
  await engine.end()
  const lines = engine.logged.filter((line) => line.includes('recording_failed'))
  assert.equal(lines.length, 1, lines.join(''))
  assert.match(lines[0] ?? '', /"run_id":"run_\w+","code":"ENOENT"/)
  assert.ok(!existsSync(engine.folder))
})

test('a run larger than a cassette may be is cut, says so, and cannot be replayed', async (t) => {
  const folder = newFolder(t)
  const file = new CassetteFile({ folder, runId: 'run_1', maxBytes: 1000, backlog: { bytes: 0 }, onFault: assert.fail })
  for (let index = 0; index < 100; index += 1) file.append(JSON.stringify({ kind: 'run', format: 1, index }))
  assert.equal(file.takes, false)
  await file.close()
  const path = join(folder, 'run_1.cassette.jsonl')
  const lines = linesOf(path)
  assert.ok(lines.length < 40)
  assert.equal(lines.at(-1)?.['kind'], 'cut')
  const replay = await replayCassette(path)
  assert.ok(replay.kind === 'unplayable')
  assert.match(replay.fault, /was cut while it was recorded: the run is larger than 1000 bytes/)
})

test('while a run goes on its cassette has a temporary name, and none without a word of a fault', async (t) => {
  const folder = newFolder(t)
  const file = new CassetteFile({ folder, runId: 'run_1', maxBytes: 1000, backlog: { bytes: 0 }, onFault: assert.fail })
  file.append('{}')
  assert.ok(readdirSync(folder).every((name) => name.endsWith('.part')))
  await file.close()
  assert.deepEqual(readdirSync(folder), ['run_1.cassette.jsonl'])
})

test('what a killed process left of a run is replaced when the run goes on', async (t) => {
  const folder = newFolder(t)
  writeFileSync(join(folder, 'run_1.cassette.jsonl.part'), 'half a', { mode: 0o644 })
  const file = new CassetteFile({ folder, runId: 'run_1', maxBytes: 1000, backlog: { bytes: 0 }, onFault: assert.fail })
  file.append('{"kind":"run"}')
  await file.close()
  assert.deepEqual(readdirSync(folder), ['run_1.cassette.jsonl'])
  assert.deepEqual(linesOf(join(folder, 'run_1.cassette.jsonl')), [{ kind: 'run' }])
  assert.equal(statSync(join(folder, 'run_1.cassette.jsonl')).mode & 0o777, 0o600)
})

test('what waits for a slow disk is bounded over all cassettes: those that find no room are cut', async (t) => {
  const folder = newFolder(t)
  const backlog = { bytes: 0 }
  const line = JSON.stringify('x'.repeat(1024 * 1024))
  const files = ['run_1', 'run_2'].map((runId) => {
    const file = new CassetteFile({ folder, runId, maxBytes: 100 * 1024 * 1024, backlog, onFault: assert.fail })
    for (let index = 0; index < 40; index += 1) file.append(line)
    return file
  })
  assert.deepEqual(
    files.map(({ takes }) => takes),
    [true, false],
  )
  assert.ok(backlog.bytes <= 65 * 1024 * 1024)
  await Promise.all(files.map((file) => file.close()))
  assert.equal(backlog.bytes, 0)
  assert.equal(linesOf(join(folder, 'run_1.cassette.jsonl')).length, 40)
  assert.equal(linesOf(join(folder, 'run_2.cassette.jsonl')).at(-1)?.['why'], 'the disk was slower than the run')
})

test('without RECORD_DIR nothing is recorded; with one that is no folder the engine does not start', (t) => {
  const folder = newFolder(t)
  const plain = readSettings({ ENGINE_TOKEN })
  assert.ok(plain.ok)
  assert.equal(plain.settings.recordDir, null)
  const path = join(folder, 'file')
  writeFileSync(path, '')
  for (const [wrong, code] of [
    [path, 'ENOTDIR'],
    [join(folder, 'nowhere'), 'ENOENT'],
  ] as const) {
    const outcome = readSettings({ ENGINE_TOKEN, RECORD_DIR: wrong })
    assert.deepEqual(outcome, {
      ok: false,
      faults: [`RECORD_DIR must name a folder that is there and can be written to (${code})`],
    })
  }
})

test('a cassette of a newer format, one without its end, and what is none are told apart', async (t) => {
  const engine = await recordedEngine(t)
  await engine.client.run(runBody({ llm: scripted([{ text: 'Hello.' }]) }))
  await engine.end()
  const path = onlyCassette(engine.folder)
  const faultOf = async (file: string) => {
    const replay = await replayCassette(file)
    assert.ok(replay.kind === 'unplayable', replay.kind)
    return replay.fault
  }
  const newer = changed(path, ([run, ...rest]) => [{ ...run, format: 2 }, ...rest])
  assert.match(await faultOf(newer), /its format is 2, newer than this version reads \(1\): replay it with a newer one/)
  assert.match(await faultOf(changed(path, (lines) => lines.slice(0, -1))), /ends without a result/)
  assert.match(await faultOf(changed(path, () => [{ hello: 1 }])), /this is no cassette/)
  assert.match(await faultOf(join(engine.folder, 'nothing')), /could not be read \(ENOENT\)/)
})
