/** examples/curl/first-run.sh against a running engine: every call is answered as the script says. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startEngine } from '../../examples/demo/engine-process.ts'
import { hasCurl, runShell } from './run-shell.ts'

const SCRIPT = fileURLToPath(new URL('../../examples/curl/first-run.sh', import.meta.url))
const skip = hasCurl ? false : 'there is no curl on this machine'

test('the first calls with curl are answered as the script says', { skip }, async (t) => {
  const engine = await startEngine()
  t.after(() => engine.stop())
  const environment = { ENGINE_URL: engine.url, ENGINE_TOKEN: engine.engineToken }
  const { code, stdout, stderr } = await runShell([SCRIPT], environment)
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  const parts = stdout.split(/^# \d\. .*\n/m).slice(1)
  assert.equal(parts.length, 7)
  const [health, waited, started, stream, repeated, fetched, wrong] = parts as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  assert.equal(JSON.parse(health).status, 'ok')
  assert.equal(JSON.parse(waited).text, 'You said: Hello, loop')
  const { run_id, status } = JSON.parse(started)
  assert.equal(status, 'running')
  assert.match(stream, /^event: delta\ndata: .*"text":"You said: Hello, loop"/m)
  assert.match(stream, /^event: done$/m)
  assert.deepEqual([JSON.parse(repeated).run_id, JSON.parse(repeated).repeated], [run_id, true])
  const [view = '', acked = ''] = fetched.trim().split('\n')
  assert.equal(JSON.parse(view).result.text, 'You said: Hello, loop')
  assert.deepEqual(JSON.parse(acked), { run_id, acked: true })
  assert.match(wrong, /"code":"invalid_request".* 400$/m)

  const again = await runShell([SCRIPT], environment)
  assert.equal(again.code, 0, 'it can be run again')
  const refused = await runShell([SCRIPT], { ...environment, ENGINE_TOKEN: 'another-token-altogether' })
  assert.notEqual(refused.code, 0)
  assert.match(refused.stdout, /"code":"unauthorized"/)
})

test('the script says what it needs', { skip }, async () => {
  const { code, stderr } = await runShell([SCRIPT], {})
  assert.notEqual(code, 0)
  assert.match(stderr, /ENGINE_TOKEN: set it to the token/)
})
