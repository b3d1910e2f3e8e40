/** A run's record without the secrets its request brings, and the list of them. Pure. */
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

/** Keys, header values, and what stands in queries. */
export function secretsOf({ request }: RunRecord): string[] {
  const receivers = [...request.tools, ...(request.callback === null ? [] : [request.callback])]
  return [
    ...request.targets.flatMap(({ api_key: key }) => (key === null ? [] : [key])),
    ...receivers.flatMap(({ headers, url }) => [...Object.values(headers), ...queryValues(url)]),
  ]
}

function queryValues(url: string): string[] {
  const parsed = URL.parse(url)
  return parsed === null ? [] : [parsed.search.slice(1), ...parsed.searchParams.values()]
}
