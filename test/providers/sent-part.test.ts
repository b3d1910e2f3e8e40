/** How images and files go to each dialect: as given, as fetched, or as words; and what is fetched for that. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StoredMessage, UserPart } from '../../src/contract/message.ts'
import type { DialectCall } from '../../src/providers/dialect.ts'
import { builtIn } from '../../src/providers/built-in.ts'
import { fetchKey, wantedParts, type MediaPart } from '../../src/providers/sent-part.ts'
import { dialectCall, type CallFacts } from './dialect-call.ts'

const AT = '2026-11-30T12:00:00.000Z'
const says = (...content: UserPart[]): StoredMessage => ({ role: 'user', content, created_at: AT })
const image = (url: string, mime_type = 'image/png'): MediaPart => ({ type: 'image', url, mime_type })
const PICTURE = image('https://shop.example/a.png')
const PDF: MediaPart = { type: 'file', url: 'https://shop.example/a.pdf', mime_type: 'application/pdf', name: 'a.pdf' }
const WORDS: MediaPart = { type: 'file', url: 'https://shop.example/a.txt', mime_type: 'text/plain', name: 'a.txt' }

const VENDORS = {
  anthropic: { provider: 'anthropic', model: 'claude-opus-5-5' },
  openai: { provider: 'openai', model: 'gpt-6' },
  kimi: { provider: 'kimi', model: 'kimi-k3' },
  minimax: { provider: 'minimax', model: 'MiniMax-M3' },
  lmstudio: { server: 'lmstudio' },
  compatible: {},
  gigachat: { provider: 'gigachat', model: 'GigaChat-3-Ultra' },
} as const satisfies Record<string, CallFacts>

function callOf(facts: CallFacts, parts: readonly MediaPart[]): DialectCall {
  return dialectCall({ ...facts, messages: [says(...parts)] })
}

function bodyOf(call: DialectCall): string {
  const dialect = builtIn.dialect(call.profile.dialect)
  assert.ok(dialect !== null)
  return dialect.request(call).body
}

/** The same part as if the harness had sent what stands at its address. */
function given({ url: _url, ...part }: MediaPart, data: string): MediaPart {
  return { ...part, data }
}

test('what is fetched is what a model reads and its provider does not fetch, by dialect and type', () => {
  const wantedOf = (facts: CallFacts) => {
    const call = callOf(facts, [PICTURE, PDF, WORDS])
    return wantedParts(call.ask.messages, call).map(({ url }) => url.slice(-3))
  }
  assert.deepEqual(
    Object.entries(VENDORS).map(([name, facts]) => [name, wantedOf(facts)]),
    [
      ['anthropic', ['txt']],
      ['openai', []],
      ['kimi', ['png']],
      ['minimax', []],
      ['lmstudio', ['png']],
      ['compatible', []],
      ['gigachat', []],
    ],
  )
  const refused: CallFacts = { repairs: new Set(['no_urls']) }
  assert.deepEqual(wantedOf({ ...VENDORS.anthropic, ...refused }), ['txt', 'pdf', 'png'])
  assert.deepEqual(wantedOf({ ...VENDORS.openai, ...refused }), ['pdf', 'png'])
  assert.deepEqual(wantedOf(refused), ['png'])
})

test('each address is fetched once, the newest first, and data never', () => {
  const call = dialectCall({
    ...VENDORS.kimi,
    messages: [
      says(image('https://a.example/1'), image('https://a.example/2')),
      says({ type: 'image', data: 'QUJD', mime_type: 'image/png' }, { type: 'text', text: 'And?' }),
      says(image('https://a.example/1'), image('https://a.example/3'), image('https://a.example/3', 'image/gif')),
      says({ type: 'image', mime_type: 'image/png' }),
    ],
  })
  assert.deepEqual(
    wantedParts(call.ask.messages, call).map(({ mimeType, url }) => [url, mimeType]),
    [
      ['https://a.example/3', 'image/gif'],
      ['https://a.example/3', 'image/png'],
      ['https://a.example/1', 'image/png'],
      ['https://a.example/2', 'image/png'],
    ],
  )
})

test('what was fetched is sent byte for byte as if it had been given as data', () => {
  const data = { png: 'iVBORw0KGgo=', pdf: 'JVBERi0xLjQ=', txt: Buffer.from('Words.').toString('base64') }
  const parts = [PICTURE, PDF, WORDS]
  const fetched = new Map(
    [data.png, data.pdf, data.txt].map((one, at) => [fetchKey(parts[at] ?? PICTURE), { ok: true, data: one } as const]),
  )
  const same = [given(PICTURE, data.png), given(PDF, data.pdf), given(WORDS, data.txt)]
  for (const [name, facts] of Object.entries(VENDORS)) {
    const repairs = new Set(['no_urls'] as const)
    const call = { ...callOf({ ...facts, repairs }, parts), fetched }
    assert.equal(bodyOf(call), bodyOf(callOf(facts, same)), name)
  }
})

test('what was not fetched is a stand-in, with the reason in the warning and not in the request', () => {
  const why = 'shop.example answered HTTP 404'
  for (const name of ['kimi', 'lmstudio'] as const) {
    const call = callOf(VENDORS[name], [PICTURE])
    const failed = { ...call, fetched: new Map([[fetchKey(PICTURE), { ok: false, why } as const]]) }
    assert.equal(bodyOf(failed), bodyOf(call))
    assert.match(bodyOf(failed), /\[image omitted: it was given by an address, which this model does not read\]/)
    const warnings = builtIn.dialect(call.profile.dialect)?.request(failed).warnings ?? []
    const { model } = call.target
    assert.deepEqual(warnings, [
      {
        code: 'part_replaced',
        message: `image of type image/png was replaced by a short text: ${model} is not sent its address, and ${why}: send it as data`,
        path: 'messages[0].content[0]',
      },
    ])
  }
})

test('an image under the name of a file is sent as an image by every dialect', () => {
  const file = { ...given(PICTURE, 'iVBORw0KGgo='), type: 'file' } as MediaPart
  for (const name of ['anthropic', 'openai', 'compatible'] as const) {
    const bodies = [file, { ...file, type: 'image' } as MediaPart].map((part) => bodyOf(callOf(VENDORS[name], [part])))
    assert.equal(bodies[0], bodies[1], name)
  }
})

test('HI-13: a type in another case, with parameters, or under the other name of a JPEG is the type that providers know', () => {
  const named = (mime_type: string, plain: string) => {
    for (const [name, facts] of Object.entries(VENDORS)) {
      const bodies = [mime_type, plain].map((type) =>
        bodyOf(
          callOf(facts, [{ type: 'image', data: 'QUJD', mime_type: type }, image('https://shop.example/a', type)]),
        ),
      )
      // Where the model reads no such type its own name stands in the words.
      if (bodies[1]?.includes('omitted')) continue
      assert.equal(bodies[0], bodies[1], `${name} ${mime_type}`)
      seen.add(name)
    }
  }
  const seen = new Set<string>()
  for (const other of ['image/jpg', 'IMAGE/JPEG', 'image/jpeg; charset=binary']) named(other, 'image/jpeg')
  named('Application/PDF', 'application/pdf')
  assert.deepEqual([...seen].toSorted(), ['anthropic', 'compatible', 'minimax', 'openai'])
  const words = [' Text/Plain;charset=utf-8', 'text/plain'].map((mime_type) =>
    bodyOf(callOf(VENDORS.anthropic, [{ type: 'file', data: 'QUJD', mime_type, name: 'a.txt' }])),
  )
  assert.equal(words[0], words[1])
})
