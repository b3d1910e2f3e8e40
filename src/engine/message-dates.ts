/**
 * Dates for the model (SPEC §4.5): every user message is shown with the time it was sent, in the run's time zone, the same text
 * on every turn, so that a conversation's prefix never changes and provider prompt caches hold. The current time stands nowhere
 * in the prefix.
 */
import { instantOf } from '../contract/instant.ts'
import type { StoredMessage, UserMessage, UserPart } from '../contract/message.ts'

/** One formatter a time zone; making one costs more than a thousand uses. By names in lower case, of which there are few. */
const formatters = new Map<string, Intl.DateTimeFormat>()

function formatterOf(timezone: string): Intl.DateTimeFormat {
  const name = timezone.toLowerCase()
  const known = formatters.get(name)
  if (known !== undefined) return known
  // The locale is fixed: nothing of the machine's may reach the wire. h23: midnight is 00, not 24.
  const made = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'longOffset',
    calendar: 'gregory',
    numberingSystem: 'latn',
  })
  formatters.set(name, made)
  return made
}

/** `Sun 2026-03-29 00:05 +01:00` */
export function localTime(ms: number, timezone: string): string {
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {}
  for (const part of formatterOf(timezone).formatToParts(ms)) parts[part.type] = part.value
  const offset = parts.timeZoneName?.replace('GMT', '') || '+00:00'
  return `${parts.weekday} ${parts.year?.padStart(4, '0')}-${parts.month}-${parts.day} ${parts.hour}:${parts.minute} ${offset}`
}

/** The sentence in the system text that explains the stamps. Fixed for a time zone. */
function stampSentence(timezone: string): string {
  return (
    `Each user message begins with the time it was sent, in square brackets, in the time zone ${timezone}. ` +
    'Use it where dates matter; do not repeat it in your answers.'
  )
}

/** The message as the model is shown it: the stamp stands before its first text, or behind pictures that came without one. */
export function stamped(message: UserMessage, timezone: string): UserMessage {
  const stamp = `[${localTime(instantOf(message.created_at), timezone)}]`
  const first = message.content.findIndex((part) => part.type === 'text')
  const content: UserPart[] =
    first === -1
      ? [...message.content, { type: 'text', text: stamp }]
      : message.content.map((part, index) =>
          index === first && part.type === 'text' ? { ...part, text: `${stamp} ${part.text}` } : part,
        )
  return { ...message, content }
}

/** The history as the model is shown it, made once a run. */
export function stampedHistory(messages: readonly StoredMessage[], timezone: string): StoredMessage[] {
  return messages.map((message) => (message.role === 'user' ? stamped(message, timezone) : message))
}

/** The system text of a run. */
export function systemWithSentence(system: string, timezone: string): string {
  return system === '' ? stampSentence(timezone) : `${system}\n\n${stampSentence(timezone)}`
}
