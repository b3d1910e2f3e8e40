/**
 * Whether bytes are what they were declared to be. Pure. SPEC §10.
 *
 * The bytes decide; a content type that says something else altogether (a page that asks for a log-in) speaks against them.
 * What can carry scripts, HTML and SVG, is never taken, and neither is a type whose bytes say nothing.
 */

type Mark = (bytes: Buffer) => boolean

/** How a file of each type begins, by its own specification. */
const MARKS: Readonly<Record<string, Mark>> = {
  'image/png': beginsWith('89504e470d0a1a0a'),
  'image/jpeg': beginsWith('ffd8ff'),
  'image/gif': (bytes) => /^GIF8[79]a/.test(latin1(bytes, 0, 6)),
  'image/webp': (bytes) => latin1(bytes, 0, 4) === 'RIFF' && latin1(bytes, 8, 12) === 'WEBP',
  'image/bmp': (bytes) => latin1(bytes, 0, 2) === 'BM',
  'image/tiff': (bytes) => ['II*\0', 'MM\0*'].includes(latin1(bytes, 0, 4)),
  'image/avif': brandIn(['avif', 'avis']),
  'image/heic': brandIn(['heic', 'heix', 'hevc', 'mif1', 'msf1']),
  'image/heif': brandIn(['heic', 'heix', 'hevc', 'mif1', 'msf1']),
  // Readers take it where the mark stands among the first 1024 bytes.
  'application/pdf': (bytes) => latin1(bytes, 0, 1024).includes('%PDF-'),
}

const SCRIPTED = /^(?:image\/svg|text\/html|application\/xhtml)/
/** What servers say of files they know nothing about. */
const UNKNOWN: ReadonlySet<string> = new Set(['', 'application/octet-stream', 'binary/octet-stream'])

/** True where what comes could be held against this MIME type: anything else is not worth fetching. */
export function canBeChecked(declared: string): boolean {
  const type = plainType(declared)
  return !SCRIPTED.test(type) && (type.startsWith('text/') || Object.hasOwn(MARKS, type))
}

/**
 * What is wrong with bytes that were declared to be of this type, said of them; null: nothing.
 * @param contentType the header's value; '' where there was none
 */
export function kindProblem(bytes: Buffer, contentType: string, declared: string): string | null {
  const type = plainType(declared)
  const told = plainType(contentType)
  if (bytes.length === 0) return 'is empty'
  if (!UNKNOWN.has(told) && !mayBe(told, type)) return `is called ${shown(told)} and not ${type}`
  if (type.startsWith('text/')) return isText(bytes) ? null : 'is no text in UTF-8'
  return canBeChecked(type) && MARKS[type]?.(bytes) === true ? null : `is no ${shown(type)}`
}

/** Of images the kind is enough, for the bytes say which. */
function mayBe(told: string, type: string): boolean {
  if (SCRIPTED.test(told)) return false
  if (type.startsWith('image/')) return told.startsWith('image/')
  if (type.startsWith('text/')) return told.startsWith('text/') || told === 'application/json'
  return told === type || told === 'application/x-pdf'
}

/** A MIME type as providers take it: in lower case, without parameters, and a JPEG under the name that is registered. */
export function plainType(mimeType: string): string {
  const type = (mimeType.split(';')[0] ?? '').trim().toLowerCase()
  return type === 'image/jpg' ? 'image/jpeg' : type
}

/** A header is foreign text. */
function shown(type: string): string {
  return /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type) ? type : 'something else'
}

function isText(bytes: Buffer): boolean {
  if (bytes.includes(0)) return false
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

function latin1(bytes: Buffer, start: number, end: number): string {
  return bytes.toString('latin1', start, end)
}

function beginsWith(hex: string): Mark {
  return (bytes) => bytes.toString('hex', 0, hex.length / 2) === hex
}

/** ISO base media: the major brand behind `ftyp`. */
function brandIn(brands: readonly string[]): Mark {
  return (bytes) => latin1(bytes, 4, 8) === 'ftyp' && brands.includes(latin1(bytes, 8, 12))
}
