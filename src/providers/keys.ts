/**
 * Which API key goes where. Pure. SPEC §10.
 *
 * A key of the environment leaves only for the provider's own host or the base URL the operator configured for it; a URL
 * that came with a request never gets one. Keys are never quoted in a message.
 */
import type { ProviderName, Target } from '../contract/run-request.ts'
import type { Profile } from './profile.ts'

export interface KeySettings {
  /** API keys of the environment. */
  readonly keys: Readonly<Partial<Record<ProviderName, string>>>
  /** Base URLs the operator configured instead of a provider's own. */
  readonly baseUrls: Readonly<Partial<Record<ProviderName, string>>>
  /** Providers to which a client certificate of the operator says who asks: at home they need no key. Default: none. */
  readonly certified?: readonly ProviderName[]
}

export type ResolvedKey =
  | { readonly ok: true; readonly apiKey: string | null; readonly source: 'request' | 'environment' | 'none' }
  /** One sentence that follows the path `api_key`. */
  | { readonly ok: false; readonly message: string }

type Keyed = Pick<Target, 'provider' | 'api_key' | 'base_url'>

/**
 * The key of one model: the request's own, else the environment's where that may go. `openai-compatible` may go without
 * (a local server) unless its `profile` is a company's, as may a provider that takes no key.
 */
export function resolveKey(target: Keyed, profile: Profile, settings: KeySettings): ResolvedKey {
  if (target.api_key !== null) return { ok: true, apiKey: target.api_key, source: 'request' }
  const key = settings.keys[target.provider]
  if (key !== undefined && isHome(target, profile, settings)) return { ok: true, apiKey: key, source: 'environment' }
  const compatible = target.provider === 'openai-compatible'
  const anybodys = compatible && (profile.baseUrl === null || target.base_url !== null)
  const optional = profile.auth === 'none' || anybodys || target.provider === 'scripted'
  const certified = settings.certified?.includes(target.provider) === true && isHome(target, profile, settings)
  if (optional || certified) return { ok: true, apiKey: null, source: 'none' }
  if (compatible) {
    return { ok: false, message: 'is required with this profile: the environment has no key for it. Send one' }
  }
  const why =
    key === undefined
      ? `the environment holds no key for ${target.provider}`
      : 'the key of the environment is not sent to a base_url of the request'
  return { ok: false, message: `is required: ${why}. Send one, or have the operator configure it` }
}

/** Whose API stands below `/v1`: of an address that is a host alone that is what is meant. SPEC §3.2. */
const BELOW_V1: readonly ProviderName[] = ['openai', 'openai-compatible']

/**
 * Where the requests of a model go, without a slash at the end; null where the request must say it and does not. A named
 * profile of `openai-compatible` keeps its own address, for the operator's belongs to another server.
 */
export function baseUrlOf(target: Keyed, profile: Profile, settings: KeySettings): string | null {
  const configured = settings.baseUrls[target.provider] ?? null
  const known =
    target.provider === 'openai-compatible' ? (profile.baseUrl ?? configured) : (configured ?? profile.baseUrl)
  const url = (target.base_url ?? known)?.replace(/\/+$/, '') ?? null
  if (url === null || !BELOW_V1.includes(target.provider)) return url
  return /^[a-z]+:\/\/[^/?#]*$/i.test(url) ? `${url}/v1` : url
}

/** `host` or `host:port` of the provider's own address and the operator's: allowed beside PROVIDER_ALLOWLIST. */
export function ownHostsOf(provider: ProviderName, profile: Profile, settings: KeySettings): string[] {
  const urls = [profile.baseUrl, settings.baseUrls[provider] ?? null]
  return urls.flatMap((url) => {
    const host = url === null ? undefined : URL.parse(url)?.host
    return host === undefined ? [] : [host]
  })
}

/**
 * True where the request goes to the origin the environment's key belongs to: the operator's configured address, or the
 * provider's own. A key for `openai-compatible` belongs to the operator's server alone; the profiles are many companies.
 */
function isHome(target: Keyed, profile: Profile, settings: KeySettings): boolean {
  const url = baseUrlOf(target, profile, settings)
  const origin = url === null ? undefined : URL.parse(url)?.origin
  const own = target.provider === 'openai-compatible' ? null : profile.baseUrl
  const homes = [own, settings.baseUrls[target.provider] ?? null]
  return homes.some((home) => home !== null && origin !== undefined && URL.parse(home)?.origin === origin)
}
