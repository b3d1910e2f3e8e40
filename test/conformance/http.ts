/** Plain HTTP for the suite: one request on its own connection, and the answer as it came. */
import { once } from 'node:events'
import http from 'node:http'
import { within } from './facts.ts'

export interface Call {
  readonly method?: string
  /** A whole URL. */
  readonly url: string
  readonly headers?: http.OutgoingHttpHeaders
  readonly body?: string | Uint8Array
}

export interface Answer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
  /** The body as JSON. The type is what the test expects; it checks by what it asserts. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller says what it expects
  json<T>(): T
}

export interface OpenCall {
  readonly answer: Promise<Answer>
  /** Goes away without waiting for the answer, which then rejects. Resolves once the other side has noticed. */
  leave(): Promise<void>
}

export function open({ method = 'GET', url, headers = {}, body }: Call): OpenCall {
  const request = http.request(url, { method, headers, agent: false })
  const answer = new Promise<Answer>((resolve, reject) => {
    request.on('error', reject)
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const bytes = Buffer.concat(chunks)
        const text = bytes.toString('utf8')
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          bytes,
          text,
          // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller says what it expects
          json: <T>() => JSON.parse(text) as T,
        })
      })
    })
  })
  request.end(body)
  return {
    answer,
    async leave() {
      const { socket } = request
      if (socket === null || socket.closed) return
      const closed = once(socket, 'close')
      // Half closed: that the other half closes as well shows that the other side has seen it.
      socket.end()
      await within(closed, () => 'the other side does not notice that its caller has gone')
    },
  }
}

export function send(call: Call): Promise<Answer> {
  return within(open(call).answer, () => `no answer to ${call.method ?? 'GET'} ${call.url.split('?', 1)[0]}`)
}
