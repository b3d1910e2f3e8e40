/**
 * Errors of the Responses API, as HTTP answers and inside a stream. Pure. Source: OpenAI's error guide and the codes of its
 * own typings.
 */
import type { ResponseError } from 'openai/resources/responses/responses'
import type { FaultClass, ProviderFault, Repair } from '../dialect.ts'
import { providerErrorOf, type ProviderError } from '../provider-error.ts'
import { httpFault, commonRepair, streamFault } from '../provider-fault.ts'

/** What the codes of this API mean where no status tells it; null: the shared rules know. */
const CODES: Readonly<Record<ResponseError['code'], FaultClass | null>> & {
  readonly [code: string]: FaultClass | null
} = {
  server_error: null,
  vector_store_timeout: null,
  rate_limit_exceeded: null,
  invalid_prompt: 'content',
  bio_policy: 'content',
  misalignment_policy_violation: 'content',
  image_content_policy_violation: 'content',
  data_residency_mismatch: 'bad_request',
  invalid_image: 'bad_request',
  invalid_image_format: 'bad_request',
  invalid_base64_image: 'bad_request',
  invalid_image_url: 'bad_request',
  invalid_image_mode: 'bad_request',
  image_too_large: 'bad_request',
  image_too_small: 'bad_request',
  image_parse_error: 'bad_request',
  image_file_too_large: 'bad_request',
  unsupported_image_media_type: 'bad_request',
  empty_image_file: 'bad_request',
  failed_to_download_image: 'bad_request',
  image_file_not_found: 'bad_request',
}

export function responsesFault(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
  now: number,
): ProviderFault {
  return classed(httpFault({ status, headers, body }, now, repairFor), providerErrorOf(body))
}

/** An error that came inside a 200 answer. */
export function responsesStreamFault(error: ProviderError): ProviderFault {
  const repair = repairFor(400, `${error.type} ${error.code} ${error.message}`)
  return classed({ ...streamFault(error), repair }, error)
}

function classed(fault: ProviderFault, { code }: ProviderError): ProviderFault {
  const own = Object.hasOwn(CODES, code) ? CODES[code] : null
  return own == null ? fault : { ...fault, class: own }
}

/**
 * Encrypted reasoning of another organization, or too old, cannot be read there; and where a server pairs a reasoning item
 * with the item after it, one that stands alone is refused. The request may pass without any.
 */
const REASONING =
  /invalid_encrypted_content|encrypted content .{0,200}could not be (?:verified|decrypted)|without its required (?:following item|'?reasoning'? item)/is

function repairFor(status: number, body: string): Repair | null {
  if (status !== 400 && status !== 422) return null
  if (REASONING.test(body)) return 'no_reasoning'
  // Servers of other vendors that do not know the field.
  if (/stream_options|include_obfuscation/.test(body)) return 'no_stream_options'
  return commonRepair(status, body)
}
