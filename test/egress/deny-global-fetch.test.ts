/** The other doors: the built-in fetch, undici's own calls, and the environment that would send them elsewhere. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as undici from 'undici'
import { denyGlobalFetch } from '../../src/egress/open.ts'
import { startHttp, startHttps, startTcp } from './local-servers.ts'
import { namedCertificate } from './test-certificate.ts'
import { call, openEgress, responseOf, textOf } from './test-egress.ts'

test('after denyGlobalFetch nothing leaves by fetch or by undici without a dispatcher, and the gate still works', async (t) => {
  const server = await startHttp(t, (_request, response) => void response.end('out'))
  const url = `http://127.0.0.1:${server.port}/`
  const before = undici.getGlobalDispatcher()
  t.after(() => undici.setGlobalDispatcher(before))

  denyGlobalFetch()
  for (const attempt of [() => fetch(url), () => undici.fetch(url), () => undici.request(url)]) {
    await assert.rejects(attempt(), (error: Error) => {
      const cause = error.cause instanceof Error ? error.cause : error
      assert.match(cause.message, /outgoing calls go through the egress gate only/)
      return true
    })
  }
  assert.equal(server.sockets.length, 0)
  assert.equal(await textOf(responseOf(await openEgress(t).request(call(url)))), 'out')
})

interface Child {
  readonly gate: { readonly kind: string; readonly status?: number; readonly fault?: { readonly kind: string } }
  readonly fetched: string
}

/** Runs the gate, and the built-in fetch for comparison, in a process that starts with this environment. */
async function inEnvironment(env: Record<string, string>, url: string): Promise<Child> {
  const script = fileURLToPath(new URL('./environment-probe.ts', import.meta.url))
  const child = spawn(process.execPath, [script, url], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number]
  assert.equal(code, 0)
  return JSON.parse(output) as Child
}

test('EG-05: proxy variables of the environment change nothing for the gate', async (t) => {
  const server = await startHttp(t, (_request, response) => void response.end('direct'))
  const proxy = await startTcp(t, (socket) => socket.destroy())
  const proxyUrl = `http://127.0.0.1:${proxy.port}`
  const variables = { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl, http_proxy: proxyUrl, https_proxy: proxyUrl }

  // The built-in fetch shows what the variables can do: this proxy hangs up, so what goes to it fails.
  const environments: [more: Record<string, string>, fetched: string][] = [
    [{ NODE_USE_ENV_PROXY: '1' }, 'failed'],
    [{ NODE_USE_ENV_PROXY: '1', NO_PROXY: '*' }, 'ok'],
    [{}, 'ok'],
  ]
  for (const [more, fetched] of environments) {
    const child = await inEnvironment({ ...variables, ...more }, `http://127.0.0.1:${server.port}/`)
    assert.deepEqual(child, { gate: { kind: 'response', status: 200 }, fetched })
  }
})

test('NODE_TLS_REJECT_UNAUTHORIZED=0 does not switch the certificate check off', async (t) => {
  const server = await startHttps(t, namedCertificate)
  const url = `https://127.0.0.1:${server.port}/`
  const { gate, fetched } = await inEnvironment({ NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' }, url)
  assert.equal(fetched, 'ok')
  assert.equal(gate.kind, 'fault')
  assert.equal(gate.fault?.kind, 'tls')
})
