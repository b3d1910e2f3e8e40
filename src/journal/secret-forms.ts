/** The shapes in which a secret may turn up in a text: as it is, encoded, hashed. Pure. */
import { createHash } from 'node:crypto'

/** Shorter forms cannot be told from parts of ordinary words. */
export const SHORTEST_SECRET = 8

/** Of what is a secret by its place, so short a form counts where it stands as a word of its own; below it nothing does. */
export const SHORTEST_WORD = 4

/**
 * Every form of a header's or setting's value that must not be told. Of `Bearer x` that is x as well, of `Basic …` what it
 * stands for and the password in it.
 * @param shortest of values and forms: `SHORTEST_SECRET` for what only may be a secret, `SHORTEST_WORD` for what is one
 */
export function secretForms(value: string, shortest: number = SHORTEST_SECRET): string[] {
  const forms = new Set<string>()
  for (const secret of secretsIn(value, shortest)) for (const form of formsOf(secret)) forms.add(form)
  return [...forms].filter((form) => form.length >= shortest)
}

function secretsIn(value: string, shortest: number): string[] {
  const [, scheme = '', credentials = ''] = /^([A-Za-z][\w-]*) +(\S.*)$/.exec(value) ?? []
  const pair = /^basic$/i.test(scheme) ? Buffer.from(credentials, 'base64').toString('utf8') : ''
  const password = pair.includes(':') ? pair.slice(pair.indexOf(':') + 1) : ''
  return [value, credentials, pair, password].filter((secret) => secret.length >= shortest)
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const digest = createHash('sha256').update(bytes).digest()
  const hex = digest.toString('hex')
  const encoded = encodeURIComponent(secret.toWellFormed())
  const json = JSON.stringify(secret).slice(1, -1)
  return [
    secret,
    // On one line, as what a provider says is journalled.
    secret.replaceAll(/\s+/g, ' '),
    json,
    // JSON inside a text inside JSON, and JSON as PHP writes it.
    JSON.stringify(json).slice(1, -1),
    json.replaceAll('/', '\\/'),
    encoded,
    encoded.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
    new URLSearchParams({ '': secret }).toString().slice(1),
    hex,
    hex.toUpperCase(),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...base64Forms(bytes),
    ...base64Forms(digest).slice(0, 3),
  ]
}

/** How many characters depend on what stands before the secret, by its place in a group of three bytes. */
const FOREIGN_CHARS = [0, 2, 3]

/** In both alphabets, with and without `=`: the whole, and what is the same wherever the secret stands inside something longer. */
function base64Forms(bytes: Buffer): string[] {
  const inside = FOREIGN_CHARS.map((foreign, shift) => {
    const padded = Buffer.concat([Buffer.alloc(shift), bytes])
    return padded.toString('base64').slice(foreign, Math.floor((padded.length * 8) / 6))
  })
  return [bytes.toString('base64'), ...inside].flatMap((form) => [
    form,
    form.replaceAll('=', ''),
    form.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''),
  ])
}
