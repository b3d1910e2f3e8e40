/** OpenAI's Responses API: what its folder holds, as one `Dialect`. */
import type { Dialect } from '../dialect.ts'
import { responsesFault } from './errors.ts'
import { responsesRequest } from './request.ts'
import { ResponsesReader } from './stream.ts'

export const openaiResponses: Dialect = {
  name: 'openai-responses',
  request: responsesRequest,
  reader: (sink, call) => new ResponsesReader(sink, call),
  fault: responsesFault,
}
