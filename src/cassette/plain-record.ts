/** A run's record without the secrets its request brings, and the list of them. Pure. */
import { isJsonObject, type Json } from '../contract/json.ts'
import type { StoredMessage } from '../contract/message.ts'
import type { Callback, Target } from '../contract/run-request.ts'
import type { RunRecord } from '../engine/record.ts'
import { plainUrl, SECRET } from './secrets.ts'

type Headers = Readonly<Record<string, string>>

/** The record as it may be written down: a place that held a secret still shows that it held one. */
export function plainRecord(record: RunRecord): RunRecord {
  const { callback, targets, tools } = record.request
  const [first, ...others] = targets
  const plainTarget = (target: typeof first) => ({ ...target, api_key: target.api_key === null ? null : SECRET })
  return {
    ...record,
    request: {
      ...record.request,
      targets: [plainTarget(first), ...others.map(plainTarget)],
      tools: tools.map((tool) => ({ ...tool, url: plainUrl(tool.url), headers: hidden(tool.headers) })),
      callback: callback === null ? null : { url: plainUrl(callback.url), headers: hidden(callback.headers) },
    },
  }
}

function hidden(headers: Headers): Headers {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, SECRET]))
}

type Receiver = Pick<Callback, 'url' | 'headers'>

/** Where a request holds secrets. */
interface Secretive {
  readonly request: {
    readonly targets: readonly Pick<Target, 'api_key' | 'params'>[]
    readonly tools: readonly Receiver[]
    readonly callback: Receiver | null
    /** Absent: it is not kept any more. */
    readonly messages?: readonly StoredMessage[]
  }
}

/** The engine fetches no more for one run, and names no others. */
const MOST_PARTS = 50

/** Keys, header values, and what stands in queries, those of images and files among them. */
export function secretsOf({ request }: Secretive): string[] {
  const parts = partUrlsOf(request.messages ?? []).flatMap(secretsInQuery)
  const extras = request.targets.flatMap(({ params }) => keysInside(params.extra))
  return [...keysOf(request), ...extras, ...receiversOf(request).flatMap(secretsOfReceiver), ...parts]
}

/** A gateway may be told the key of the model behind it in a field of its own. */
function keysInside(value: Json, name = ''): string[] {
  if (typeof value === 'string') return KEY_NAME.test(name) ? [value] : []
  if (Array.isArray(value)) return value.flatMap((item: Json) => keysInside(item, name))
  return isJsonObject(value) ? Object.entries(value).flatMap(([inner, item]) => keysInside(item, inner)) : []
}

/** Narrower than names of headers: `prompt_cache_key` is none. */
const KEY_NAME = /api.?key|access.?key|secret|token$|password|authorization|credential/i

/** Addresses of images and files, the newest: what is signed into them opens them to whoever reads it. */
function partUrlsOf(messages: readonly StoredMessage[]): string[] {
  const urls: string[] = []
  for (let at = messages.length - 1; at >= 0 && urls.length < MOST_PARTS; at -= 1) {
    const message = messages[at]
    if (message?.role !== 'user') continue
    for (const part of message.content) if (part.type !== 'text' && part.url != null) urls.push(part.url)
  }
  return urls.slice(0, MOST_PARTS)
}

/** Those among them that are secrets by their place, however short: keys, and what stands under the name of one. */
export function credentialsOf({ request }: Secretive): string[] {
  return [...keysOf(request), ...receiversOf(request).flatMap(credentialsOfReceiver)]
}

function secretsOfReceiver({ headers, url }: Receiver): string[] {
  return [...Object.values(headers), URL.parse(url)?.search.slice(1) ?? '', ...secretsInQuery(url)]
}

/** Values, and what stands there alone, `?<token>`, unless it is a word such as `download`. */
function secretsInQuery(url: string): string[] {
  const pairs = [...(URL.parse(url)?.searchParams ?? [])]
  return pairs.flatMap(([name, value]) => (value !== '' ? [value] : NO_WORD.test(name) ? [name] : []))
}

const NO_WORD = /\d|^.{20}/

function credentialsOfReceiver({ headers, url }: Receiver): string[] {
  const pairs = [...Object.entries(headers), ...(URL.parse(url)?.searchParams ?? [])]
  return pairs.flatMap(([name, value]) => (CREDENTIAL_NAME.test(name) ? [value] : []))
}

const CREDENTIAL_NAME = /auth|key|token|secret|pass|pwd|sig|cred/i

function keysOf({ targets }: Secretive['request']): string[] {
  return targets.flatMap(({ api_key: key }) => (key === null ? [] : [key]))
}

function receiversOf({ tools, callback }: Secretive['request']): Receiver[] {
  return [...tools, ...(callback === null ? [] : [callback])]
}
