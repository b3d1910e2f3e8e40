/** What the server does with a defect of its own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openChatServer } from '../../../examples/sqlite-harness/chat-server.ts'
import { wordsOf } from '../../../examples/sqlite-harness/data/words.ts'
import { openDatabase } from '../../../examples/sqlite-harness/plumbing/database.ts'

test('a request that meets a defect is answered 500, and whoever runs the server is told of it', async (t) => {
  const database = openDatabase(':memory:')
  const reported: string[] = []
  const server = await openChatServer({
    database,
    port: 0,
    words: wordsOf('en'),
    environment: {},
    report: (error) => reported.push(String(error)),
    startEngine: async () => ({ url: 'http://127.0.0.1:1', token: 'engine-token', callbackSecrets: ['a-secret'] }),
  })
  t.after(() => server.close())
  const page = await fetch(server.url)
  const cookie = page.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
  database.close()
  const answer = await fetch(`${server.url}/api/sessions`, { headers: { cookie } })
  assert.deepEqual([answer.status, await answer.json()], [500, { error: 'the server failed' }])
  assert.match(reported.join('\n'), /^Error: .*database is not open/m)
})
