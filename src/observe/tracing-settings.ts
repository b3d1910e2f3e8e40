/** The variables of OpenTelemetry that the engine reads, under the names and with the meaning they have everywhere. SPEC §12.7. */
import { headerProblem } from '../egress/headers.ts'
import type { SettingReader } from '../settings/setting-reader.ts'
import { SAMPLERS } from './sampler.ts'
import type { TracingSettings } from './tracing.ts'

export const TRACING_NAMES = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_SERVICE_NAME',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
] as const

/** null: no endpoint, no traces. */
export function tracingSettings(reader: SettingReader): TracingSettings | null {
  const endpoint = reader.url('OTEL_EXPORTER_OTLP_ENDPOINT')
  const headers = headersOf(reader)
  const sampler = reader.word('OTEL_TRACES_SAMPLER', SAMPLERS, 'parentbased_always_on')
  const ratio = ratioOf(reader)
  const serviceName = reader.text('OTEL_SERVICE_NAME') ?? 'theloop'
  return endpoint === null ? null : { endpoint, headers, serviceName, sampler, ratio }
}

function ratioOf(reader: SettingReader): number {
  const text = reader.text('OTEL_TRACES_SAMPLER_ARG')
  const ratio = text === null ? 1 : Number(text)
  if (ratio >= 0 && ratio <= 1) return ratio
  reader.fault(
    'OTEL_TRACES_SAMPLER_ARG',
    `must be a share of traces from 0 to 1, such as 0.1; got ${JSON.stringify(text?.slice(0, 40))}`,
  )
  return 1
}

/** `name=value` pairs, values percent-encoded. They are secrets more often than not, so none is quoted. */
function headersOf(reader: SettingReader): Record<string, string> {
  const pairs = reader.list('OTEL_EXPORTER_OTLP_HEADERS').map((pair) => {
    const at = pair.indexOf('=')
    return [pair.slice(0, Math.max(0, at)).trim().toLowerCase(), decoded(pair.slice(at + 1).trim())] as const
  })
  const good = pairs.every(([name, value]) => /^[a-z0-9_-]{1,100}$/.test(name) && /^[\x20-\x7e]+$/.test(value ?? ''))
  if (!good)
    reader.fault('OTEL_EXPORTER_OTLP_HEADERS', 'must be name=value pairs separated by commas, values percent-encoded')
  const headers = Object.fromEntries(pairs.map(([name, value]) => [name, value ?? '']))
  if (good && headerProblem(headers) !== null)
    reader.fault('OTEL_EXPORTER_OTLP_HEADERS', 'names a header that the connection sets by itself, such as host')
  return headers
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
