/** CALLBACK_SECRET and CALLBACK_SCHEDULE, read from their texts. Pure; a fault never tells the secret. SPEC §12.1. */
import type { Secrets } from './envelope.ts'
import { PAUSES_MS } from './schedule.ts'

/** Each is a signature over every result, and a name in one header. */
const MOST_SECRETS = 5
/** A short one can be guessed from what it signed. */
const SHORTEST_SECRET = 16
const MOST_PAUSES = 50
/** 3 days: a receiver that is away for longer fetches what it missed. */
const MOST_SECONDS = 259_200

type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: string }

/** Separated by spaces, as their signatures are: a comma may stand in a secret. The first travels in a header. */
export function parseSecrets(text: string): Parsed<Secrets> {
  const [first = '', ...others] = text.trim().split(/ +/)
  if (!/^[\x20-\x7e]+$/.test(text)) {
    return { ok: false, fault: 'must be visible ASCII characters only; several secrets are separated by spaces' }
  }
  if ([first, ...others].some((secret) => secret.length < SHORTEST_SECRET)) {
    return { ok: false, fault: `each secret must be at least ${SHORTEST_SECRET} characters` }
  }
  if (others.length >= MOST_SECRETS) return { ok: false, fault: `may hold at most ${MOST_SECRETS} secrets` }
  return { ok: true, value: [first, ...others] }
}

/** Pauses in seconds, as the items of a list; none: the standard ones. Milliseconds come out. */
export function parseSchedule(items: readonly string[]): Parsed<readonly number[]> {
  if (items.length === 0) return { ok: true, value: PAUSES_MS }
  // Not what else Number() reads: 0x10, 1e5, a sign.
  const seconds = items.map((item) => (/^\d+(?:\.\d+)?$/.test(item) ? Number(item) : Number.NaN))
  const total = seconds.reduce((sum, pause) => sum + pause, 0)
  if (items.length <= MOST_PAUSES && seconds.every((pause) => pause >= 0) && total <= MOST_SECONDS) {
    return { ok: true, value: seconds.map((pause) => pause * 1000) }
  }
  const bounds = `at most ${MOST_PAUSES} of them and ${MOST_SECONDS} (3 days) in all`
  return { ok: false, fault: `must be the pauses between attempts in seconds, ${bounds}, such as 5,10,20,45` }
}
