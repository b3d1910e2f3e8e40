/**
 * Where a connection may lead: the verdict on one address of one host. Pure; `connector.ts` asks it for every address that a
 * resolver gave, and again for the one a socket has reached. SPEC §10.
 */
import { isLoopbackAddress, isPublicAddress } from './addresses.ts'
import { isLoopbackHost } from './host.ts'
import { opensPrivate, type PrivateAllow } from './private-allow.ts'

export interface ReachRules {
  /** DEV_INSECURE: loopback hosts, and only they, may be at loopback addresses. */
  readonly devInsecure: boolean
  /** EGRESS_PRIVATE_ALLOW. */
  readonly privateAllow: PrivateAllow
}

/**
 * A public address; a private one that the operator has opened; under DEV_INSECURE a loopback host may reach loopback
 * addresses and only them, and a name that merely resolves to loopback still may not.
 */
export function mayReach(host: string, address: string, { devInsecure, privateAllow }: ReachRules): boolean {
  if (devInsecure && isLoopbackHost(host)) return isLoopbackAddress(address)
  return isPublicAddress(address) || opensPrivate(privateAllow, host, address)
}
