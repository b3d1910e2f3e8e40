/** Anthropic's Messages API, also spoken by Kimi and MiniMax: what its folder holds, as one `Dialect`. */
import type { Dialect } from '../dialect.ts'
import { anthropicFault } from './errors.ts'
import { anthropicRequest } from './request.ts'
import { AnthropicReader } from './stream.ts'

export const anthropic: Dialect = {
  name: 'anthropic',
  request: anthropicRequest,
  reader: (sink, call) => new AnthropicReader(sink, call),
  fault: anthropicFault,
}
