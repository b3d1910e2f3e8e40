/** A chat server that takes every field and objects to nothing: for profiles of servers that have no fake of their own. */
import { ChatAnswer } from './chat-answer.ts'
import { openaiCompatible } from './openai-compatible.ts'
import type { Vendor } from './vendor.ts'

const STREAM = {
  callId: (number: number) => `call${String(number).padStart(5, '0')}`,
  wholeCalls: false,
  usageAt: 'own_chunk',
  cached: () => ({}),
  nulls: false,
  keepsAlive: false,
  countsThinking: true,
} as const

export const anyChatServer: Vendor = {
  ...openaiCompatible,
  judge(body, _headers, issued) {
    const facts = { model: String(body['model']), thinks: true, streamsCalls: false }
    return (response) => new ChatAnswer(response, facts, STREAM, issued)
  },
}
