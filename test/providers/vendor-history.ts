/** What the tests of the vendors' rows share: answers stored as a harness stores them, and a history of another vendor. */
import type { AssistantMessage, StoredMessage } from '../../src/contract/message.ts'
import type { ProviderName } from '../../src/contract/run-request.ts'
import { anthropic } from '../../src/providers/anthropic/dialect.ts'
import type { Reading } from '../../src/providers/dialect.ts'
import { openaiChat } from '../../src/providers/openai-chat/dialect.ts'
import { dialectCall, tool, user, type CallFacts } from './dialect-call.ts'

/** Two tools of every conversation here. */
export const TOOLS = [{ ...tool('find_order'), description: 'Find one order' }, tool('find_client')]

export interface Sent {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: { readonly messages: readonly Record<string, unknown>[]; readonly [field: string]: unknown }
  readonly warned: readonly string[]
}

/** The request that a model is sent. */
export function sent(facts: CallFacts): Sent {
  const call = dialectCall(facts)
  const dialect = call.profile.dialect === 'anthropic' ? anthropic : openaiChat
  const { url, headers, body, warnings } = dialect.request(call)
  return { url, headers, body: JSON.parse(body) as Sent['body'], warned: warnings.map(({ message }) => message) }
}

/** An answer as it is stored; its calls are `call_1`, `call_2` … */
export function stored({ parts }: Reading, provider: ProviderName, model: string): AssistantMessage {
  let calls = 0
  const content = parts.map((part): AssistantMessage['content'][number] => {
    if (part.type !== 'tool_call') return part
    calls += 1
    const { args, provider_data, tool } = part
    return { type: 'tool_call', call_id: `call_${calls}`, tool, args: args ?? {}, provider_data }
  })
  return { role: 'assistant', content, provider, model }
}

export function result(call_id: string, tool: string, value: string): StoredMessage {
  return { role: 'tool', call_id, tool, result: { status: value } }
}

/** Two rounds with Claude: a thought and two calls, then words, and a new question. */
export const FOREIGN: readonly StoredMessage[] = [
  user('Where is order 77?'),
  {
    role: 'assistant',
    provider: 'anthropic',
    model: 'claude-opus-5-5',
    content: [
      {
        type: 'reasoning',
        text: 'A secret thought.',
        provider_data: { family: 'anthropic', type: 'thinking', signature: 'SIG' },
      },
      {
        type: 'tool_call',
        call_id: 'call_A',
        tool: 'find_order',
        args: { id: '77' },
        provider_data: { family: 'anthropic', id: 'toolu_01A' },
      },
      {
        type: 'tool_call',
        call_id: 'call_B',
        tool: 'find_client',
        args: {},
        provider_data: { family: 'anthropic', id: 'toolu_01B' },
      },
    ],
  },
  result('call_A', 'find_order', 'shipped'),
  result('call_B', 'find_client', 'known'),
  {
    role: 'assistant',
    provider: 'anthropic',
    model: 'claude-opus-5-5',
    content: [{ type: 'text', text: 'It is shipped.' }],
  },
  user('And order 78?'),
]
