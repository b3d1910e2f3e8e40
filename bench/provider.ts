/** The provider of the benchmark: a process of its own that answers every POST with one long stream of deltas. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'

/** Deltas of one stream. */
export const DELTAS = 2000

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_796_000_000,
    model: 'bench',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    usage: null,
  })}\n\n`

const usage = `data: ${JSON.stringify({ id: 'chatcmpl-1', choices: [], usage: { prompt_tokens: 9, completion_tokens: DELTAS, total_tokens: DELTAS + 9 } })}\n\n`
const text = chunk({ content: ' word' })

/** Many deltas a write: the reader takes them as fast as it can. */
const body = Buffer.from(`${text.repeat(DELTAS)}${chunk({}, 'stop')}${usage}data: [DONE]\n\n`)

if (process.argv[2] === 'serve') {
  const server = http.createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(body)
    })
  })
  server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
}
