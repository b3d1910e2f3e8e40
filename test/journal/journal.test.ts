/** The journal in memory and on disk: order, cursors, bounds, and what happens when the disk does not play along. */
import assert from 'node:assert/strict'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import fs from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { createIds, isItemId, msOfId } from '../../src/journal/journal-item.ts'
import { readDisk } from '../../src/journal/disk-reader.ts'
import { filterOf, positionOf, type LogPage, type LogPosition } from '../../src/journal/log-query.ts'
import { entriesOf, folderFor, journalWith, NOON, query } from './items.ts'

const numbers = (page: { readonly lines: readonly string[] }) => entriesOf(page).map(({ n }) => n)
const small = { maxItems: 3, maxChars: 1_000_000 }
const disk = (folder: string) => ({ folder, retentionDays: 14, maxBytes: 1_073_741_824 })

test('an entry is kept with an id, its time and the session that its run was accepted for', async () => {
  const { journal, logged } = journalWith()
  journal.write({ event: 'accepted', run_id: 'run_1', session_id: 's1', provider: 'scripted' })
  journal.write({ event: 'ended', run_id: 'run_1', status: 'completed' })
  journal.write({ event: 'ended', run_id: 'run_2', status: 'failed' })
  const entries = entriesOf(await journal.read(query()))
  assert.deepEqual(
    entries.map(({ event, at, session_id }) => [event, at, session_id]),
    [
      ['accepted', '2026-11-30T12:00:00.000Z', 's1'],
      ['ended', '2026-11-30T12:00:00.000Z', 's1'],
      ['ended', '2026-11-30T12:00:00.000Z', null],
    ],
  )
  assert.deepEqual(Object.keys(entries[0] ?? {}), ['id', 'at', 'event', 'run_id', 'session_id', 'provider'])
  assert.equal(logged.length, 3)
})

test('what was said is kept where that is wanted, cleared, and else not even asked for', async () => {
  let asked = 0
  const said = () => {
    asked += 1
    return { text: 'the secret word' }
  }
  const silent = journalWith()
  silent.journal.write({ event: 'step_ended', run_id: 'run_1' }, said)
  const telling = journalWith({ clearContent: (text) => text.replace('secret', '[redacted]') })
  telling.journal.write({ event: 'step_ended', run_id: 'run_1' }, said)
  telling.journal.write({ event: 'step_ended', run_id: 'run_1' })
  assert.equal(asked, 1)
  const told = [...silent.logged, ...telling.logged].map((entry) => entry['content'])
  assert.deepEqual(told, [undefined, '{"text":"the [redacted] word"}', undefined])
})

test('which session a run belongs to is known of the newest 20,000 runs, and of one that had none', async () => {
  const { journal } = journalWith()
  const accepted = (n: number) =>
    journal.write({ event: 'accepted', run_id: `run_${n}`, session_id: n === 20_000 ? null : `s${n}` })
  for (let n = 0; n <= 20_001; n += 1) accepted(n)
  for (const n of [0, 1, 2, 20_000, 20_001]) journal.write({ event: 'ended', run_id: `run_${n}` })
  journal.write({ event: 'overload_began', run_id: null })
  const last = entriesOf(await journal.read(query({ event: 'ended' })))
  assert.deepEqual(
    last.map(({ session_id }) => session_id),
    [null, 's1', 's2', null, 's20001'],
  )
  const [engine] = entriesOf(await journal.read(query({ event: 'overload_began' })))
  assert.equal(engine?.session_id, null)
})

test('filters hold together, and since and until are both inclusive', async () => {
  const clock = { ms: NOON }
  const { journal } = journalWith({ clock })
  for (const [event, run_id, session_id] of [
    ['accepted', 'run_1', 's1'],
    ['accepted', 'run_2', 's2'],
    ['ended', 'run_1', null],
    ['ended', 'run_2', null],
  ] as const) {
    journal.write({ event, run_id, session_id })
    clock.ms += 1000
  }
  const found = async (parts: Parameters<typeof query>[0]) =>
    entriesOf(await journal.read(query(parts))).map(({ event, run_id }) => `${event} ${run_id}`)
  assert.deepEqual(await found({ runId: 'run_1' }), ['accepted run_1', 'ended run_1'])
  assert.deepEqual(await found({ sessionId: 's2' }), ['accepted run_2', 'ended run_2'])
  assert.deepEqual(await found({ event: 'ended', sessionId: 's1' }), ['ended run_1'])
  assert.deepEqual(await found({ sinceMs: NOON + 1000, untilMs: NOON + 2000 }), ['accepted run_2', 'ended run_1'])
  assert.deepEqual(await found({ runId: 'run_3' }), [])
})

