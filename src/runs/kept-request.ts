/**
 * What of a request is written down: what the end of its run is told with. The conversation, the tools, and the keys and
 * headers that go to models and tools never are: whoever has the files and their secret has none of them. Pure.
 */
import { NO_PARAMS, type RunRequest, type Target } from '../contract/run-request.ts'
import { mediaOf, type Media } from '../usage/media.ts'

type KeptTarget = Pick<Target, 'provider' | 'model' | 'pricing'>

export interface KeptRequest extends Pick<
  RunRequest,
  | 'idempotency_key'
  | 'origin_request_id'
  | 'history_revision'
  | 'limits'
  | 'callback'
  | 'meta'
  | 'session_id'
  | 'tenant_id'
  | 'trace'
> {
  readonly targets: readonly [KeptTarget, ...KeptTarget[]]
  /** An estimate of what the first step sends. Kept in the place of what it is made of. SPEC §6.3. */
  readonly promptTokens: number
}

export function keptRequest(request: RunRequest): KeptRequest {
  const [first, ...others] = request.targets
  return {
    idempotency_key: request.idempotency_key,
    origin_request_id: request.origin_request_id,
    history_revision: request.history_revision,
    limits: request.limits,
    callback: request.callback,
    meta: request.meta,
    session_id: request.session_id,
    tenant_id: request.tenant_id,
    ...(request.trace === undefined ? {} : { trace: request.trace }),
    targets: [keptTarget(first), ...others.map(keptTarget)],
    promptTokens: promptTokens(request),
  }
}

function keptTarget({ provider, model, pricing }: Target): KeptTarget {
  return { provider, model, pricing }
}

/** As far as it is kept: of all else it says nothing. */
export function requestOf({ promptTokens: _promptTokens, targets, ...kept }: KeptRequest): RunRequest {
  const [first, ...others] = targets
  return {
    ...kept,
    targets: [target(first), ...others.map(target)],
    system: '',
    messages: [],
    tools: [],
    output: { schema: null, blocks: {} },
    stream: { tool_names: false, tool_args: false, tool_results: false, reasoning: false },
    timezone: 'UTC',
    wait: false,
  }
}

function target(kept: KeptTarget): Target {
  return { ...kept, api_key: null, base_url: null, profile: null, params: NO_PARAMS }
}

/** Bytes of UTF-8 that one token stands for, as in every estimate. SPEC §6.3. */
const BYTES_PER_TOKEN = 4

/** What a value weighs that is shown as JSON; what of it is no words, `media`, left out. */
export function tokensOf(value: unknown, media: Media = NO_MEDIA): number {
  return Math.ceil((bytesOf(value) - media.bytes) / BYTES_PER_TOKEN) + media.tokens
}

const NO_MEDIA: Media = { bytes: 0, tokens: 0 }

function promptTokens({ messages, system, tools }: RunRequest): number {
  // Of a tool a model is shown no more than this.
  const shown = tools.map(({ name, description, input_schema }) => [name, description, input_schema])
  return tokensOf(
    [system, shown, messages],
    mediaOf(messages, (part) => part),
  )
}

/** Quotes, colons and commas with it. To make the text only to measure it takes several times as long. */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value) + 3
  if (typeof value !== 'object' || value === null) return 5
  let bytes = 3
  if (Array.isArray(value)) {
    for (const item of value) bytes += bytesOf(item)
    return bytes
  }
  for (const name in value) bytes += name.length + 3 + bytesOf(value[name as keyof typeof value])
  return bytes
}
