/** Sound answers that are made wrong: the recordings where there are some, and always a few written by hand. */
import { bytesOf, recordings, type Api } from '../recordings/recordings.ts'
import { wireOf } from '../recordings/reading.ts'
import type { Value } from './mutate.ts'

export interface Sample {
  readonly api: Api
  /** The JSON of each event, or its text where it is none; one alone for a document. */
  readonly events: readonly { readonly name: string | undefined; readonly data: Value }[]
  readonly kind: 'stream' | 'json'
}

/** Longer events cost more than they find. */
const MOST_LENGTH = 1000

function stream(api: Api, ...events: readonly (Value | readonly [name: string, data: Value])[]): Sample {
  return {
    api,
    kind: 'stream',
    events: events.map((event) =>
      Array.isArray(event)
        ? { name: event[0] as string, data: event[1] as Value }
        : { name: undefined, data: event as Value },
    ),
  }
}

const chunk = (delta: Value, more: { [name: string]: Value } = {}): Value => ({
  id: 'c1',
  choices: [{ index: 0, delta, ...more }],
})
const call = (index: number, id: string, name: string, args: string): Value =>
  chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }] })

const BY_HAND: readonly Sample[] = [
  stream(
    'openai-chat',
    chunk({ role: 'assistant', content: '', reasoning_content: 'Look it up. ' }),
    chunk({ content: 'One moment 🙂', reasoning_details: [{ type: 'reasoning.text', text: 'x', index: 0 }] }),
    call(0, 'a', 'get_order', '{"id":'),
    call(0, '', '', '12345678901234567890}'),
    call(1, 'b', 'get_client', '{"name":"Ann"}'),
    chunk({}, { finish_reason: 'tool_calls' }),
    {
      choices: [],
      usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13, prompt_tokens_details: { cached_tokens: 2 } },
    },
    '[DONE]',
  ),
  stream(
    'anthropic-messages',
    { type: 'message_start', message: { id: 'm1', content: [], usage: { input_tokens: 5, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Здравствуйте' } },
    { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 't1', name: 'f', input: {} } },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } },
    { type: 'content_block_stop', index: 2 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ),
  stream(
    'openai-responses',
    { type: 'response.created', response: { id: 'r1', status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning', id: 'rs', summary: [] } },
    { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'Hm.' },
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: {
        type: 'reasoning',
        id: 'rs',
        summary: [{ type: 'summary_text', text: 'Hm.' }],
        encrypted_content: 'ZW4=',
      },
    },
    {
      type: 'response.output_item.added',
      output_index: 1,
      item: { type: 'message', content: [], phase: 'commentary' },
    },
    { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'One ' },
    { type: 'response.output_text.done', output_index: 1, content_index: 0, text: 'One moment' },
    {
      type: 'response.output_item.added',
      output_index: 2,
      item: { type: 'function_call', call_id: 'c1', name: 'f', arguments: '' },
    },
    { type: 'response.function_call_arguments.delta', output_index: 2, delta: '{"a":1}' },
    { type: 'response.function_call_arguments.done', output_index: 2, arguments: '{"a":1}' },
    {
      type: 'response.completed',
      response: {
        id: 'r1',
        status: 'completed',
        output: [{ type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' }],
        usage: { input_tokens: 9, output_tokens: 4, input_tokens_details: { cached_tokens: 2 } },
      },
    },
  ),
  stream(
    'gigachat-v1',
    chunk({ role: 'assistant', content: 'Сейчас. ' }),
    chunk(
      { content: '', function_call: { name: 'f', arguments: { id: 1.5 } }, functions_state_id: 's1' },
      { finish_reason: 'function_call' },
    ),
    { choices: [], usage: { prompt_tokens: 9, completion_tokens: 4, precached_prompt_tokens: 3 } },
    '[DONE]',
  ),
  stream(
    'gigachat-v2',
    ['response.message.delta', { messages: [{ role: 'assistant', content: [{ text: 'Hi' }] }] }],
    [
      'response.message.done',
      {
        messages: [
          {
            role: 'assistant',
            tool_state_id: 's',
            content: [{ function_call: { id: 'a', name: 'f', arguments: { b: 1 } } }],
          },
        ],
        finish_reason: 'function_call',
        usage: { input_tokens: 4, output_tokens: 2 },
      },
    ],
  ),
  {
    api: 'openai-chat',
    kind: 'json',
    events: [
      {
        name: undefined,
        data: {
          id: 'c',
          choices: [
            {
              message: {
                content: '<think>hm</think>Hi',
                tool_calls: [{ id: 'a', function: { name: 'f', arguments: { a: 1 } } }],
              },
              finish_reason: 'stop',
            },
          ],
          usage: { prompt_tokens: 1, completion_tokens: 1 },
        },
      },
    ],
  },
]

function parsed(data: string): Value {
  try {
    return JSON.parse(data) as Value
  } catch {
    return data
  }
}

function recorded(): Sample[] {
  return recordings.flatMap((recording): Sample[] => {
    const { api, kind } = recording
    if (kind === 'error') return []
    const bytes = bytesOf(recording)
    const events = kind === 'json' ? [{ event: undefined, data: bytes.toString('utf8') }] : wireOf(bytes).events
    const short = events.filter(({ data }) => data.length <= MOST_LENGTH)
    return short.length === 0
      ? []
      : [{ api, kind, events: short.map(({ data, event }) => ({ name: event, data: parsed(data) })) }]
  })
}

export const corpus: readonly Sample[] = [...BY_HAND, ...recorded()]
