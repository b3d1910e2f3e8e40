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
  // Half an hour of daylight saving time, forwards and back; a day that was left out; the first minute of a day.
  ['2026-10-03T15:29:00Z', 'Australia/Lord_Howe', 'Sun 2026-10-04 01:59 +10:30'],
  ['2026-10-03T15:30:00Z', 'Australia/Lord_Howe', 'Sun 2026-10-04 02:30 +11:00'],
  ['2026-04-04T15:00:00Z', 'Australia/Lord_Howe', 'Sun 2026-04-05 01:30 +10:30'],
  ['2011-12-30T09:59:00Z', 'Pacific/Apia', 'Thu 2011-12-29 23:59 -10:00'],
  ['2011-12-30T10:00:00Z', 'Pacific/Apia', 'Sat 2011-12-31 00:00 +14:00'],
  ['2026-11-30T18:30:00Z', 'Asia/Kolkata', 'Tue 2026-12-01 00:00 +05:30'],
  ['2026-07-01T12:00:00Z', 'America/St_Johns', 'Wed 2026-07-01 09:30 -02:30'],
  ['2026-11-30T00:00:00Z', 'Pacific/Chatham', 'Mon 2026-11-30 13:45 +13:45'],
  // Two hours of daylight saving time; a border of years; a name whatever its case.
  ['2026-03-29T00:59:00Z', 'Antarctica/Troll', 'Sun 2026-03-29 00:59 +00:00'],
  ['2026-03-29T01:00:00Z', 'Antarctica/Troll', 'Sun 2026-03-29 03:00 +02:00'],
  ['2026-12-31T23:59:59.999Z', 'Asia/Kathmandu', 'Fri 2027-01-01 05:44 +05:45'],
  ['2026-12-31T18:15:00Z', 'asia/kathmandu', 'Fri 2027-01-01 00:00 +05:45'],
  // What a harness sends that never set the date.
  ['0001-01-01T00:00:00Z', 'UTC', 'Mon 0001-01-01 00:00 +00:00'],
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

test('TZ-02: one formatter is made for a zone, in whatever letters it is written', (t) => {
  const { mock } = t.mock.method(Intl, 'DateTimeFormat')
  for (const zone of ['Asia/Colombo', 'asia/colombo', 'ASIA/COLOMBO', 'aSIA/cOLOMBO'])
    assert.equal(localTime(Date.parse('2026-11-30T18:30:00Z'), zone), 'Tue 2026-12-01 00:00 +05:30')
  assert.equal(mock.callCount(), 1)
})
