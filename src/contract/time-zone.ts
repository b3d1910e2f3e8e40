/**
 * Whether a name is an IANA time zone. Offsets such as `+07:00` and `GMT+7` are none: they know no daylight saving time. Nor are
 * the abbreviations that ICU takes beside them: it reads BST, British summer time to whoever writes it, as the zone of Dhaka.
 */
const NAME = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/

/** What `Intl` takes and IANA does not have, lower case. */
const OF_ICU: ReadonlySet<string> = new Set(
  'act aet agt art ast bet bst cat cnt cst ctt eat ect iet ist jst mit net nst plt pnt prt pst sst vst'.split(' '),
)

export function isTimeZone(name: string): boolean {
  const lower = name.toLowerCase()
  if (!NAME.test(name) || lower === 'etc/unknown' || lower.startsWith('systemv/') || OF_ICU.has(lower)) return false
  try {
    return Intl.DateTimeFormat('en-GB', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
