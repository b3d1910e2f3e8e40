/** Who checks the body of a run without running it (SPEC §2.7). The server carries the body in and the answer out. Types only. */
import type { JsonObject } from '../contract/json.ts'
import type { Validation } from '../contract/validation.ts'

/** Starts nothing, sends nothing, never throws. */
export type Validate = (body: JsonObject) => Validation
