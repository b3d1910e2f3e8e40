/** Lines of a stream that are none of its own, wherever the text is cut. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { ForeignLines, type ForeignLine } from '../../src/providers/foreign-lines.ts'

/** What is left of a stream, and what was taken out of it, in order. */
function read(pieces: readonly string[]): { readonly stream: string; readonly foreign: readonly ForeignLine[] } {
  let stream = ''
  const foreign: ForeignLine[] = []
  const lines = new ForeignLines({ stream: (text) => (stream += text), foreign: (line) => foreign.push(line) })
  for (const piece of pieces) lines.feed(piece)
  lines.end()
  return { stream, foreign }
}

const DATA = 'data: {"a":1}\n\n'
const unreadable = { kind: 'unreadable' }
const json = (data: string, event?: string) => ({ kind: 'data', event, data })

for (const [line, taken] of [
  ['{"error":{"message":"no"}}', json('{"error":{"message":"no"}}')],
  [' data: {"b":2}', json('{"b":2}')],
  ['\0\0data:{"b":2}', json('{"b":2}')],
  ['Data: {"b":2}', json('{"b":2}')],
  ['data {"b":2}', json('{"b":2}')],
  ['error: {"message":"no"}', json('{"message":"no"}', 'error')],
  ['"nothing is left"', json('"nothing is left"')],
  ['ta: {"b":2}', null],
  ['ent":"b"}}]}', unreadable],
  ['<html>502 Bad Gateway</html>', unreadable],
  [' data: {"b":', unreadable],
  ['{"half":', unreadable],
  ['foo: bar', null],
  ['x-meta: {"b":2}', null],
  ['database: 1', null],
  ['ping', null],
  ['still at work', null],
] as const) {
  test(`the line ${JSON.stringify(line)} is taken out of the stream around it`, () => {
    for (const end of ['\n', '\r\n', '\r']) {
      const around = DATA.replaceAll('\n', end)
      assert.deepEqual(read([`${around}${line}${end}${end}${around}`]), {
        stream: `${around}${end}${around}`,
        foreign: taken === null ? [] : [taken],
      })
    }
    assert.deepEqual(read([`${DATA}${line}`]).foreign, taken === null ? [] : [taken])
  })
}

test('every line of a stream stays as it is', () => {
  const whole = `: a comment\n\nevent: x\nid: 7\nid\nretry: 10\ndata:{"a":1}\ndata\ndata: {"b":2}\n\n\r\n\r${DATA}data: [DONE]`
  assert.deepEqual(read([whole]), { stream: whole, foreign: [] })
})

test('a foreign line that is longer than any error is not kept, and is no JSON', () => {
  const piece = 'x'.repeat(8192)
  const long = ['{"a":"', ...Array.from({ length: 20 }, () => piece), '"}\n']
  assert.deepEqual(read([DATA, ...long, DATA]), { stream: DATA + DATA, foreign: [unreadable] })
})

test('where the text is cut changes nothing', () => {
  const line = fc.constantFrom(
    DATA,
    '{"error":1}\n',
    'Data: {"b":2}\r\n',
    'd\n',
    'dat',
    'data',
    'e\r',
    'foo: bar\n',
    '<p>\r',
    '\n',
    '\r\n',
    ': c\n',
    'id\n',
  )
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 12 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 5 })),
      (lines, sizes) => {
        const text = lines.join('')
        const pieces: string[] = []
        for (let at = 0; at < text.length;) {
          const size = sizes.next().value ?? 1
          pieces.push(text.slice(at, at + size))
          at += size
        }
        assert.deepEqual(read(pieces), read([text]))
      },
    ),
  )
})
