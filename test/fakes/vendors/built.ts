/** Which of the nine providers this version has, as the engine's own table tells it. */
import { NO_PARAMS, type ProviderName } from '../../../src/contract/run-request.ts'
import { builtIn } from '../../../src/providers/built-in.ts'
import { settingNames } from '../../../src/settings.ts'
import { namedServers, providers, vendors } from './all-vendors.ts'
import type { Vendor } from './vendor.ts'

/** The setting that says where GigaChat's access tokens are asked for; without one the engine would ask the real host. */
export const GIGACHAT_AUTH_SETTING =
  settingNames.find((name) => /^GIGACHAT_\w*(?:AUTH|TOKEN)\w*URL$/.test(name)) ?? null

/** Why a provider cannot be tested yet; null: it can. */
export function missing(provider: ProviderName): string | null {
  const model = vendors.find((vendor) => vendor.provider === provider)?.model ?? 'play'
  const profile = builtIn.profile(targetOf(provider, model))
  if (profile === null) return 'the table has no row'
  if (builtIn.dialect(profile.dialect) === null) return `the dialect ${profile.dialect} is not built`
  if (provider === 'gigachat' && GIGACHAT_AUTH_SETTING === null)
    return 'no setting for the address of its access tokens'
  return null
}

export const builtProviders: readonly ProviderName[] = providers.filter((provider) => missing(provider) === null)
export const builtVendors: readonly Vendor[] = vendors.filter(({ provider }) => missing(provider) === null)

/** Servers that are asked as `openai-compatible` with a profile. */
export const builtServers: readonly Vendor[] = namedServers.filter(({ model, profile = null }) => {
  return builtIn.profile({ ...targetOf('openai-compatible', model), profile }) !== null
})

/** One line for people: who is there, and who is not and why. */
export function builtSentence(): string {
  const absent = providers.filter((provider) => missing(provider) !== null)
  const those = absent.map((provider) => `${provider} (${missing(provider)})`).join(', ')
  return `built: ${builtProviders.join(', ')}; not built yet: ${those === '' ? 'none' : those}`
}

/** A model of a run, as the table is asked for it. */
export function targetOf(provider: ProviderName, model: string): Parameters<typeof builtIn.profile>[0] {
  return { provider, model, api_key: null, base_url: null, profile: null, params: NO_PARAMS, pricing: null }
}
