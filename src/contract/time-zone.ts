/** Whether a name is an IANA time zone. Offsets such as `+07:00` and `GMT+7` are none: they know no daylight saving time. */
const NAME = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/

export function isTimeZone(name: string): boolean {
  if (!NAME.test(name) || name.toLowerCase() === 'etc/unknown') return false
  try {
    return Intl.DateTimeFormat('en-GB', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
