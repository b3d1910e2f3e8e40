/** GigaChat's own API with `functions`, asked as v1: what its folder holds, as one `Dialect`. */
import type { Dialect } from '../dialect.ts'
import { gigachatFault } from './errors.ts'
import { gigachatRequest } from './request.ts'
import { GigachatReader } from './stream.ts'

export const gigachat: Dialect = {
  name: 'gigachat',
  request: gigachatRequest,
  reader: (sink, call) => new GigachatReader(sink, call),
  fault: gigachatFault,
}
