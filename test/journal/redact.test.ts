/** Redaction by value: every form of a known secret goes, and nothing else does. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseJson } from '../../src/contract/json.ts'
import { createRedactor } from '../../src/journal/redact.ts'
import { secretForms } from '../../src/journal/secret-forms.ts'
import { cpuMs } from '../cpu-time.ts'

const KEY = 'sk-SECRET/+=key 0001'

test('SE-01: a secret is replaced as it is, encoded and hashed, wherever it stands', () => {
  const redactor = createRedactor([KEY])
  const forms = {
    plain: KEY,
    json: JSON.stringify(`${KEY}"`).slice(1, -3),
    base64: Buffer.from(KEY).toString('base64'),
    base64url: Buffer.from(KEY).toString('base64url'),
    percent: encodeURIComponent(KEY),
    form: new URLSearchParams({ key: KEY }).toString().slice(4),
    hex: Buffer.from(KEY).toString('hex'),
    sha: createHash('sha256').update(KEY).digest('hex'),
    upper: createHash('sha256').update(KEY).digest('hex').toUpperCase(),
  }
  for (const [name, form] of Object.entries(forms)) {
    assert.equal(redactor.text(form), '[redacted]', name)
    assert.equal(redactor.text(`a ${form} b ${form}`), 'a [redacted] b [redacted]', name)
  }
})

const hexOf = (text: string) => Buffer.from(text).toString('hex')
const percentOf = (text: string) => hexOf(text).replaceAll(/../g, '%$&')

/** Ways to write a text so that it can be read back, one in another. */
const escapes: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  json: (text) => JSON.stringify(text).slice(1, -1),
  'json of ASCII alone': (text) =>
    JSON.stringify(text)
      .slice(1, -1)
      .replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  'json for a page': (text) =>
    JSON.stringify(text)
      .slice(1, -1)
      .replaceAll(/[<>&'/]/g, (unit) => `\\u00${hexOf(unit).toUpperCase()}`),
  url: encodeURIComponent,
  'url with slashes': encodeURI,
  'url in small letters': (text) => encodeURIComponent(text).replaceAll(/%../g, (escape) => escape.toLowerCase()),
  'every byte for a url': percentOf,
  'every byte of a literal': (text) => hexOf(text).replaceAll(/../g, '\\x$&'),
  html: (text) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
  'html in numbers': (text) => text.replaceAll(/["&<>']/g, (unit) => `&#${unit.charCodeAt(0)};`),

  'every character of a literal': (text) =>
    Array.from(text, (unit) => `\\u{${(unit.codePointAt(0) ?? 0).toString(16)}}`).join(''),
  'ASCII of a literal in octal': (text) =>
    text.replaceAll(/[\0-\x7f]/g, (unit) => `\\${unit.charCodeAt(0).toString(8).padStart(3, '0')}`),
  'html without semicolons': (text) => Array.from(text, (unit) => `&#${unit.codePointAt(0)}`).join(''),
}

const ODD = 'k"ey\\+/=&<x>ß🙂%-0001'

for (const [outer, wrap] of Object.entries(escapes)) {
  test(`SE-01: a secret is found in whatever is written as ${outer}`, () => {
    const redactor = createRedactor([ODD])
    for (const [inner, write] of Object.entries(escapes)) {
      const text = wrap(`say ${write(ODD)}.`)
      assert.equal(
        redactor.text(text),
        wrap('say @.').replace(/@|%40|\\x40|\\u\{40\}|\\100|&#64/, '[redacted]'),
        `${inner} in ${outer}`,
      )
    }
    const base64 = Buffer.from(ODD).toString('base64')
    assert.ok(redactor.text(wrap(base64)).includes('[redacted]'), 'base64')
  })
}

test('SE-01: hex in whatever letters and base64 with and without its padding are found, of the hash as well', () => {
  const redactor = createRedactor([ODD])
  const digest = createHash('sha256').update(ODD).digest()
  const mixed = (text: string) =>
    text.replaceAll(/(.)(..)/g, (_all, one: string, rest: string) => one.toUpperCase() + rest)
  for (const form of [
    mixed(hexOf(ODD)),
    mixed(digest.toString('hex')),
    digest.toString('base64'),
    digest.toString('base64').replaceAll('=', ''),
    digest.toString('base64url'),
    `${digest.toString('base64url')}=`,
    Buffer.from(ODD).toString('base64').replaceAll('=', ''),
  ]) {
    assert.match(redactor.text(`a ${form} b`), /^a \[redacted\]=? b$/, form)
  }
})

test('what is no secret is left as it was written, escapes and all', () => {
  const redactor = createRedactor([ODD])
  for (const text of [
    '50% off \\ "x"',
    '%zz%e2%82',
    '\\u12 \\xZZ \\',
    '&amp;&#99999999;&nope;',
    percentOf('harmless'),
    'ABCDEF0123456789AB',
  ]) {
    assert.equal(redactor.text(text), text)
  }
})

test('SE-01: of what a provider says, secrets go whole whatever they look like, and so do keys that nobody here was given', () => {
  const redactor = createRedactor([KEY, 'acct/sk-abcdefgh/zz', 'Bearer eyJhbGciOiJ/KUzI1'])
  const told = (detail: string) => redactor.entry({ event: 'failed', run_id: 'run_1', detail })['detail']
  for (const secret of [KEY, 'acct/sk-abcdefgh/zz', 'eyJhbGciOiJ/KUzI1', Buffer.from(KEY).toString('base64')])
    assert.equal(told(`bad key "${secret}", see docs`), 'bad key "[redacted]", see docs')
  for (const foreign of [
    'sk-proj-abcdefghij123456',
    'sk-ant-api03-ABCDEF',
    'Bearer abc.def',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIi',
    'gsk_1234567890',
  ])
    assert.equal(
      told(`Incorrect API key provided: ${foreign} see docs`),
      'Incorrect API key provided: [secret] see docs',
    )
})

test('a text of nothing but escapes costs what any other does', () => {
  const redactor = createRedactor([ODD])
  const text = '%25'.repeat(100_000) + '\\\\"'.repeat(50_000)
  const started = cpuMs()
  assert.equal(redactor.text(text), text)
  assert.ok(cpuMs() - started < 2000)
})

test('SE-01: base64 of something with a secret inside shows nothing of it', () => {
  const redactor = createRedactor([KEY])
  for (const before of ['', 'u', 'us', 'user:', 'user1:']) {
    const encoded = Buffer.from(`${before}${KEY} and more`).toString('base64')
    const decoded = Buffer.from(redactor.text(encoded).replace('[redacted]', ' '), 'base64').toString('latin1')
    assert.match(redactor.text(encoded), /\[redacted\]/)
    for (let at = 0; at + 4 <= KEY.length; at += 1) assert.ok(!decoded.includes(KEY.slice(at, at + 4)), before)
  }
})

test('of a header the credentials count too, and of Basic the password', () => {
  const redactor = createRedactor([])
  redactor.hold(['Bearer tool-token-1', `Basic ${Buffer.from('shop:password-1').toString('base64')}`])
  assert.equal(redactor.text('got tool-token-1 and password-1'), 'got [redacted] and [redacted]')
})

test('a secret that was cut at the end of a text is found by what is left', () => {
  const redactor = createRedactor(['sk-SECRET-long-key-of-many-characters'])
  assert.equal(redactor.text('refused: sk-SECRET-long'), 'refused: [redacted]')
})

test('tokens in queries go, known or not', () => {
  const redactor = createRedactor([])
  assert.equal(
    redactor.text('GET https://e.example/runs/r/stream?token=abc-DEF_1&x=1 failed'),
    'GET https://e.example/runs/r/stream?token=[redacted]&x=1 failed',
  )
})

test('short values and ids are let through, facts of any depth are not', () => {
  const redactor = createRedactor(['run_SECRET_1'])
  redactor.hold(['short'])
  const cleared = redactor.entry({
    event: 'failed',
    run_id: 'run_SECRET_1',
    session_id: 'run_SECRET_1',
    detail: 'short run_SECRET_1',
    list: [{ inner: 'run_SECRET_1', n: 1 }, null],
  })
  assert.deepEqual(cleared, {
    event: 'failed',
    run_id: 'run_SECRET_1',
    session_id: 'run_SECRET_1',
    detail: 'short [redacted]',
    list: [{ inner: '[redacted]', n: 1 }, null],
  })
})

test('a short credential goes where it stands as a word of its own, and of its longer forms everywhere', () => {
  const redactor = createRedactor(['hun73r2'])
  redactor.holdCredentials(['pl4n', 'Bearer p@ss!', 'abc'])
  for (const [text, cleared] of [
    ['hun73r2', '[redacted]'],
    ['key=hun73r2, "pl4n"', 'key=[redacted], "[redacted]"'],
    ['got p@ss! and p@ss!', 'got [redacted] and [redacted]'],
    ['the pl4n', 'the [redacted]'],
    // Part of a longer word, and too short to be anything.
    ['xhun73r2 pl4nt hun73r22', 'xhun73r2 pl4nt hun73r22'],
    ['abc', 'abc'],
    [`<${Buffer.from('hun73r2').toString('hex')}>`, '<[redacted]>'],
    [createHash('sha256').update('pl4n').digest('hex'), '[redacted]'],
  ] as const) {
    assert.equal(redactor.text(text), cleared)
  }
})

test('only the newest secrets of requests are remembered, those of the environment always', () => {
  const redactor = createRedactor(['environment-1'], { maxHeld: 2, maxHeldChars: 1_000_000 })
  redactor.hold(['request-key-1', 'request-key-2'])
  redactor.hold(['request-key-1'])
  redactor.hold(['request-key-3'])
  assert.equal(
    redactor.text('environment-1 request-key-1 request-key-2 request-key-3'),
    '[redacted] [redacted] request-key-2 [redacted]',
  )
})

test('a form that two secrets share stays a secret until both are forgotten', () => {
  const redactor = createRedactor([], { maxHeld: 1, maxHeldChars: 1_000_000 })
  redactor.hold(['Bearer shared-key-1'])
  redactor.hold(['shared-key-1'])
  assert.equal(redactor.text('shared-key-1'), '[redacted]')
  redactor.hold(['something-else'])
  assert.equal(redactor.text('shared-key-1'), 'shared-key-1')
})

test('whatever the secret and the text around it, none of its forms is left', () => {
  const word = fc.string({ unit: 'grapheme', minLength: 8, maxLength: 40 })
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), fc.string(), fc.string(), (secrets, before, after) => {
      const redactor = createRedactor(secrets)
      for (const secret of secrets) {
        for (const form of secretForms(secret)) {
          const cleared = redactor.text(`${before}${form}${after}`)
          assert.ok(!cleared.includes(form) || '[redacted]'.includes(form), form)
        }
      }
    }),
  )
})

test('the cost of a text does not grow with the number of secrets', () => {
  const redactor = createRedactor([])
  redactor.hold(Array.from({ length: 5000 }, (_none, n) => `tool-header-value-${n}`.padStart(30, `${n % 10}`)))
  const text = 'no secret stands in these words of a provider '.repeat(100)
  const started = cpuMs()
  for (let round = 0; round < 20; round += 1) assert.equal(redactor.text(text), text)
  // Looking for each form in each text would take a hundred times as long.
  assert.ok(cpuMs() - started < 1500)
})

test('an object that calls itself a raw number is cleared like any other, and a raw number stays', () => {
  const redactor = createRedactor([KEY])
  const long = parseJson('12345678901234567890')
  assert.ok(long.ok)
  const entry = redactor.entry({ event: 'ended', run_id: 'run_1', said: { rawJSON: KEY }, number: long.value })
  const cleared = '{"event":"ended","run_id":"run_1","said":{"rawJSON":"[redacted]"},"number":12345678901234567890}'
  assert.equal(JSON.stringify(entry), cleared)
})
