import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEvents } from '../../../examples/demo/event-reader.ts'
import { DemoFailure } from '../../../examples/demo/failure.ts'
import { recordingServer, type Respond } from '../../conformance/recording-server.ts'

const STREAM = { 'content-type': 'text/event-stream' }

async function read(url: string, signal = new AbortController().signal): Promise<string[]> {
  const names: string[] = []
  for await (const { event } of readEvents(url, { signal, retryMs: 1 })) names.push(event)
  return names
}

function frame(id: string, event: string): string {
  return `id: ${id}\nevent: ${event}\ndata: {}\n\n`
}

test('a connection that breaks is opened again behind the last event, and nothing comes twice', async (t) => {
  const plays: readonly Respond[] = [
    (_request, response) => {
      response.writeHead(200, STREAM)
      response.write(`${frame('0-1', 'start')}${frame('1-1', 'step')}id: 2-1\nevent: del`, () => response.destroy())
    },
    (request, response) => {
      if (request.headers['last-event-id'] !== '1-1') return void response.writeHead(403).end()
      response.writeHead(200, STREAM).end(`: keep-alive\n${frame('2-1', 'of a later version')}${frame('3-1', 'done')}`)
    },
  ]
  const server = await recordingServer(t, 'the stream', (request, response) =>
    plays[request.number - 1]?.(request, response),
  )
  assert.deepEqual(await read(server.url), ['start', 'step', 'of a later version', 'done'])
  assert.equal(server.received[0]?.headers['last-event-id'], undefined)
})

test('a 204 is the end, and a refusal is told with its status', async (t) => {
  const statuses = [204, 403]
  const server = await recordingServer(t, 'the stream', ({ number }, response) => {
    response.writeHead(statuses[number - 1] ?? 500).end()
  })
  assert.deepEqual(await read(server.url), [])
  await assert.rejects(read(server.url), new DemoFailure('the stream was refused with status 403'))
})

test('a stream that brings nothing is given up after five connections', async (t) => {
  const server = await recordingServer(t, 'the stream', (_request, response) => {
    response.writeHead(200, STREAM).end(': keep-alive\n\n')
  })
  await assert.rejects(read(server.url), /brought nothing on 5 connections in a row/)
  assert.equal(server.received.length, 5)
})

test('a stream that does not end in time says so', async (t) => {
  const stop = new AbortController()
  const server = await recordingServer(t, 'the stream', (_request, response) => {
    response.writeHead(200, STREAM).write(frame('0-1', 'start'), () => stop.abort())
  })
  await assert.rejects(read(server.url, stop.signal), new DemoFailure('the stream did not end in time'))
})
