/** TZ-03: what the machine's language, time zone and alphabet are makes no difference to anything on the wire. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { startReceiver } from '../fakes/callback-receiver.ts'
import { asksFor, says, startProvider } from '../fakes/provider-server.ts'
import { ok, startTools } from '../fakes/tool-server.ts'
import { AT, EngineClient, runBody, scripted, user } from './engine-client.ts'
import { endInPeace, ownEngine } from './shared-engine.ts'

type Environment = Readonly<Record<string, string>>

/** In Turkish a small I has no dot, in Persian digits are others, and Kathmandu is 5 h 45 min ahead. */
const machines: Readonly<Record<string, Environment>> = {
  plain: { LANG: 'C', TZ: 'UTC' },
  korean: { LANG: 'ko_KR.UTF-8', LC_ALL: 'ko_KR.UTF-8', LANGUAGE: 'ko', TZ: 'Asia/Seoul' },
  turkish: { LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8', LANGUAGE: 'tr', TZ: 'Asia/Kathmandu' },
  persian: { LANG: 'fa_IR.UTF-8', LC_ALL: 'fa_IR.UTF-8', LC_NUMERIC: 'fa_IR', TZ: 'America/St_Johns' },
  broken: { LANG: 'xx_XX', LC_ALL: 'xx_XX.none', TZ: 'Nowhere/Nothing' },
}

/** Ids, times and durations differ from run to run: what they look like must not. */
function shapeOf(text: string): string {
  return text
    .replaceAll(/\b(run|call)_[0-9A-HJKMNP-TV-Z]{26}\b/g, '$1_ID')
    .replaceAll(/\b(ck|op)_[0-9a-f]{64}\b/g, '$1_HASH')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replaceAll(/127\.0\.0\.1:\d+/g, 'HOST')
    .replaceAll(/(\w+_ms\\*":)\d+/g, '$1MS')
    .replaceAll(/token=[\w-]+/g, 'token=TOKEN')
    .replaceAll(/v1\.run_ID\.\d{13}\.[0-9a-f]{64}/g, 'TICKET')
}

async function wireOf(t: TestContext, machine: Environment): Promise<string> {
  const LOG_DIR = mkdtempSync(join(tmpdir(), 'locale-'))
  t.after(() => rmSync(LOG_DIR, { recursive: true, force: true }))
  const engine = await ownEngine(t, { ...machine, LOG_DIR })
  const client = new EngineClient(engine)
  const provider = await startProvider(t, [
    asksFor(['ISTANBUL_Ii', { I: 1.5, ı: 1e21, amount: 1234567.89 }]),
    says('İyi.'),
  ])
  const tools = await startTools(t, { ISTANBUL_Ii: ok({ total: 1234567.891, I: 'ıİ' }) })
  const receiver = await startReceiver(t)
  const body = {
    ...runBody({
      idempotency_key: 'TITLE-Iı',
      llm: provider.llm({
        pricing: { currency: 'USD', input: 0.15, cache_read: 0.075, cache_write: 0.15, output: 12345.678 },
      }),
      messages: [user('INTERIM ıssız')],
      tools: [tools.tool('ISTANBUL_Ii', { headers: { 'X-INTERNAL-ID': 'I', AUTHORIZATION: 'I' } })],
      callback: receiver.callback({ 'X-INSTANCE-ID': 'I' }),
      meta: { session_id: 'İSTANBUL', timezone: 'Europe/London' },
    }),
  }
  const accepted = await client.start(body)
  const stream = await client.stream(accepted)
  const events = await stream.ended()
  const delivery = await receiver.nth(1)
  const failed = await client.run(
    runBody({
      llm: scripted([{ status: 401 }]),
      limits: { timeout_ms: 1000 },
    }),
  )
  const bad = await client.post(runBody({ limits: { max_steps: 1234567.5 } }))
  const call = tools.calls[0]
  await endInPeace(engine)
  const today = new Date().toISOString().slice(0, 10)
  const yesterday = new Date(Date.now() - 3_600_000).toISOString().slice(0, 10)
  const files = readdirSync(LOG_DIR).map((name) => name.slice('journal-'.length, 'journal-2026-11-30'.length))
  assert.ok(
    files.every((day) => day === today || day === yesterday),
    `days are UTC: ${files.join()}`,
  )
  return shapeOf(
    JSON.stringify([
      provider.received.map(({ text, headers }) => [text, Object.keys(headers).toSorted()]),
      [call?.text, Object.keys(call?.headers ?? {}).toSorted()],
      [delivery.text, Object.keys(delivery.headers).toSorted()],
      events.map(({ event, data }) => [event, data]),
      [failed.status, failed.error],
      bad.text,
    ]),
  )
}

test('TZ-03: the same run leaves the same words, numbers, ids and headers on every machine', async (t) => {
  const plain = await wireOf(t, machines['plain'] ?? {})
  // What the comparison stands on: the stamp in the run's own zone, points in numbers, and English for people.
  assert.ok(plain.includes(`[Mon 2026-11-30 ${AT.slice(11, 16)} +00:00]`), plain)
  assert.match(plain, /1234567\.89\b/)
  assert.match(plain, /Please tell the administrator/)
  assert.match(plain, /"x-internal-id"/)
  for (const [name, machine] of Object.entries(machines)) {
    assert.equal(await wireOf(t, machine), plain, name)
  }
})
