/** The events of a stream and the lines that are none of its own, wherever the text is cut. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { EventStream } from '../../src/providers/event-stream.ts'

/** Everything that is told of a stream, in order: an event as its name and data. */
function read(pieces: readonly string[], longest = 1_000_000): unknown[] {
  const told: unknown[] = []
  const stream = new EventStream(longest, {
    event: (name, data) => told.push([name, data]),
    foreign: (line) => told.push(line),
    tooLong: () => told.push('too long'),
  })
  for (const piece of pieces) if (piece !== '') stream.feed(piece)
  stream.end()
  return told
}

const DATA = 'data: {"a":1}\n\n'
const event = [undefined, '{"a":1}']
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
      const whole = `${around}${line}${end}${end}${around}`
      const told = taken === null ? [event, event] : [event, taken, event]
      assert.deepEqual(read([whole]), told)
      for (let cut = 1; cut < whole.length; cut += 1) {
        assert.deepEqual(read([whole.slice(0, cut), whole.slice(cut)]), told, `cut at ${cut}`)
      }
    }
    assert.deepEqual(read([`${DATA}${line}`]), taken === null ? [event] : [event, taken])
  })
}

test('every line of a stream is read as one, and none is foreign', () => {
  const whole = `: a comment\n\nevent: x\nid: 7\nid\nretry: 10\nretry: <soon>\ndata:{"a":1}\ndata\ndata: {"b":2}\n\n\r\n\r${DATA}data: [DONE]`
  assert.deepEqual(read([whole]), [['x', '{"a":1}\n\n{"b":2}'], event, [undefined, '[DONE]']])
  assert.deepEqual(read(whole.split('')), read([whole]))
})

test('a foreign line that is longer than any error is not kept, and is no JSON', () => {
  const piece = 'x'.repeat(8192)
  const long = ['{"a":"', ...Array.from({ length: 20 }, () => piece), '"}\n']
  assert.deepEqual(read([DATA, ...long, DATA]), [event, unreadable, event])
  assert.deepEqual(read([DATA, long.join(''), DATA]), [event, unreadable, event])
})

test('an event that is longer than is read is told once, and is the last that is told', () => {
  const piece = 'x'.repeat(600)
  assert.deepEqual(read([DATA, 'data: ', piece, piece, '\n\n', DATA, '<p>\n', DATA], 1000), [event, 'too long'])
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
    ': <c>',
    'retry: {\n',
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
        assert.deepEqual(read(text.split('')), read([text]))
      },
    ),
  )
})
