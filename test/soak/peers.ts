/** Everybody an engine talks to, on one port of 127.0.0.1: a model, a tool, receivers that take results and one that does not. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Peers {
  readonly url: string
  close(): Promise<void>
}

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const END = `data: ${JSON.stringify({ id: 'c', choices: [], usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 } })}\n\ndata: [DONE]\n\n`
const call = (index: number) => ({
  index,
  id: `call_${index}`,
  type: 'function',
  function: { name: 'look', arguments: `{"n":${index}}` },
})
const CALLS = { calls: [call(0)], fills: Array.from({ length: 40 }, (_, index) => call(index)) }

interface ModelRequest {
  readonly model: string
  readonly messages: readonly { readonly role: string }[]
}

/** `holds` says a word and then nothing, until somebody goes. */
function answerAsModel({ messages, model }: ModelRequest, response: http.ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (model === 'holds') return void response.write(chunk({ content: 'One moment' }))
  if ((model === 'calls' || model === 'fills') && messages.at(-1)?.role !== 'tool') {
    return void response.end(chunk({ tool_calls: CALLS[model] }) + chunk({}, 'tool_calls') + END)
  }
  for (let word = 0; word < 10; word += 1) response.write(chunk({ content: ` word ${word}` }))
  response.end(chunk({}, 'stop') + END)
}

export async function startPeers(): Promise<Peers> {
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = []
    try {
      for await (const part of request) chunks.push(part as Buffer)
    } catch {
      // Whoever has gone wants no answer.
      return
    }
    if (request.url === '/v1/chat/completions') {
      return answerAsModel(JSON.parse(Buffer.concat(chunks).toString()) as ModelRequest, response)
    }
    if (request.url === '/tool') {
      const json = { 'content-type': 'application/json' }
      return void response.writeHead(200, json).end('{"status":"ok","result":{"state":"sent"}}')
    }
    response.writeHead(request.url === '/refuses' ? 503 : 204).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
