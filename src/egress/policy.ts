/**
 * May this URL be called? Pure: text and rules in, a verdict out; no name is resolved and no socket opened here.
 *
 * What it cannot know is where a name points. `connector.ts` judges the addresses, so that a listed name that resolves
 * to 10.0.0.5 is refused all the same. SPEC §10.
 */
import { assertNever } from '../contract/assert-never.ts'
import { isPublicAddress } from './addresses.ts'
import type { Purpose, Refusal } from './egress.ts'
import { canonicalHost, hostFromText, isLocalName, isLoopbackHost, isMetadataHost, literalAddress } from './host.ts'
import { NOTHING_PRIVATE, opensPrivate, type PrivateAllow } from './private-allow.ts'

/** One entry of EGRESS_ALLOWLIST or PROVIDER_ALLOWLIST. */
export interface AllowRule {
  /** `any` is the lone `*`; `subdomains` is `*.example.com`, which does not hold example.com itself. */
  readonly match: 'any' | 'subdomains' | 'host'
  /** Canonical host, for `subdomains` without the `*.`; '' for `any`. */
  readonly host: string
  readonly port: number | 'any'
}

export type ParsedAllowList =
  | { readonly ok: true; readonly rules: readonly AllowRule[] }
  /** One sentence an entry that is not understood; settings refuse to start with them. */
  | { readonly ok: false; readonly faults: readonly string[] }

/** What `judgeUrl` goes by. */
export interface EgressRules {
  /** EGRESS_ALLOWLIST. */
  readonly allowlist: readonly AllowRule[]
  /** PROVIDER_ALLOWLIST. */
  readonly providerAllowlist: readonly AllowRule[]
  /** DEV_INSECURE: loopback hosts need neither https nor a place on a list. Other hosts keep every rule. */
  readonly devInsecure: boolean
  /** EGRESS_PRIVATE_ALLOW. Default: nothing. */
  readonly privateAllow?: PrivateAllow
}

export type Verdict =
  /**
   * `url` is the one to call: its host is in canonical form. `named`: somebody wrote this host, or the domain above it, on a
   * list. A host that only the lone `*` lets out is any public host, and never leads inside.
   */
  | { readonly allowed: true; readonly url: URL; readonly named: boolean }
  | { readonly allowed: false; readonly refusal: Refusal }

const HTTPS_PORT = 443

/**
 * Reads an allow-list: entries `api.example.com`, `*.example.com`, an IP literal (IPv6 in brackets) or a lone `*` for any
 * public host, each with `:port` or `:*` (default 443), separated by commas. Empty entries allow nothing. SPEC §10.
 */
export function parseAllowList(text: string): ParsedAllowList {
  const rules: AllowRule[] = []
  const faults: string[] = []
  for (const [index, piece] of text.split(',').entries()) {
    const entry = piece.trim()
    if (entry === '') continue
    const rule = parseEntry(entry)
    if (typeof rule === 'string') faults.push(`entry ${index + 1}${quoted(entry)} ${rule}`)
    else rules.push(rule)
  }
  return faults.length === 0 ? { ok: true, rules } : { ok: false, faults }
}

