/** The shapes in which a secret may turn up in a text: as it is, encoded, hashed. Pure. */
import { createHash } from 'node:crypto'

/** Shorter values cannot be told from ordinary words, and are let through. */
export const SHORTEST_SECRET = 8

/**
 * Every form of a header's or setting's value that must not be told. Of `Bearer x` that is x as well, of `Basic …` what it
 * stands for and the password in it.
 */
export function secretForms(value: string): string[] {
  const forms = new Set<string>()
  for (const secret of secretsIn(value)) for (const form of formsOf(secret)) forms.add(form)
  return [...forms].filter((form) => form.length >= SHORTEST_SECRET)
}

function secretsIn(value: string): string[] {
  const [, scheme = '', credentials = ''] = /^([A-Za-z][\w-]*) +(\S.*)$/.exec(value) ?? []
  const pair = /^basic$/i.test(scheme) ? Buffer.from(credentials, 'base64').toString('utf8') : ''
  const password = pair.includes(':') ? pair.slice(pair.indexOf(':') + 1) : ''
  return [value, credentials, pair, password].filter((secret) => secret.length >= SHORTEST_SECRET)
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const digest = createHash('sha256').update(bytes).digest()
  const hex = digest.toString('hex')
  const encoded = encodeURIComponent(secret.toWellFormed())
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encoded,
    encoded.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
    new URLSearchParams({ '': secret }).toString().slice(1),
    hex,
    hex.toUpperCase(),
    bytes.toString('hex'),
    ...base64Forms(bytes),
    ...base64Forms(digest).slice(0, 2),
  ]
}

/** How many characters depend on what stands before the secret, by its place in a group of three bytes. */
const FOREIGN_CHARS = [0, 2, 3]

/** In both alphabets: the whole, and what is the same wherever the secret stands inside something longer. */
function base64Forms(bytes: Buffer): string[] {
  const inside = FOREIGN_CHARS.map((foreign, shift) => {
    const padded = Buffer.concat([Buffer.alloc(shift), bytes])
    return padded.toString('base64').slice(foreign, Math.floor((padded.length * 8) / 6))
  })
  return [bytes.toString('base64'), ...inside].flatMap((form) => [
    form,
    form.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''),
  ])
}
