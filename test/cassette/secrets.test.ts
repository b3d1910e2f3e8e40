/** No secret is recorded: what is one by its place, by its text, by its form; in one chunk or over several. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { CassetteFile } from '../../src/cassette/cassette-file.ts'
import { plainRecord } from '../../src/cassette/plain-record.ts'
import { replayCassette } from '../../src/cassette/replay.ts'
import { plainRequestHeaders, SECRET, Secrets } from '../../src/cassette/secrets.ts'
import { Tape } from '../../src/cassette/tape.ts'
import { runId } from '../../src/contract/ids.ts'
import { openRecord } from '../../src/engine/record.ts'
import { runBody } from '../conformance/engine-client.ts'
import { startReceiver } from '../fakes/callback-receiver.ts'
import { asksFor, startProvider } from '../fakes/provider-server.ts'
import { runRequest, tool } from '../fakes/run-request.ts'
import { ok, startTools } from '../fakes/tool-server.ts'
import {
  CALLBACK_SECRET,
  ENGINE_TOKEN,
  linesOf,
  newFolder,
  onlyCassette,
  recordedEngine,
  textOf,
} from './recorded-engine.ts'

test('no secret of engine, request, tool or callback stands in a cassette, though everybody says them aloud', async (t) => {
  const planted = {
    requestKey: 'sk-request-SECRET-0001',
    environmentKey: 'sk-environment-SECRET-0002',
    toolKey: 'tool-SECRET-0003',
    toolHeader: 'odd "SECRET" \\ 0004',
    urlKey: 'url-SECRET-0005',
    callbackKey: 'receiver-SECRET-0006',
    number: '8800555353535',
  }
  const aloud = Object.values(planted).join(' ')
  const provider = await startProvider(t, [
    (answer) => answer.status(401, { 'set-cookie': 'session=SECRET' }, JSON.stringify({ error: { message: aloud } })),
  ])
  const other = await startProvider(t, [
    (answer) => {
      answer.text(`I was told ${aloud}`)
      answer.call('echo', {})
      answer.finish()
    },
    asksFor(['hold', { id: 1 }]),
  ])
  const tools = await startTools(t, {
    [`echo?key=${planted.urlKey}`]: (call) =>
      ok({ headers: JSON.stringify(call.headers), body: call.text, number: Number(planted.number) }),
    hold: { status: 'deferred', operation_id: 'op' },
  })
  const receiver = await startReceiver(t)
  const engine = await recordedEngine(t, {
    OPENAI_COMPATIBLE_API_KEY: planted.environmentKey,
    OPENAI_COMPATIBLE_BASE_URL: `${other.url}/v1`,
  })
  const headers = {
    authorization: `Bearer ${planted.toolKey}`,
    'X-Odd': planted.toolHeader,
    'x-caller': planted.number,
    // A name can be one too.
    [`X-${planted.toolKey}`]: 'none',
  }
  const result = await engine.client.run(
    runBody({
      llm: {
        ...provider.llm({ api_key: planted.requestKey }),
        fallbacks: [{ provider: 'openai-compatible', model: 'own' }],
      },
      tools: [
        { ...tools.tool('echo', { headers }), url: `${textOf(tools.tool('echo'), 'url')}?key=${planted.urlKey}` },
        tools.tool('hold', { effect: 'write', headers }),
      ],
      callback: { url: receiver.url, headers: { authorization: `Bearer ${planted.callbackKey}` } },
      meta: { [planted.urlKey]: { [`${planted.requestKey}/x`]: 1, n: 1 } },
    }),
  )
  assert.equal(result.status, 'awaiting_tool', JSON.stringify(result))
  await engine.end()
  const path = onlyCassette(engine.folder)
  const text = readFileSync(path, 'utf8')
  const called = tools.calls[0]
  assert.ok(called !== undefined && called.body.result_url.includes('?token='))
  const secrets = [
    ...Object.values(planted),
    ENGINE_TOKEN,
    CALLBACK_SECRET,
    new URL(called.body.result_url).searchParams.get('token') ?? '',
    result.pending[0]?.ticket ?? '',
  ]
  for (const secret of secrets) assert.ok(secret.length > 8 && !text.includes(secret), secret)
  assert.doesNotMatch(text, /SECRET/)
  // Bytes that are no text could hide one.
  for (const line of linesOf(path)) {
    if (typeof line['base64'] === 'string')
      assert.doesNotMatch(Buffer.from(line['base64'], 'base64').toString('latin1'), /SECRET/)
  }
  assert.ok(text.includes(`"authorization":"${SECRET}"`))
  // The answer of the tool is shorter now, and its size stands in the result.
  const replay = await replayCassette(path)
  assert.ok(replay.kind === 'different', JSON.stringify(replay))
  assert.match(replay.difference, /^tool_calls\[0\]\.result_bytes: recorded \d+, replayed \d+$/)
})

test('a secret is found however its bytes are cut into chunks, and everything else stays in its chunk', () => {
  const secret = 'Ключ-sk-0123456789'
  const words = fc.array(fc.constantFrom('слово ', 'word ', secret, '\n', 'sk-'), { maxLength: 12 })
  fc.assert(
    fc.property(words, fc.array(fc.nat(40), { maxLength: 20 }), (parts, lengths) => {
      const bytes = Buffer.from(parts.join(''))
      const chunks: Buffer[] = []
      let at = 0
      for (const length of lengths) {
        chunks.push(bytes.subarray(at, at + length))
        at += length
      }
      chunks.push(bytes.subarray(at))
      const plain = new Secrets([secret]).chunks(chunks)
      assert.equal(plain.length, chunks.length)
      assert.equal(Buffer.concat(plain).toString(), parts.join('').replaceAll(secret, SECRET))
    }),
  )
})

test('what is a secret by its place is taken out whatever its length, and shows that it was there', () => {
  const headers = { 'X-Short': 'k9' }
  const llm = { provider: 'openai', model: 'm', api_key: 'k9', fallbacks: [{ provider: 'openai', model: 'n' }] }
  const tools = [tool('t', { headers, url: 'https://tools.example/t?k9' })]
  const callback = { url: 'https://shop.example/?a=k9', headers }
  const record = openRecord(runId('01JDZZZZZZZZZZZZZZZZZZZZZZ'), runRequest({ llm, tools, callback }), [], 0)
  const { request } = plainRecord(record)
  assert.doesNotMatch(JSON.stringify(request), /k9/)
  assert.deepEqual(
    request.targets.map(({ api_key: key }) => key),
    [SECRET, null],
  )
  assert.deepEqual(request.callback, { url: `https://shop.example/?${SECRET}`, headers: { 'X-Short': SECRET } })
  assert.deepEqual(plainRequestHeaders({ 'x-api-key': 'k9', Accept: '*/*' }), { 'x-api-key': SECRET, Accept: '*/*' })
})

test('what is short or a number does not break the text around it', () => {
  const secrets = new Secrets(['1', 'abc', '123456789', 'Bearer 0123456789ab'])
  assert.equal(secrets.text('{"n":123456789,"a":1,"b":"abc"}'), '{"n":111111111,"a":1,"b":"abc"}')
  assert.equal(secrets.text('key 0123456789ab'), `key ${SECRET}`)
  assert.equal(secrets.text('https://e.example/r?token=abcdefgh.ijk&x=1'), `https://e.example/r?token=${SECRET}&x=1`)
  assert.equal(secrets.text('{"ticket":"v1.run_1.2.abcdef"}'), `{"ticket":"${SECRET}"}`)
})

test('a secret that spans the pieces in which a long answer is written is taken out', async (t) => {
  const folder = newFolder(t)
  const file = new CassetteFile({
    folder,
    runId: 'run_1',
    maxBytes: 10_000_000,
    backlog: { bytes: 0 },
    onFault: assert.fail,
  })
  const tape = new Tape({ file, secrets: new Secrets(['sk-SECRET-key']), startedAt: 0, now: () => 0 })
  const body = tape.body(1)
  const text = 'жsk-SECRET-key.'.repeat(20_000)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += 7) body.chunk(bytes.subarray(at, at + 7))
  body.end('whole', null)
  tape.end('{}')
  await file.close()
  const chunks = linesOf(onlyCassetteOf(folder)).filter(({ kind }) => kind === 'chunk')
  const written = chunks.map((line) =>
    typeof line['text'] === 'string' ? Buffer.from(line['text']) : Buffer.from(textOf(line, 'base64'), 'base64'),
  )
  assert.equal(Buffer.concat(written).toString(), text.replaceAll('sk-SECRET-key', SECRET))
  assert.deepEqual(
    chunks.map(({ seq }) => seq),
    chunks.map((_line, index) => index + 1),
  )
})

function onlyCassetteOf(folder: string): string {
  return `${folder}/run_1.cassette.jsonl`
}