/** Only what looks like a host is shown: a URL pasted here by mistake may carry a key. */
function quoted(entry: string): string {
  return /^[^@/\\?#\s]{1,255}$/.test(entry) ? ` ("${entry}")` : ''
}

/** The rule, or what is wrong with the entry and what to write instead. */
function parseEntry(entry: string): AllowRule | string {
  if (/[@/\\?#]/.test(entry)) return 'is a URL, not a host: write the host only, such as api.example.com'
  const [, name = '', portText] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(entry) ?? []
  const port = parsePort(portText)
  if (port === null) {
    return 'has no valid port: write :1 to :65535, or :* for every port; an IPv6 address stands in brackets'
  }
  if (name === '*') return { match: 'any', host: '', port }
  const below = name.startsWith('*.')
  const host = hostFromText(below ? name.slice(2) : name)
  if (name.includes('*', below ? 1 : 0)) {
    return 'has a * in a place where it means nothing: only *.example.com or a lone * are wildcards'
  }
  if (host === null) return 'is not a host name: write a name such as api.example.com'
  if (below && literalAddress(host) !== null) return 'puts *. before an IP address: an address has no sub-domains'
  return { match: below ? 'subdomains' : 'host', host, port }
}

function parsePort(text: string | undefined): number | 'any' | null {
  if (text === undefined) return HTTPS_PORT
  if (text === '*') return 'any'
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535 ? Number(text) : null
}

/**
 * Judges a URL for a purpose. Providers go by PROVIDER_ALLOWLIST, everything else by EGRESS_ALLOWLIST; `ownHosts` (`host` or
 * `host:port`, default 443) are allowed beside the list for `provider`, `error_webhook` and `telemetry`, and mean nothing for
 * the rest. Never throws. SPEC §10.
 */
export function judgeUrl(
  text: string,
  purpose: Purpose,
  rules: EgressRules,
  ownHosts: readonly string[] = [],
): Verdict {
  const url = URL.parse(text)
  if (url === null) return refuse('invalid_url', '')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refuse('scheme', url.hostname)
  const host = canonicalHost(url.hostname)
  if (host === null) return refuse('invalid_url', '')

  const local = rules.devInsecure && isLoopbackHost(host)
  if (url.protocol !== 'https:' && !local) return refuse('scheme', host)
  if (hasUserinfo(text)) return refuse('userinfo', host)
  const port = url.port === '' ? HTTPS_PORT : Number(url.port)
  const judged = local ? 'named' : judgeHost(host, port, rulesFor(purpose, rules, ownHosts), rules)
  if (judged !== 'named' && judged !== 'any') return refuse(judged, host)
  url.hostname = host
  return { allowed: true, url, named: judged === 'named' }
}

/** Why not, or what kind of rule lets it out. */
function judgeHost(
  host: string,
  port: number,
  list: readonly AllowRule[],
  { privateAllow = NOTHING_PRIVATE }: EgressRules,
): Refusal['reason'] | 'named' | 'any' {
  if (isMetadataHost(host)) return 'metadata_host'
  const address = literalAddress(host)
  const inside = address !== null && !isPublicAddress(address)
  if (inside && !opensPrivate(privateAllow, host, address)) return 'address_blocked'

  const notAnybody = inside || isLocalName(host)
  const matching = list.filter((rule) => matches(rule, host) && !(notAnybody && rule.match === 'any'))
  if (matching.length === 0) return 'host_not_listed'
  const open = matching.filter((rule) => (rule.port === 'any' && port !== 0) || rule.port === port)
  if (open.length === 0) return 'port'
  return open.some((rule) => rule.match !== 'any') ? 'named' : 'any'
}

function rulesFor(purpose: Purpose, rules: EgressRules, ownHosts: readonly string[]): readonly AllowRule[] {
  switch (purpose) {
    case 'tool':
    case 'callback':
    case 'image':
      return rules.allowlist
    case 'error_webhook':
    case 'telemetry':
      return [...rules.allowlist, ...ownRules(ownHosts)]
    case 'provider':
      return [...rules.providerAllowlist, ...ownRules(ownHosts)]
    default:
      return assertNever(purpose)
  }
}

/** An own host is one exact host: a wildcard among them, or one that does not parse, allows nothing. */
function ownRules(ownHosts: readonly string[]): AllowRule[] {
  return ownHosts
    .map((entry) => parseEntry(entry))
    .filter((rule): rule is AllowRule => typeof rule !== 'string' && rule.match === 'host')
}

function matches(rule: AllowRule, host: string): boolean {
  switch (rule.match) {
    case 'any':
      return true
    case 'subdomains':
      return host.endsWith(`.${rule.host}`)
    case 'host':
      return host === rule.host
    default:
      return assertNever(rule.match)
  }
}

/**
 * True for any `@` before the path. The parsed URL does not tell: `https://@host/` and `https://:@host/` parse to an empty
 * user. The authority is cut out as the WHATWG parser does it: tabs and line breaks are dropped, `\` counts as `/`.
 */
function hasUserinfo(text: string): boolean {
  const cleaned = text.replaceAll(/[\t\r\n]/g, '')
  const [, authority = ''] = /^[^:]*:[/\\]*([^/\\?#]*)/.exec(cleaned) ?? []
  return authority.includes('@')
}

function refuse(reason: Refusal['reason'], host: string): Verdict {
  return { allowed: false, refusal: { reason, host } }
}
