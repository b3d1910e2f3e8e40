/**
 * EGRESS_PRIVATE_ALLOW: which private networks the operator opens, for tools and models beside the engine in a cluster.
 * Pure. SPEC §10.
 *
 * It says only that an address may be private; that a host may be called at all is still the allow-lists' to say. What is
 * no private network stays closed (link-local, multicast, reserved, IPv6 forms with an IPv4 address inside), and so do
 * the metadata services of clouds, some of which live inside private ranges.
 */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { hostFromText, isMetadataAddress, isMetadataHost, literalAddress } from './host.ts'

type Range = readonly [base: ipaddr.IPv4 | ipaddr.IPv6, bits: number]

export interface PrivateAllow {
  readonly ranges: readonly Range[]
  /** Names that may lie anywhere in the networks a name opens. Canonical; `subdomains` without the `*.`. */
  readonly names: readonly { readonly match: 'subdomains' | 'host'; readonly host: string }[]
}

export type ParsedPrivateAllow =
  | { readonly ok: true; readonly allow: PrivateAllow }
  /** One sentence an entry that is not understood; settings refuse to start with them. */
  | { readonly ok: false; readonly faults: readonly string[] }

export const NOTHING_PRIVATE: PrivateAllow = { ranges: [], names: [] }

/** What a name opens: RFC 1918, CGNAT, unique-local. */
const NETWORKS = ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'].map(rangeOf)

/** What a range may lie in: these, loopback, and the range for benchmarks, which some clusters use for pods. */
const OPENABLE = [...NETWORKS, ...['127.0.0.0/8', '198.18.0.0/15', '::1/128'].map(rangeOf)]

const OPENABLE_TEXT =
  '10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, 198.18.0.0/15, 127.0.0.0/8, fc00::/7 or ::1'

/**
 * Reads entries separated by commas: a range (`10.20.0.0/16`, `fd12::/16`), an address, a host name or `*.name`, which does
 * not hold the name itself. Empty entries open nothing.
 */
export function parsePrivateAllow(text: string): ParsedPrivateAllow {
  const ranges: Range[] = []
  const names: PrivateAllow['names'][number][] = []
  const faults: string[] = []
  for (const [index, piece] of text.split(',').entries()) {
    const entry = piece.trim()
    if (entry === '') continue
    const parsed = parseEntry(entry)
    if (typeof parsed === 'string') faults.push(`entry ${index + 1}${quoted(entry)} ${parsed}`)
    else if ('match' in parsed) names.push(parsed)
    else ranges.push(parsed)
  }
  return faults.length === 0 ? { ok: true, allow: { ranges, names } } : { ok: false, faults }
}

/** Only what looks like a host or a range is shown: a URL pasted here by mistake may carry a key. */
function quoted(entry: string): string {
  return /^[\w.:*[\]-]{1,255}(?:\/\d{1,3})?$/.test(entry) ? ` ("${entry}")` : ''
}

/** The rule, or what is wrong with the entry and what to write instead. */
function parseEntry(entry: string): Range | PrivateAllow['names'][number] | string {
  const [, body = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(entry) ?? []
  const bare = body.replace(/^\[(.*)\]$/, '$1')
  if (isIP(bare) !== 0 && !bare.includes('%')) return parseRange(bare, bits)
  if (bits !== undefined || /[/@\\?#:]/.test(entry)) {
    return 'is neither a range nor a host: write 10.20.0.0/16, an address, or a name without scheme, port and path'
  }
  const below = entry.startsWith('*.')
  const name = below ? entry.slice(2) : entry
  const host = name.includes('*') ? null : hostFromText(name)
  if (host === null) return 'is not a host name: write a name such as tools.internal, or *.svc.cluster.local'
  if (literalAddress(host) !== null) return 'writes an address in an odd way: write it as 10.20.0.7'
  if (isMetadataHost(host)) return 'is a metadata service of a cloud, which is never opened'
  return { match: below ? 'subdomains' : 'host', host }
}

function parseRange(address: string, bits: string | undefined): Range | string {
  const whole = isIP(address) === 4 ? 32 : 128
  const length = bits === undefined ? whole : Number(bits)
  if (length > whole) return `has a prefix longer than ${whole}`
  const base = ipaddr.parse(address)
  const inside = OPENABLE.some((range) => length >= range[1] && matches(range, base))
  if (!inside) return `is not inside a private network, and nothing else can be opened here: ${OPENABLE_TEXT}`
  if (length === whole && isMetadataAddress(address)) return 'is a metadata service of a cloud, which is never opened'
  return [base, length]
}

/** May this private address be reached by this host? `host` is canonical, `address` bare text of any kind. */
export function opensPrivate(allow: PrivateAllow, host: string, address: string): boolean {
  if (isIP(address) === 0 || address.includes('%') || isMetadataAddress(address)) return false
  const parsed = ipaddr.parse(address)
  if (allow.ranges.some((range) => matches(range, parsed))) return true
  const named = allow.names.some((name) =>
    name.match === 'host' ? host === name.host : host.endsWith(`.${name.host}`),
  )
  return named && NETWORKS.some((range) => matches(range, parsed))
}

function rangeOf(text: string): Range {
  return ipaddr.parseCIDR(text)
}

/** An IPv4 range holds no IPv6 address, mapped ones included. */
function matches([base, bits]: Range, address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (base.kind() !== address.kind()) return false
  return address.match(base, bits)
}
