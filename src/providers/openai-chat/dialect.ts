/** OpenAI's chat completions, also spoken by DeepSeek, GLM and any compatible server: what its folder holds, as one `Dialect`. */
import type { Dialect } from '../dialect.ts'
import { chatFault } from './errors.ts'
import { chatRequest } from './request.ts'
import { ChatReader } from './stream.ts'

export const openaiChat: Dialect = {
  name: 'openai-chat',
  request: chatRequest,
  reader: (sink, call) => new ChatReader(sink, call),
  fault: chatFault,
}
