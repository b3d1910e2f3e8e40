/**
 * The one spelling of a host name that every rule compares, and what a host is by its name alone. Pure.
 *
 * The WHATWG URL parser does the hard part (case, IDN to punycode, percent escapes, `0x7f.1` to 127.0.0.1); two parsers
 * that disagree are the classic way round an allow-list, so nothing here reads a host by any other means.
 */
import { isIP } from 'node:net'
import { isLoopbackAddress } from './addresses.ts'

/** Letters, digits, hyphen and underscore in non-empty labels. URL lets more through; no server on the internet has it. */
const NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/

/** Hosts that hand out a machine's credentials, by name and by address. Refused whatever the lists say. */
const METADATA_HOSTS: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'metadata.platformequinix.com',
  'metadata.packet.net',
  'metadata.tencentyun.com',
  'metadata.oraclecloud.com',
  'rancher-metadata',
  'instance-data',
  'instance-data.ec2.internal',
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '169.254.0.23',
  '169.254.42.42',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  '[fd00:ec2::254]',
  '[fd00:ec2::23]',
  '[fd20:ce::254]',
  '[fd00:42::42]',
])

/** Local addresses of IPv6 with 169.254.169.254 in them, as clouds make their own (`fd00:a9fe:a9fe::1`, `fd00:c1::a9fe:a9fe`). */
const METADATA_INSIDE = /^\[f[cde].*:a9fe:a9fe(?::.*)?\]$/

/**
 * The canonical form of a `URL.hostname`: one trailing dot taken off, IPv6 in brackets. Null when it is not a host name:
 * empty labels (`a..b`) or characters that only a URL, and no name server, would take.
 */
export function canonicalHost(hostname: string): string | null {
  if (hostname.startsWith('[')) return hostname
  const host = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname
  return NAME.test(host) ? host : null
}

/** The canonical form of a host as a person writes it (`API.Example.com.`, `münchen.example`, `[::1]`), or null. */
export function hostFromText(text: string): string | null {
  if (/[\s/\\?#@%]/.test(text)) return null
  // Brackets hold the only legal colons; any other would begin a port, which is no part of a host.
  if (text.startsWith('[') ? !text.endsWith(']') : text.includes(':')) return null
  const url = URL.parse(`https://${text}/`)
  return url === null ? null : canonicalHost(url.hostname)
}

/** The bare address of a canonical host that is an IP literal, with or without brackets; null for a name. */
export function literalAddress(host: string): string | null {
  const bare = host.startsWith('[') ? host.slice(1, -1) : host
  return isIP(bare) === 0 ? null : bare
}

/** True for `localhost` and every name below it: loopback wherever they are resolved (RFC 6761 §6.3), though nobody asked. */
export function isLocalName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost')
}

/** True for `localhost` and for literals of 127.0.0.0/8 and ::1. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || isLoopbackAddress(literalAddress(host) ?? '')
}

/** True for a cloud's metadata service, by its canonical name or literal. */
export function isMetadataHost(host: string): boolean {
  return METADATA_HOSTS.has(host) || METADATA_INSIDE.test(host)
}

/** The same for a bare address in any spelling, as a resolver gives it. */
export function isMetadataAddress(address: string): boolean {
  return isMetadataHost(hostFromText(address.includes(':') ? `[${address}]` : address) ?? '')
}
