/**
 * The variables that providers have of their own: keys, addresses, proxies, and what GigaChat needs beside. SPEC §12.1. A
 * fault names its variable and never quotes a key.
 */
import { PROVIDERS, type ProviderName } from '../contract/run-request.ts'
import { type HostTls, pemProblem } from '../egress/host-tls.ts'
import type { SettingReader } from '../settings/setting-reader.ts'
import { DEFAULT_AUTH_URL, DEFAULT_SCOPE, type Scope, SCOPES } from './gigachat/token-settings.ts'

export interface ProviderSettings {
  /** PROXY_<PROVIDER>: only for that provider's traffic. */
  readonly proxyByProvider: Readonly<Record<string, string>>
  /** <PROVIDER>_API_KEY: used only towards that provider's own host or its operator's base URL. */
  readonly apiKeys: Readonly<Partial<Record<ProviderName, string>>>
  /** <PROVIDER>_BASE_URL: where the operator sends a provider's traffic instead of its own host. */
  readonly baseUrls: Readonly<Partial<Record<ProviderName, string>>>
  /** GIGACHAT_SCOPE: whose the authorization keys for GigaChat are. */
  readonly gigachatScope: Scope
  /** GIGACHAT_AUTH_URL: where they are exchanged for access tokens. */
  readonly gigachatAuthUrl: string
  /** What GIGACHAT_CA_FILE, GIGACHAT_CERT_FILE and GIGACHAT_KEY_FILE hold: for GigaChat's hosts and no others. */
  readonly gigachatTls: Pick<HostTls, 'ca' | 'identity'>
}

/** Providers that have a key and an address of their own in the environment. */
const KEYED = PROVIDERS.filter((provider) => provider !== 'scripted')

function variableOf(provider: ProviderName): string {
  return provider.toUpperCase().replaceAll('-', '_')
}

export const PROVIDER_SETTING_NAMES: readonly string[] = [
  ...KEYED.map((provider) => `PROXY_${variableOf(provider)}`),
  ...KEYED.map((provider) => `${variableOf(provider)}_API_KEY`),
  ...KEYED.map((provider) => `${variableOf(provider)}_BASE_URL`),
  'GIGACHAT_SCOPE',
  'GIGACHAT_AUTH_URL',
  'GIGACHAT_CA_FILE',
  'GIGACHAT_CERT_FILE',
  'GIGACHAT_KEY_FILE',
]

export function providerSettings(reader: SettingReader): ProviderSettings {
  return {
    proxyByProvider: perProvider((provider) => reader.proxy(`PROXY_${variableOf(provider)}`)),
    apiKeys: perProvider((provider) => apiKey(reader, `${variableOf(provider)}_API_KEY`)),
    baseUrls: perProvider((provider) => reader.url(`${variableOf(provider)}_BASE_URL`)),
    gigachatScope: reader.word('GIGACHAT_SCOPE', SCOPES, DEFAULT_SCOPE),
    gigachatAuthUrl: reader.url('GIGACHAT_AUTH_URL') ?? DEFAULT_AUTH_URL,
    gigachatTls: gigachatTls(reader),
  }
}

function perProvider(read: (provider: ProviderName) => string | null): Partial<Record<ProviderName, string>> {
  const found: Partial<Record<ProviderName, string>> = {}
  for (const provider of KEYED) {
    const value = read(provider)
    if (value !== null) found[provider] = value
  }
  return found
}

function apiKey(reader: SettingReader, name: string): string | null {
  const key = reader.text(name)
  if (key !== null && !/^[\x21-\x7e]+$/.test(key)) {
    reader.fault(name, 'must be visible ASCII characters without a space, as it travels in a header: set the key alone')
  }
  return key
}

function gigachatTls(reader: SettingReader): ProviderSettings['gigachatTls'] {
  const ca = reader.file('GIGACHAT_CA_FILE')
  const cert = reader.file('GIGACHAT_CERT_FILE')
  const key = reader.file('GIGACHAT_KEY_FILE')
  for (const [name, other] of [
    ['GIGACHAT_CERT_FILE', 'GIGACHAT_KEY_FILE'],
    ['GIGACHAT_KEY_FILE', 'GIGACHAT_CERT_FILE'],
  ] as const) {
    if (reader.text(name) === null && reader.text(other) !== null) reader.fault(name, `is required beside ${other}`)
  }
  const tls = { ca, identity: cert === null || key === null ? null : { cert, key } }
  const problem = pemProblem(tls)
  if (problem === 'ca') reader.fault('GIGACHAT_CA_FILE', 'must name a file of certificates in PEM, and nothing else')
  if (problem === 'identity')
    reader.fault(
      'GIGACHAT_CERT_FILE',
      'must name a certificate in PEM, and GIGACHAT_KEY_FILE its key without a password',
    )
  return tls
}
