/**
 * Where the requests of one model go and what carries them there: profile, dialect, address, key, and the egress gate or the
 * player of scripts. Nothing of one model's route is taken over by another's. Opens nothing.
 */
import { fingerprint } from '../contract/canonical.ts'
import type { Target } from '../contract/run-request.ts'
import type { Egress } from '../egress/egress.ts'
import type { Ask, ProviderFailure } from '../engine/ports.ts'
import type { Authorization, Credentials } from './credentials.ts'
import type { Dialect } from './dialect.ts'
import { baseUrlOf, type KeySettings, ownHostsOf, resolveKey } from './keys.ts'
import type { Profile } from './profile.ts'
import type { ProviderTable } from './provider-table.ts'
import { playScript } from './scripted/play.ts'

export interface Route {
  readonly target: Target
  readonly profile: Profile
  readonly dialect: Dialect
  readonly apiKey: string | null
  readonly baseUrl: string
  readonly ownHosts: readonly string[]
  /** The provider, `:`, and a hash that is the same for requests which share its limits. */
  readonly gateKey: string
  /** What sends the `tries`-th request to this model in a step. */
  sender(ask: Ask, tries: number): Egress['request']
  /** What each request shows where the key itself is not sent; null: nothing. */
  readonly authorize: ((signal: AbortSignal) => Promise<Authorization>) | null
}

export type Routed =
  | { readonly ok: true; readonly route: Route }
  | { readonly ok: false; readonly failure: ProviderFailure }

export interface RouteSources {
  readonly egress: Egress
  readonly table: ProviderTable
  readonly keys: KeySettings
  /** For providers whose key is exchanged. */
  readonly credentials: Credentials
}

/** Not ok only for what `targetFaults` refuses: a request read back by an engine with other settings or of another version. */
export function openRoute(target: Target, ask: Ask, { credentials, egress, keys, table }: RouteSources): Routed {
  const { provider } = target
  const profile = table.profile(target)
  const dialect = profile === null ? null : table.dialect(profile.dialect)
  if (profile === null || dialect === null)
    return notOk('provider_rejected', `provider ${provider} is not built in this version`)
  const key = resolveKey(target, profile, keys)
  if (!key.ok) return notOk('provider_auth', `${provider}: an API key ${key.message}`)
  const { apiKey } = key
  const scripted = provider === 'scripted'
  const baseUrl = scripted ? SCRIPTED_BASE_URL : baseUrlOf(target, profile, keys)
  if (baseUrl === null) return notOk('provider_rejected', `${provider}: base_url is required and is missing`)
  return {
    ok: true,
    route: {
      target,
      profile,
      dialect,
      apiKey,
      baseUrl,
      ownHosts: ownHostsOf(provider, profile, keys),
      gateKey: gateKeyOf(target, baseUrl, apiKey, ask),
      sender: (asked, tries) =>
        scripted ? playScript({ ask: asked, target, tries }) : (request) => egress.request(request),
      authorize: profile.exchangesKey ? (signal) => credentials(apiKey, signal) : null,
    },
  }
}

/** Scripted models open no connection; the host names nobody (RFC 2606). */
const SCRIPTED_BASE_URL = 'https://scripted.invalid/v1'

/** A scripted model without a key has no limit to share: each run is by itself. */
function gateKeyOf(target: Target, baseUrl: string, apiKey: string | null, ask: Ask): string {
  const owner = target.provider === 'scripted' && apiKey === null ? ask.runId : apiKey
  return `${target.provider}:${fingerprint([URL.parse(baseUrl)?.origin ?? baseUrl, owner])}`
}

function notOk(code: ProviderFailure['code'], detail: string): Routed {
  return { ok: false, failure: { code, detail } }
}