test('memory is bounded by count and by size, and the oldest go first', async () => {
  const byCount = journalWith({ ring: { maxItems: 3, maxChars: 1_000_000 } }).journal
  const bySize = journalWith({ ring: { maxItems: 1000, maxChars: 300 } }).journal
  for (let n = 0; n < 3000; n += 1) {
    byCount.write({ event: 'limit', run_id: 'run_1', n })
    bySize.write({ event: 'limit', run_id: 'run_1', n })
  }
  assert.deepEqual(numbers(await byCount.read(query())), [2997, 2998, 2999])
  assert.deepEqual(numbers(await bySize.read(query())), [2998, 2999])
})

test('the clock going back changes neither the order nor what a cursor means', async () => {
  const clock = { ms: NOON }
  const { journal } = journalWith({ clock })
  journal.write({ event: 'limit', run_id: 'run_1', n: 0 })
  const first = await journal.read(query())
  clock.ms -= 3_600_000
  journal.write({ event: 'limit', run_id: 'run_1', n: 1 })
  assert.deepEqual(numbers(await journal.read(query({ after: positionOf(first.cursor ?? '') }))), [1])
})

test('a clock that stands still for long gives out ids that ascend and can be read back', () => {
  const clock = { ms: NOON }
  const newId = createIds(null, () => clock.ms)
  let last = newId()
  clock.ms -= 3_600_000
  // More than a millisecond has.
  for (let n = 0; n < 36 ** 4 + 5; n += 1) {
    const id = newId()
    if (!(id > last && isItemId(id))) assert.fail(`${id} came behind ${last}`)
    last = id
  }
  assert.equal(msOfId(last), NOON + 1)
})

test('who follows the journal from memory makes the disk read nothing', async (t) => {
  const folder = folderFor(t)
  const clock = { ms: NOON }
  const { journal } = journalWith({ disk: disk(folder), ring: small, clock })
  for (let n = 0; n < 10; n += 1) journal.write({ event: 'limit', run_id: 'run_1', n })
  const { cursor } = await journal.read(query())
  const { mock } = t.mock.method(fs, 'readdir')
  clock.ms += 1000
  journal.write({ event: 'limit', run_id: 'run_1', n: 10 })
  for (const asked of [{ after: positionOf(cursor ?? '') }, { sinceMs: NOON + 1000 }]) {
    const page = await journal.read(query(asked))
    assert.deepEqual([numbers(page), page.source], [[10], 'memory'])
  }
  assert.equal(mock.callCount(), 0)
  await journal.read(query())
  assert.equal(mock.callCount(), 1)
  await journal.close()
})

test('one question reads so much and no more, also where all of it is too old, and goes on from there', async (t) => {
  const folder = folderFor(t)
  const clock = { ms: NOON }
  const { journal } = journalWith({ disk: disk(folder), clock })
  for (let n = 0; n < 2000; n += 1, clock.ms += 1)
    journal.write({ event: 'limit', run_id: 'run_1', n, filling: 'x'.repeat(500) })
  const first = await journal.read(query({ limit: 1500 }))
  await journal.close()
  const read = positionOf(first.cursor ?? '')?.id ?? ''
  for (const [asked, wanted] of [
    [{ sinceMs: NOON + 1998 }, [1998, 1999]],
    // A cursor of what was in memory then: it knows no place in a file.
    [{ after: { id: read, place: null } }, Array.from({ length: 500 }, (_none, at) => 1500 + at)],
  ] as const) {
    const found: (number | undefined)[] = []
    let after: LogPosition | null = 'after' in asked ? asked.after : null
    for (let pages = 1; ; pages += 1) {
      const own = query({ ...asked, after })
      const page = await readDisk({ folder, query: own, filter: filterOf(own), before: null, maxScanBytes: 300_000 })
      found.push(...numbers(page))
      after = page.last ?? after
      if (page.done) {
        assert.equal(pages, 3)
        break
      }
    }
    assert.deepEqual(found, wanted)
  }
})

