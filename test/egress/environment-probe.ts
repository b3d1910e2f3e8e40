/**
 * Run as a process of its own with a URL: calls it once through the built-in fetch and once through the gate, and prints
 * what came of both. `deny-global-fetch.test.ts` chooses the environment.
 */
const url = process.argv[2] ?? ''

// Before undici is loaded, which takes the place of the dispatcher that the environment chose.
const fetched = await fetch(url).then(
  async (response) => {
    await response.text()
    return 'ok'
  },
  () => 'failed',
)

const { createEgress } = await import('../../src/egress/open.ts')
const egress = createEgress({
  allowlist: [],
  providerAllowlist: [],
  devInsecure: true,
  proxies: { all: null, byProvider: {} },
})
const { signal } = new AbortController()
const answer = await egress.request({ purpose: 'tool', method: 'GET', url, headers: {}, signal })
const gate = answer.kind === 'response' ? { kind: answer.kind, status: answer.response.status } : answer
await egress.close()
process.stdout.write(JSON.stringify({ gate, fetched }))
