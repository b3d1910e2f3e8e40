/**
 * Reads variables of one kind after another and collects what is wrong with them: whole numbers, words, addresses, files,
 * lists. Which variables there are, and what they mean, stands in `settings.ts`.
 *
 * A fault never quotes what may be a secret: addresses, paths and what stands in files are not shown.
 */
import { accessSync, constants, readFileSync } from 'node:fs'
import { parseAllowList, type AllowRule } from '../egress/policy.ts'
import { NOTHING_PRIVATE, parsePrivateAllow, type PrivateAllow } from '../egress/private-allow.ts'
import { parseProxyUrl } from '../egress/proxy.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** An empty variable counts as not set. */
export class SettingReader {
  readonly faults: string[] = []
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  fault(name: string, message: string): void {
    this.faults.push(`${name} ${message}`)
  }

  text(name: string): string | null {
    const value = this.#environment[name]?.trim()
    return value === undefined || value === '' ? null : value
  }

  list(name: string): string[] {
    return (this.text(name) ?? '')
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
  }

  whole(name: string, standard: number, least: number, most: number): number {
    const text = this.text(name)
    if (text === null) return standard
    const number = Number(text)
    if (/^\d+$/.test(text) && number >= least && number <= most) return number
    this.fault(name, `must be a whole number from ${least} to ${most}; got ${JSON.stringify(text.slice(0, 40))}`)
    return standard
  }

  /** null: it is not set. */
  optionalWhole(name: string, least: number, most: number): number | null {
    return this.text(name) === null ? null : this.whole(name, least, least, most)
  }

  flag(name: string): boolean {
    const text = this.text(name)
    if (text === null || text === '0') return false
    if (text !== '1') this.fault(name, `must be 1 or 0; got ${JSON.stringify(text.slice(0, 40))}`)
    return text === '1'
  }

  word<W extends string>(name: string, words: readonly W[], standard: W): W {
    const text = this.text(name)
    if (text === null) return standard
    const word = words.find((candidate) => candidate === text)
    if (word !== undefined) return word
    this.fault(name, `must be one of ${words.join(', ')}; got ${JSON.stringify(text.slice(0, 40))}`)
    return standard
  }

  /**
   * A base of addresses, without a slash at its end: http or https, no query, no fragment, no user. Its text is not quoted: a
   * key may have been pasted into it.
   */
  url(name: string): string | null {
    const text = this.text(name)
    if (text === null) return null
    if (!isWebAddress(text) || URL.parse(text)?.search !== '')
      this.fault(name, 'must be an http or https address without user, query or fragment')
    return text.replace(/\/+$/, '')
  }

  /** The whole of an address, as it is: http or https, no fragment, no user. Its text is not quoted: it is a secret itself. */
  wholeUrl(name: string): string | null {
    const text = this.text(name)
    if (text !== null && !isWebAddress(text))
      this.fault(name, 'must be an http or https address without user and fragment')
    return text
  }

  /** The text of the file that a variable names. Neither its path nor its text is told. */
  file(name: string): string | null {
    const path = this.text(name)
    if (path === null) return null
    try {
      return readFileSync(path, 'utf8')
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
      this.fault(name, `must name a file that can be read (${code})`)
      return null
    }
  }

  /** A folder that is there and can be written to. Its path is not told. */
  folder(name: string): string | null {
    const path = this.text(name)
    if (path === null) return null
    try {
      // With the slash a file is none.
      accessSync(`${path}/`, constants.W_OK | constants.X_OK)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
      this.fault(name, `must name a folder that is there and can be written to (${code})`)
    }
    return path
  }

  allowlist(name: string): readonly AllowRule[] {
    const parsed = parseAllowList(this.text(name) ?? '')
    if (parsed.ok) return parsed.rules
    for (const fault of parsed.faults) this.fault(name, fault)
    return []
  }

  privateAllow(name: string): PrivateAllow {
    const parsed = parsePrivateAllow(this.text(name) ?? '')
    if (parsed.ok) return parsed.allow
    for (const fault of parsed.faults) this.fault(name, fault)
    return NOTHING_PRIVATE
  }

  proxy(name: string): string | null {
    const text = this.text(name)
    const parsed = text === null ? null : parseProxyUrl(text)
    if (parsed !== null && !parsed.ok) this.fault(name, parsed.reason)
    return text
  }
}

function isWebAddress(text: string): boolean {
  const { hash, protocol } = URL.parse(text) ?? {}
  return (protocol === 'https:' || protocol === 'http:') && hash === '' && !text.split('?', 1)[0]?.includes('@')
}
