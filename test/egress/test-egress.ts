/** An Egress for one test, closed when it ends, and calls with every field filled in. */
import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import type { TestContext } from 'node:test'
import type { Lookup } from '../../src/egress/connector.ts'
import type { Egress, EgressAnswer, EgressRequest, EgressResponse, Fault } from '../../src/egress/egress.ts'
import { createEgress, type EgressOptions } from '../../src/egress/open.ts'
import { parseAllowList } from '../../src/egress/policy.ts'
import { parsePrivateAllow } from '../../src/egress/private-allow.ts'

/** The lists as the operator writes them; DEV_INSECURE is on unless told otherwise. */
export function openEgress(
  t: TestContext,
  given: Partial<Omit<EgressOptions, 'allowlist' | 'providerAllowlist' | 'privateAllow'>> & {
    allow?: string
    allowProviders?: string
    allowPrivate?: string
  } = {},
): Egress {
  const { allow = '', allowProviders = '', allowPrivate = '', ...more } = given
  const allowlist = parseAllowList(allow)
  const providerAllowlist = parseAllowList(allowProviders)
  const privateAllow = parsePrivateAllow(allowPrivate)
  assert.ok(allowlist.ok && providerAllowlist.ok && privateAllow.ok)
  const egress = createEgress({
    allowlist: allowlist.rules,
    providerAllowlist: providerAllowlist.rules,
    privateAllow: privateAllow.allow,
    devInsecure: true,
    proxies: { all: null, byProvider: {} },
    ...more,
  })
  t.after(() => egress.close())
  return egress
}

export function call(url: string, more: Partial<EgressRequest> = {}): EgressRequest {
  return { purpose: 'tool', method: 'POST', url, headers: {}, signal: new AbortController().signal, ...more }
}

export function responseOf(answer: EgressAnswer): EgressResponse {
  assert.equal(answer.kind, 'response', JSON.stringify(answer))
  assert.ok(answer.kind === 'response')
  return answer.response
}

export function faultOf(answer: EgressAnswer): Fault {
  assert.equal(answer.kind, 'fault', JSON.stringify(answer))
  assert.ok(answer.kind === 'fault')
  return answer.fault
}

export function reasonOf(answer: EgressAnswer): string {
  assert.equal(answer.kind, 'refused', JSON.stringify(answer))
  assert.ok(answer.kind === 'refused')
  return answer.refusal.reason
}

export async function textOf(response: EgressResponse): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

/** A resolver that gives these answers in turn, the last one for ever, and remembers what it was asked. */
export function scriptedLookup(...answers: string[][]): Lookup & { readonly asked: string[] } {
  const asked: string[] = []
  const lookup: Lookup = (hostname, _options, callback) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)] ?? []
    asked.push(hostname)
    const addresses: LookupAddress[] = answer.map((address) => ({ address, family: isIP(address) }))
    setImmediate(callback, null, addresses)
  }
  return Object.assign(lookup, { asked })
}
