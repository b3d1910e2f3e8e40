import { test } from 'node:test'
import assert from 'node:assert/strict'
import { localTime, stamped } from '../../src/engine/message-dates.ts'

const cases: [string, string, string][] = [
  ['2026-03-29T22:05:00Z', 'Europe/London', 'Sun 2026-03-29 23:05 +01:00'],
  ['2026-03-29T22:05:00Z', 'Europe/Berlin', 'Mon 2026-03-30 00:05 +02:00'],
  ['2026-03-29T22:05:00Z', 'Asia/Kathmandu', 'Mon 2026-03-30 03:50 +05:45'],
  ['2026-03-29T22:05:00Z', 'Pacific/Apia', 'Mon 2026-03-30 11:05 +13:00'],
  ['2026-03-29T00:59:59Z', 'Europe/London', 'Sun 2026-03-29 00:59 +00:00'],
  ['2026-03-29T01:00:00Z', 'Europe/London', 'Sun 2026-03-29 02:00 +01:00'],
  ['2026-10-25T00:30:00Z', 'Europe/London', 'Sun 2026-10-25 01:30 +01:00'],
  ['2026-10-25T01:30:00Z', 'Europe/London', 'Sun 2026-10-25 01:30 +00:00'],
  ['2026-01-01T00:00:00Z', 'UTC', 'Thu 2026-01-01 00:00 +00:00'],
  ['2026-07-01T12:00:00Z', 'America/St_Johns', 'Wed 2026-07-01 09:30 -02:30'],
]

for (const [instant, zone, expected] of cases) {
  test(`TZ-01: ${instant} is ${expected} in ${zone}`, () =>
    assert.equal(localTime(Date.parse(instant), zone), expected))
}

test('a message of pictures only gets its stamp as a text of its own', () => {
  const image = { type: 'image' as const, url: 'https://x.example/a.png', mime_type: 'image/png' }
  const message = stamped({ role: 'user', content: [image], created_at: '2026-01-01T00:00:00Z' }, 'UTC')
  assert.deepEqual(message.content, [image, { type: 'text', text: '[Thu 2026-01-01 00:00 +00:00]' }])
})