test('a page that ends before the files do holds nothing of memory, so that its cursor misses nothing', async (t) => {
  const { journal } = journalWith({ disk: disk(folderFor(t)), ring: small, maxScanBytes: 300_000 })
  const rare = (n: number) => n % 400 === 0 || n === 1999
  // The word that is looked for stands in every line.
  const facts = { run_id: 'run_1', note: 'limit', filling: 'x'.repeat(500) }
  for (let n = 0; n < 2000; n += 1) journal.write({ event: rare(n) ? 'limit' : 'retry', n, ...facts })
  for (const [event, wanted] of [
    ['limit', [0, 400, 800, 1200, 1600, 1999]],
    [null, Array.from({ length: 2000 }, (_none, n) => n)],
  ] as const) {
    const found: (number | undefined)[] = []
    let pages = 0
    let after: LogPosition | null = null
    for (let more = true; more; pages += 1) {
      const page: LogPage = await journal.read(query({ event, after, limit: 2000 }))
      found.push(...numbers(page))
      after = positionOf(page.cursor ?? '')
      more = page.more
    }
    assert.deepEqual([found, pages], [wanted, 3])
  }
  await journal.close()
})

test('what has left memory is read from disk, each entry once, and the source is told', async (t) => {
  const { journal } = journalWith({ disk: disk(folderFor(t)), ring: small })
  for (let n = 0; n < 8; n += 1) journal.write({ event: 'limit', run_id: 'run_1', n })
  const all = await journal.read(query())
  assert.deepEqual([numbers(all), all.source, all.more], [[0, 1, 2, 3, 4, 5, 6, 7], 'mixed', false])
  const old = await journal.read(query({ limit: 4 }))
  assert.deepEqual([numbers(old), old.source, old.more], [[0, 1, 2, 3], 'disk', true])
  const recent = await journal.read(query({ after: positionOf(all.cursor ?? '') }))
  assert.deepEqual([recent.lines, recent.cursor], [[], all.cursor])
  journal.write({ event: 'limit', run_id: 'run_1', n: 8 })
  const next = await journal.read(query({ after: positionOf(all.cursor ?? '') }))
  assert.deepEqual([numbers(next), next.source], [[8], 'memory'])
  await journal.close()
})

test('pages of any size, with entries coming between them, give every entry once and in order', async (t) => {
  const folder = folderFor(t)
  let round = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ limit: fc.integer({ min: 1, max: 7 }), written: fc.integer({ min: 0, max: 9 }) })),
      fc.boolean(),
      async (pages, onDisk) => {
        const own = join(folder, String((round += 1)))
        mkdirSync(own)
        const clock = { ms: NOON }
        const { journal } = journalWith({ disk: onDisk ? disk(own) : null, clock, ...(onDisk ? { ring: small } : {}) })
        let count = 0
        const write = (many: number) => {
          for (let n = 0; n < many; n += 1) {
            journal.write({ event: count % 3 === 0 ? 'ended' : 'limit', run_id: 'run_1', n: count })
            count += 1
            if (count % 2 === 0) clock.ms += 1
          }
        }
        write(5)
        const seen: (number | undefined)[] = []
        let cursor: string | null = null
        const turn = async (limit: number) => {
          const after: ReturnType<typeof positionOf> = cursor === null ? null : positionOf(cursor)
          const page = await journal.read(query({ limit, after, event: 'limit' }))
          assert.ok(page.lines.length <= limit)
          seen.push(...numbers(page))
          cursor = page.cursor
          return page.more
        }
        for (const { limit, written } of pages) {
          await turn(limit)
          write(written)
        }
        while (await turn(5));
        const wanted = Array.from({ length: count }, (_none, n) => n).filter((n) => n % 3 !== 0)
        assert.deepEqual(seen, wanted)
        await journal.close()
      },
    ),
    { numRuns: 60 },
  )
})

