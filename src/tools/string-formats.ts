/**
 * The `format`s that are checked; every other one is an annotation (SPEC §5.3). Only formats that mean one thing everywhere
 * stand here: a model that writes "tomorrow" into a date is told so before anything is called.
 */

interface Format {
  fits(text: string): boolean
  /** What the model is asked for. */
  readonly wanted: string
}

const DATE = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/
const CLOCK = /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d{1,30})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const EMAIL = /^[^\s@]{1,64}@[^\s@]{1,253}$/
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/
const ABSOLUTE = /^[a-z][a-z0-9+.-]*:[^\s]+$/i

/** Longer texts fit none of these formats but `uri`, which is not bounded. */
const LONGEST = 400

export const stringFormats: ReadonlyMap<string, Format> = new Map<string, Format>([
  ['date', { fits: bounded(isDate), wanted: 'a date such as "2026-11-30"' }],
  ['date-time', { fits: bounded(isDateTime), wanted: 'a date and time with its zone, such as "2026-11-30T12:00:00Z"' }],
  [
    'uuid',
    { fits: bounded((text) => UUID.test(text)), wanted: 'a UUID such as "123e4567-e89b-12d3-a456-426614174000"' },
  ],
  ['email', { fits: bounded((text) => EMAIL.test(text)), wanted: 'an e-mail address such as "name@example.com"' }],
  ['ipv4', { fits: bounded((text) => IPV4.test(text)), wanted: 'an IPv4 address such as "192.0.2.1"' }],
  ['uri', { fits: (text) => ABSOLUTE.test(text), wanted: 'an absolute URI such as "https://example.com/"' }],
])

function bounded(fits: (text: string) => boolean): (text: string) => boolean {
  return (text) => text.length <= LONGEST && fits(text)
}

function isDate(text: string): boolean {
  if (!DATE.test(text)) return false
  const [year = 0, month = 0, day = 0] = text.split('-').map(Number)
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  if (month === 2) return day <= (leap ? 29 : 28)
  return day <= ([4, 6, 9, 11].includes(month) ? 30 : 31)
}

/** RFC 3339: the `T` may be a small letter or, as its §5.6 notes, a space. */
function isDateTime(text: string): boolean {
  return /^.{10}[tT ]/.test(text) && isDate(text.slice(0, 10)) && CLOCK.test(text.slice(11))
}
