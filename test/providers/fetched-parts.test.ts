/** A chain of models whose images stand at addresses: what is fetched when, and what goes to whom. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { StoredMessage } from '../../src/contract/message.ts'
import { type Handler, startHttp } from '../egress/local-servers.ts'
import {
  askOf,
  at,
  CALL,
  DONE,
  error,
  FIN,
  inTurn,
  interruption,
  openChain,
  startProvider,
  stream,
  textOf,
  TX,
  whole,
  type Seen,
} from './chain.ts'

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(3000, 1)])
const AS_DATA = `data:image/png;base64,${PNG.toString('base64')}`
const STAND_IN = '[image omitted: it was given by an address, which this model does not read]'
const LM = { profile: 'lmstudio' } as const

function asks(...urls: readonly string[]): StoredMessage[] {
  const images = urls.map((url) => ({ type: 'image', url, mime_type: 'image/png' }) as const)
  const content = [{ type: 'text', text: 'What is it?' } as const, ...images]
  return [{ role: 'user', content, created_at: '2026-11-30T12:00:00.000Z' }]
}

async function startPictures(t: TestContext, handler?: Handler) {
  const paths: (string | undefined)[] = []
  const server = await startHttp(t, (request, response) => {
    paths.push(request.url)
    if (handler !== undefined) return handler(request, response)
    response.writeHead(200, { 'content-type': 'image/png' }).end(PNG)
  })
  return { ...server, paths, url: (name: string) => `http://127.0.0.1:${server.port}/${name}` }
}

const holds = ({ body }: Seen) => ({ data: body.includes(AS_DATA), standIn: body.includes(STAND_IN) })
const warnings = (told: readonly (readonly unknown[])[]) =>
  told.flatMap(([name, text]) => (name === 'warn' ? [text] : []))

test('an image is fetched before the first request that needs it, once, and the next request begins with the bytes of the one before', async (t) => {
  const pictures = await startPictures(t)
  const server = await startProvider(
    t,
    inTurn(
      (response) => stream(response, CALL('look', '{}') + FIN('tool_calls') + DONE),
      (response) => stream(response, whole('A cat.')),
    ),
  )
  const { ask, tap } = openChain(t)
  const messages = asks(pictures.url('a.png'))
  await ask(askOf([at(server, LM)], { messages }))
  const more: StoredMessage[] = [
    ...messages,
    { role: 'assistant', content: [{ type: 'text', text: 'Hm.' }] },
    ...asks(pictures.url('b.png'), pictures.url('a.png')),
  ]
  assert.equal(textOf(await ask(askOf([at(server, LM)], { messages: more, step: 2 }))), 'A cat.')
  assert.deepEqual(pictures.paths, ['/a.png', '/b.png'])
  const [first, second] = server.seen.map(({ body }) =>
    body.slice(body.indexOf('"messages"'), body.indexOf(AS_DATA) + AS_DATA.length),
  )
  assert.equal(first, second)
  assert.deepEqual(server.seen.map(holds), [
    { data: true, standIn: false },
    { data: true, standIn: false },
  ])
  assert.equal(server.seen[1]?.body.split(AS_DATA).length, 4)
  assert.deepEqual(warnings(tap.told), [])
  assert.deepEqual(tap.story().slice(0, 2), ['fetched', 'starting'])
})

test('a server that reads addresses is sent them, and nothing is fetched', async (t) => {
  const pictures = await startPictures(t)
  const server = await startProvider(t, (response) => stream(response, whole('A cat.')))
  const { ask } = openChain(t)
  await ask(askOf([at(server)], { messages: asks(pictures.url('a.png')) }))
  assert.ok(server.seen[0]?.body.includes(pictures.url('a.png')))
  assert.deepEqual(pictures.paths, [])
})

test('a server that refuses an address is asked once more with the image itself, and later requests begin so', async (t) => {
  const pictures = await startPictures(t)
  const server = await startProvider(t, (response, { body }) =>
    body.includes('/a.png') ? error(response, 400, 'failed_to_download_image') : stream(response, whole('A cat.')),
  )
  const { ask, tap } = openChain(t)
  const asked = askOf([at(server)], { messages: asks(pictures.url('a.png')) })
  assert.equal(textOf(await ask(asked)), 'A cat.')
  assert.equal(textOf(await ask({ ...asked, step: 2 })), 'A cat.')
  assert.deepEqual(
    server.seen.map((seen) => holds(seen).data),
    [false, true, true],
  )
  assert.equal(server.seen[1]?.body, server.seen[2]?.body)
  assert.deepEqual(pictures.paths, ['/a.png'])
  assert.deepEqual(warnings(tap.told), [])
})

test('a server that refuses the address, where nothing can be fetched from it, is asked with words', async (t) => {
  const pictures = await startPictures(t, (_request, response) => void response.writeHead(404).end())
  const server = await startProvider(t, (response, { body }) =>
    body.includes('/a.png') ? error(response, 400, 'failed_to_download_image') : stream(response, whole('No cat.')),
  )
  const { ask, tap } = openChain(t)
  assert.equal(textOf(await ask(askOf([at(server)], { messages: asks(pictures.url('a.png')) }))), 'No cat.')
  assert.deepEqual(server.seen.map(holds), [
    { data: false, standIn: false },
    { data: false, standIn: true },
  ])
  assert.match(
    String(warnings(tap.told)),
    /is not sent its address, and 127\.0\.0\.1 answered HTTP 404: send it as data$/,
  )
})

test('a server that refuses the image in either form is asked with words in the end', async (t) => {
  const pictures = await startPictures(t)
  for (const [more, expected] of [
    [{}, [false, true, false]],
    [LM, [true, false]],
  ] as const) {
    const server = await startProvider(t, (response, { body }) =>
      body.includes('image_url')
        ? error(response, 400, 'image_url is not supported')
        : stream(response, whole('Blind.')),
    )
    const { ask, tap } = openChain(t)
    assert.equal(textOf(await ask(askOf([at(server, more)], { messages: asks(pictures.url('a.png')) }))), 'Blind.')
    assert.deepEqual(
      server.seen.map((seen) => holds(seen).data),
      expected,
    )
    assert.ok(server.seen.at(-1)?.body.includes(STAND_IN))
    assert.match(String(warnings(tap.told)), /fake-1 refused what its address holds$/)
  }
})

test('a fallback that reads no addresses has the image fetched when it is asked, and not before', async (t) => {
  const pictures = await startPictures(t)
  const broken = await startProvider(t, (response) => {
    assert.deepEqual(pictures.paths, [])
    error(response, 401)
  })
  const server = await startProvider(t, (response) => stream(response, whole('A cat.')))
  const { ask, tap } = openChain(t)
  const answer = await ask(askOf([at(broken), at(server, LM)], { messages: asks(pictures.url('a.png')) }))
  assert.equal(textOf(answer), 'A cat.')
  assert.ok(broken.seen[0]?.body.includes(pictures.url('a.png')))
  assert.deepEqual(server.seen.map(holds), [{ data: true, standIn: false }])
  assert.deepEqual(tap.story(), ['starting', 'ended', 'fetched', 'starting', 'text', 'ended'])
})

test('an image that fails is replaced beside one that does not, and the step goes on', async (t) => {
  const pictures = await startPictures(t, (request, response) => {
    if (request.url === '/good.png') response.writeHead(200, { 'content-type': 'image/png' }).end(PNG)
    else response.writeHead(302, { location: '/good.png' }).end()
  })
  const server = await startProvider(t, (response) => stream(response, whole('One cat.')))
  const { ask, tap } = openChain(t)
  const messages = asks(pictures.url('good.png'), pictures.url('moved.png'))
  const asked = askOf([at(server, LM)], { messages })
  assert.equal(textOf(await ask(asked)), 'One cat.')
  assert.equal(textOf(await ask({ ...asked, step: 2 })), 'One cat.')
  assert.deepEqual(server.seen.map(holds), [
    { data: true, standIn: true },
    { data: true, standIn: true },
  ])
  // It is not asked for again, and told of once.
  assert.equal(pictures.paths.length, 2)
  assert.equal(warnings(tap.told).length, 1)
})

test('an image that hangs costs at most half of the time there is, and the model is asked without it', async (t) => {
  const pictures = await startPictures(t, () => {})
  const server = await startProvider(t, (response) => stream(response, whole('I see nothing.')))
  const { ask } = openChain(t)
  const deadlineAt = Date.now() + 600
  const asked = askOf([at(server, LM)], { messages: asks(pictures.url('a.png')), deadlineAt, giveUpAt: deadlineAt })
  assert.equal(textOf(await ask(asked)), 'I see nothing.')
  assert.deepEqual(server.seen.map(holds), [{ data: false, standIn: true }])
})

test('a cancel while an image is fetched ends the step at once, and no model is asked', async (t) => {
  let arrived: () => void = () => {}
  const arriving = new Promise<void>((resolve) => (arrived = resolve))
  const pictures = await startPictures(t, () => arrived())
  const server = await startProvider(t, (response) => stream(response, whole('Never.')))
  const { ask, tap } = openChain(t)
  const { signal, stop } = interruption()
  const answering = ask(askOf([at(server, LM)], { messages: asks(pictures.url('a.png')) }), signal)
  await arriving
  stop('cancelled')
  assert.equal((await answering).kind, 'interrupted')
  assert.deepEqual(tap.told, [])
  assert.equal(server.seen.length, 0)
  const [socket] = pictures.sockets
  await new Promise<void>((resolve) => (socket?.destroyed ? resolve() : void socket?.once('close', () => resolve())))
})

test('an estimate counts a fetched image as an image and not by its bytes', async (t) => {
  const pictures = await startPictures(t)
  const server = await startProvider(t, (response) => stream(response, TX('A cat.') + FIN() + DONE))
  const { ask, tap } = openChain(t)
  await ask(askOf([at(server, LM)], { messages: asks(pictures.url('a.png')) }))
  const [attempt] = tap.attempts()
  assert.ok(attempt !== undefined && attempt.estimated)
  assert.ok(attempt.input_tokens > 1600 && attempt.input_tokens < 1800, String(attempt.input_tokens))
})