test('a restart goes on behind what is on disk, past a torn last line', async (t) => {
  const folder = folderFor(t)
  const first = journalWith({ disk: disk(folder) }).journal
  for (let n = 0; n < 3; n += 1) first.write({ event: 'limit', run_id: 'run_1', n })
  const { cursor } = await first.read(query())
  await first.close()
  const [file = ''] = readdirSync(folder)
  appendFileSync(join(folder, file), '{"id":"zzzzzzzzz-zzzz","at":"2026-11')
  writeFileSync(join(folder, 'notes.txt'), 'not ours')
  const second = journalWith({ disk: disk(folder) }).journal
  assert.deepEqual(numbers(await second.read(query())), [0, 1, 2])
  second.write({ event: 'limit', run_id: 'run_1', n: 3 })
  assert.deepEqual(numbers(await second.read(query({ after: positionOf(cursor ?? '') }))), [3])
  await second.close()
  const lines = readFileSync(join(folder, file), 'utf8').split('\n')
  assert.equal(lines.length, 6)
  assert.equal(JSON.parse(lines[4] ?? '').n, 3)
  const third = journalWith({ disk: disk(folder) }).journal
  const read = await third.read(query())
  assert.deepEqual([numbers(read), read.source], [[0, 1, 2, 3], 'disk'])
})

test('a folder that goes is told once; the journal goes on in memory and on disk once it can', async (t) => {
  const clock = { ms: NOON }
  const parent = folderFor(t)
  const folder = join(parent, 'logs')
  mkdirSync(folder)
  const { journal, logged } = journalWith({ disk: disk(folder), clock })
  journal.write({ event: 'limit', run_id: 'run_1', n: 0 })
  await journal.read(query())
  renameSync(folder, join(parent, 'away'))
  // A file in its place: nothing can be made there.
  writeFileSync(folder, '')
  for (let n = 1; n < 4; n += 1) {
    journal.write({ event: 'limit', run_id: 'run_1', n })
    const page = await journal.read(query({ event: 'limit' }))
    assert.deepEqual(
      numbers(page),
      Array.from({ length: n + 1 }, (_none, at) => at),
    )
    assert.equal(page.source, 'memory')
  }
  assert.deepEqual(
    logged.filter(({ event }) => event === 'log_dir_failed').map(({ code, run_id }) => [code, run_id]),
    [['ENOTDIR', null]],
  )
  rmSync(folder)
  await journal.read(query())
  assert.deepEqual(logged.at(-1), { event: 'log_dir_back', run_id: null, lost: 0 })
  await journal.close()
  const again = await journalWith({ disk: disk(folder), clock }).journal.read(query())
  assert.deepEqual(
    entriesOf(again).map(({ event, n }) => n ?? event),
    [1, 'log_dir_failed', 2, 3, 'log_dir_back'],
  )
})

/** A disk with room for so many bytes of new text; what does not fit is written as far as it does. */
function smallDisk(room: { bytes: number }): typeof fs.open {
  return async (...asked) => {
    const file = await fs.open(...asked)
    const append = async (text: string) => {
      const bytes = Buffer.from(text)
      await file.write(bytes.subarray(0, room.bytes))
      if (bytes.length > room.bytes) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
      room.bytes -= bytes.length
    }
    return Object.defineProperty(file, 'appendFile', { value: append })
  }
}

