/** What comes from an address is held against what it was declared to be. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canBeChecked, kindProblem } from '../../src/providers/part-kind.ts'

const bytes = (hex: string) => Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(32, 7)])
const latin1 = (text: string) => Buffer.from(text, 'latin1')

const TRUE_ONES: readonly (readonly [declared: string, came: Buffer])[] = [
  ['image/png', bytes('89504e470d0a1a0a')],
  ['IMAGE/PNG; charset=binary', bytes('89504e470d0a1a0a')],
  ['image/jpeg', bytes('ffd8ffe0')],
  ['image/jpg', bytes('ffd8ffdb')],
  ['image/gif', latin1('GIF87a...')],
  ['image/gif', latin1('GIF89a...')],
  ['image/webp', latin1('RIFF\x01\x02\x03\x04WEBPVP8 ')],
  ['image/bmp', latin1('BM......')],
  ['image/tiff', latin1('II*\0....')],
  ['image/tiff', latin1('MM\0*....')],
  ['image/avif', latin1('\0\0\0\x1cftypavif')],
  ['image/heic', latin1('\0\0\0\x1cftypheic')],
  ['application/pdf', latin1('%PDF-1.7\n')],
  ['application/pdf', latin1(`${' '.repeat(100)}%PDF-1.4\n`)],
]

test('bytes are taken for what they are, whatever a server that knows nothing calls them', () => {
  for (const [declared, came] of TRUE_ONES) {
    for (const called of ['', 'application/octet-stream', 'binary/octet-stream', declared]) {
      assert.equal(kindProblem(came, called, declared), null, `${declared} as ${called}`)
    }
  }
  // Servers go by the end of a name: which image it is, the bytes say.
  assert.equal(kindProblem(bytes('89504e470d0a1a0a'), 'image/jpeg', 'image/png'), null)
  assert.equal(kindProblem(Buffer.from('{"a": "é"}'), 'application/json', 'text/plain'), null)
  assert.equal(kindProblem(Buffer.from('a,b'), 'text/csv; charset=utf-8', 'text/plain'), null)
})

test('no image or document passes for another, and none for one it only says it is', () => {
  for (const [declared, came] of TRUE_ONES) {
    const type = declared.toLowerCase().split(';')[0]
    for (const [other] of TRUE_ONES) {
      const same = other.toLowerCase().split(';')[0]
      const alike = (name = '') => (name === 'image/jpg' ? 'image/jpeg' : name)
      if (alike(same) === alike(type)) continue
      assert.equal(kindProblem(came, '', other), `is no ${alike(same)}`, `${declared} as ${other}`)
    }
  }
  const page = Buffer.from('<html>Please log in</html>')
  assert.equal(kindProblem(page, 'image/png', 'image/png'), 'is no image/png')
  assert.equal(kindProblem(page, 'text/html; charset=utf-8', 'image/png'), 'is called text/html and not image/png')
  assert.equal(kindProblem(page, 'text/html', 'text/plain'), 'is called text/html and not text/plain')
  assert.equal(
    kindProblem(bytes('89504e470d0a1a0a'), 'text/html', 'image/png'),
    'is called text/html and not image/png',
  )
  assert.equal(kindProblem(Buffer.alloc(0), 'image/png', 'image/png'), 'is empty')
  assert.equal(kindProblem(page, 'x <b>', 'image/png'), 'is called something else and not image/png')
})

test('text is UTF-8 without a NUL', () => {
  assert.equal(kindProblem(latin1('caf\xe9'), 'text/plain', 'text/plain'), 'is no text in UTF-8')
  assert.equal(kindProblem(latin1('a\0b'), 'text/plain', 'text/plain'), 'is no text in UTF-8')
})

test('what may hold scripts, and what cannot be told by its bytes, is never fetched', () => {
  for (const type of [
    'image/svg+xml',
    'IMAGE/SVG+XML',
    'text/html',
    'text/html; charset=utf-8',
    'application/xhtml+xml',
  ]) {
    assert.equal(canBeChecked(type), false, type)
    assert.notEqual(kindProblem(Buffer.from('<svg/>'), type, type), null)
  }
  for (const type of ['image/x-icon', 'audio/wav', 'application/zip', 'constructor'])
    assert.equal(canBeChecked(type), false, type)
  for (const [type] of TRUE_ONES) assert.equal(canBeChecked(type), true, type)
  assert.equal(canBeChecked('text/markdown'), true)
  // An SVG under the name of an image whose bytes are not looked at would still be a script.
  assert.equal(
    kindProblem(Buffer.from('<svg xmlns='), 'image/svg+xml', 'image/png'),
    'is called image/svg+xml and not image/png',
  )
})
