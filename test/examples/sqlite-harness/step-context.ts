/** What a single step is given where no engine has a part in it: rows of its own, and nothing that follows by itself. */
import assert from 'node:assert/strict'
import type { Context } from '../../../examples/sqlite-harness/context.ts'
import { createConversation } from '../../../examples/sqlite-harness/conversation.ts'
import { writeAssistants } from '../../../examples/sqlite-harness/data/assistants.ts'
import { fillWithDemoData } from '../../../examples/sqlite-harness/data/demo-data.ts'
import { createShop } from '../../../examples/sqlite-harness/data/shop.ts'
import { wordsOf } from '../../../examples/sqlite-harness/data/words.ts'
import { createOperations } from '../../../examples/sqlite-harness/operations.ts'
import { openDatabase } from '../../../examples/sqlite-harness/plumbing/database.ts'
import { createTurns } from '../../../examples/sqlite-harness/plumbing/turns.ts'

/** With the shop's data and a conversation `chat_1` of its customer; closed with the test. */
export function openSteps(t: { after(close: () => void): unknown }, clock = () => new Date()): Context {
  const database = openDatabase(':memory:', clock)
  t.after(() => database.close())
  fillWithDemoData(database, wordsOf('en'))
  writeAssistants(database, {}, 'en')
  const conversation = createConversation(database)
  conversation.create('chat_1', 'scripted', 'u_anna')
  return {
    database,
    conversation,
    operations: createOperations(database),
    shop: createShop(database),
    engine: { url: 'http://127.0.0.1:1', token: 'engine-token' },
    harnessUrl: 'http://127.0.0.1:1',
    toolSecret: 'tool-secret',
    words: wordsOf('en'),
    turns: createTurns(),
    pause: () => Promise.resolve(),
    closing: new AbortController().signal,
    changed: () => undefined,
    report: (error) => assert.fail(String(error)),
  }
}