test('a full disk is told once; nothing is torn, memory goes on, and what waited is written once there is room', async (t) => {
  const folder = folderFor(t)
  const room = { bytes: 400 }
  const { journal, logged } = journalWith({ disk: { ...disk(folder), open: smallDisk(room) } })
  for (let n = 0; n < 10; n += 1) {
    journal.write({ event: 'limit', run_id: 'run_1', n })
    assert.deepEqual(numbers(await journal.read(query({ event: 'limit' }))).at(-1), n)
  }
  const told = logged.filter(({ event }) => event === 'log_dir_failed')
  assert.deepEqual(
    told.map(({ code }) => code),
    ['ENOSPC'],
  )
  const [name = ''] = readdirSync(folder)
  const written = readFileSync(join(folder, name), 'utf8')
  assert.ok(written.length > 0 && written.length <= 400 && written.endsWith('}\n'), written)
  room.bytes = Infinity
  await journal.read(query())
  assert.deepEqual(logged.at(-1), { event: 'log_dir_back', run_id: null, lost: 0 })
  await journal.close()
  const lines = readFileSync(join(folder, name), 'utf8').trimEnd().split('\n')
  const kept = lines.map((line) => JSON.parse(line) as { readonly n?: number }).flatMap(({ n }) => n ?? [])
  assert.deepEqual(kept, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('a disk that hangs delays no entry, no answer and no end', async (t) => {
  const folder = folderFor(t)
  const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof fs.open>>>()
  const { journal } = journalWith({ disk: { ...disk(folder), open: () => promise }, patienceMs: 20 })
  journal.write({ event: 'limit', run_id: 'run_1', n: 0 })
  const first = await journal.read(query())
  assert.deepEqual([numbers(first), first.source], [[0], 'memory'])
  const started = performance.now()
  for (let n = 1; n < 1000; n += 1) journal.write({ event: 'limit', run_id: 'run_1', n })
  assert.ok(performance.now() - started < 500)
  const page = await journal.read(query())
  assert.deepEqual([page.lines.length, page.source], [1000, 'memory'])
  await journal.close()
  resolve(await fs.open(join(folder, 'late'), 'a+'))
})

test('the folder keeps within its bound and its days', async (t) => {
  const folder = folderFor(t)
  const clock = { ms: NOON }
  const limits = { folder, retentionDays: 2, maxBytes: 80_000 }
  const { journal } = journalWith({ disk: limits, clock, ring: small })
  const size = () => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  for (let n = 0; n < 300; n += 1) {
    journal.write({ event: 'limit', run_id: 'run_1', n, filling: 'x'.repeat(1000) })
    if (n % 5 === 0) await journal.read(query({ limit: 1 }))
    assert.ok(size() <= limits.maxBytes, `${size()} bytes at ${n}`)
  }
  await journal.close()
  assert.ok(size() > limits.maxBytes / 2)
  const kept = numbers(await journal.read(query()))
  assert.deepEqual(kept.slice(-3), [297, 298, 299])
  assert.ok(kept.length > 30)
  for (const days of [1, 2]) {
    clock.ms = NOON + days * 86_400_000
    journal.write({ event: 'limit', run_id: 'run_1', n: 300 + days })
    await journal.close()
  }
  const days = new Set(readdirSync(folder).map((name) => name.slice(8, 18)))
  assert.deepEqual([...days], ['2026-12-01', '2026-12-02'])
})

test('a burst that is larger than a file may be is kept as far as the folder may hold it', async (t) => {
  const folder = folderFor(t)
  const limits = { folder, retentionDays: 14, maxBytes: 1_048_576 }
  const { journal } = journalWith({ disk: limits, ring: small })
  // Three bytes a character: far more bytes than characters wait.
  for (let n = 0; n < 300; n += 1) journal.write({ event: 'limit', run_id: 'run_1', n, filling: '€'.repeat(6000) })
  await journal.close()
  const size = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  assert.ok(size <= limits.maxBytes && size > limits.maxBytes / 2, `${size} bytes`)
  const kept = numbers(await journal.read(query()))
  assert.deepEqual(
    kept,
    Array.from({ length: kept.length }, (_none, at) => 300 - kept.length + at),
  )
})

test('what cannot be removed, or is no file, keeps no entry from the disk and writes none twice', async (t) => {
  const folder = folderFor(t)
  mkdirSync(join(folder, 'journal-2020-01-01-0000.jsonl'))
  writeFileSync(join(folder, 'journal-2020-01-02-0000.jsonl'), '')
  t.mock.method(fs, 'rm', () => Promise.reject(Object.assign(new Error('not permitted'), { code: 'EPERM' })))
  const { journal, logged } = journalWith({ disk: { ...disk(folder), maxBytes: 80_000 }, ring: small })
  for (let n = 0; n < 60; n += 1) {
    journal.write({ event: 'limit', run_id: 'run_1', n, filling: 'x'.repeat(1000) })
    await journal.read(query({ limit: 1 }))
  }
  await journal.close()
  assert.deepEqual(
    logged.filter(({ event }) => event !== 'limit'),
    [],
  )
  const kept = numbers(await journal.read(query()))
  assert.deepEqual(
    kept,
    Array.from({ length: 60 }, (_none, n) => n),
  )
})
