/**
 * What is wrong with the models of a request, before anything is sent or a run begun. Pure. A key is never quoted, and of a
 * URL no more than the egress gate's reason is told.
 */
import type { Fault } from '../contract/errors.ts'
import type { Target } from '../contract/run-request.ts'
import type { Egress } from '../egress/egress.ts'
import { baseUrlOf, type KeySettings, ownHostsOf, type ResolvedKey, resolveKey } from './keys.ts'
import type { Profile } from './profile.ts'
import type { ProviderTable } from './provider-table.ts'
import { scriptFaults } from './scripted/script-faults.ts'

/** What the models of a request are judged by. */
export interface TargetRules {
  readonly keys: KeySettings
  readonly table: ProviderTable
  /** The egress gate's verdict on a URL. */
  readonly judge: Egress['judge']
}

/** Every fault of every model, with the path of its field: `llm.api_key`, `llm.fallbacks[0].base_url`. */
export function targetFaults(targets: readonly Target[], rules: TargetRules): Fault[] {
  return targets.flatMap((target, index) => {
    const path = index === 0 ? 'llm' : `llm.fallbacks[${index - 1}]`
    return faultsOf(target, rules).map((fault) => ({ ...fault, path: `${path}.${fault.path}` }))
  })
}

function faultsOf(target: Target, rules: TargetRules): readonly Fault[] {
  const { params, profile: name, provider } = target
  const compatible = provider === 'openai-compatible'
  const profile = rules.table.profile(compatible ? target : { ...target, profile: null })
  if (profile === null && compatible && name !== null) {
    return [{ path: 'profile', message: `names no profile of this version; got ${JSON.stringify(name)}` }]
  }
  if (profile === null || rules.table.dialect(profile.dialect) === null) {
    return [{ path: 'provider', message: `provider ${provider} is not built in this version` }]
  }
  const script = provider === 'scripted' ? params.extra['script'] : undefined
  return [
    ...fault('profile', compatible || name === null ? null : ONLY_COMPATIBLE),
    ...addressFaults(target, profile, rules),
    ...fault('api_key', keyProblem(resolveKey(target, profile, rules.keys))),
    ...(script === undefined ? [] : scriptFaults(script, 'params.extra.script')),
  ]
}

const ONLY_COMPATIBLE = 'is taken only with provider "openai-compatible": leave it out or send null'

function fault(path: string, message: string | null): Fault[] {
  return message === null ? [] : [{ path, message }]
}

function keyProblem(key: ResolvedKey): string | null {
  if (!key.ok) return key.message
  if (key.apiKey === null || /^[\x21-\x7e]+$/.test(key.apiKey)) return null
  const whose = key.source === 'environment' ? 'is needed: the key of the environment holds' : 'holds'
  return `${whose} a character that cannot stand in an HTTP header, such as a space or a line break; send the key alone`
}

/**
 * Where the requests would go. A `base_url` is for `openai-compatible`, and for others where the operator allows its host;
 * either way the host is the egress gate's to judge.
 */
function addressFaults(target: Target, profile: Profile, { judge, keys }: TargetRules): Fault[] {
  const { base_url: url, provider } = target
  if (provider === 'scripted') {
    return fault('base_url', url === null ? null : 'is not taken with provider "scripted": leave it out or send null')
  }
  const address = baseUrlOf(target, profile, keys)
  if (address === null) {
    const example = 'the address of the server, such as https://llm.example.com/v1'
    return fault('base_url', `is required with provider "${provider}": ${example}`)
  }
  if (/[?#\s]/.test(address)) {
    return fault(url === null ? 'provider' : 'base_url', 'must be a URL without a query, a fragment or white space')
  }
  const refusal = judge('provider', address, ownHostsOf(provider, profile, keys))
  if (refusal === null) return []
  if (url === null) return fault('provider', `has an address that the egress rules refuse (${refusal.reason})`)
  const only = provider === 'openai-compatible' ? '' : 'is taken only with provider "openai-compatible"; '
  const listed = refusal.reason === 'host_not_listed' || refusal.reason === 'port'
  const mend = listed ? 'have the operator put its host on PROVIDER_ALLOWLIST' : 'send an https URL of a public host'
  return fault('base_url', `${only}the egress rules refuse it (${refusal.reason}): ${mend}`)
}
