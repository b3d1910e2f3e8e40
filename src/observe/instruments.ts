/**
 * Counters, gauges and histograms, and the text in which Prometheus reads them (exposition format 0.0.4). No clock, no I/O.
 *
 * Whatever a request can name is bounded here: a label with a `Bound` keeps so many different values, and what comes beyond is
 * `other`. So the number of series has an end, whatever is sent. Recording is one look-up in a map.
 */

/** One label of a family; `bound` null: its values are a closed set of our own. */
export interface Label {
  readonly name: string
  readonly bound: Bound | null
}

/** Hands a value back as long as it is among the first so many different ones, else `OTHER`. */
export type Bound = (value: string) => string

const OTHER = 'other'

/** Longest value of a bounded label, UTF-16 units. */
const MAX_VALUE_CHARS = 100

export function createBound(most: number): Bound {
  const known = new Set<string>()
  return (value) => {
    const short = value.slice(0, MAX_VALUE_CHARS).toWellFormed()
    if (known.has(short)) return short
    if (known.size >= most) return OTHER
    known.add(short)
    return short
  }
}

interface FamilyOptions {
  /** By the conventions of Prometheus: base units, `_total` for counters. */
  readonly name: string
  readonly help: string
  readonly labels?: readonly Label[]
}

export interface Counter {
  /** `values` in the order of the labels. */
  add(values: readonly string[], by?: number): void
}

export interface Gauge {
  set(values: readonly string[], value: number): void
  /** Forgets every series: for gauges that are measured anew at each reading. */
  clear(): void
}

export interface Histogram {
  observe(values: readonly string[], value: number): void
}

interface FamilyFacts {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly Label[]
}

export interface Registry {
  counter(options: FamilyOptions): Counter
  gauge(options: FamilyOptions): Gauge
  /** `buckets`: upper bounds, ascending, without the infinite one. */
  histogram(options: FamilyOptions, buckets: readonly number[]): Histogram
  /** Every family that there is, in the order in which they were made. */
  families(): readonly FamilyFacts[]
  text(): string
}

/**
 * Series a family may have. Bounded labels multiply: beyond it a new series gets `OTHER` in the place of every bounded value,
 * and so ends up in one that is there.
 */
const MAX_SERIES = 2000

export function createRegistry(): Registry {
  const families: Family[] = []
  const keep = <F extends Family>(family: F): F => {
    families.push(family)
    family.begin()
    return family
  }
  return {
    counter: (options) => keep(new CounterFamily(options, 'counter')),
    gauge: (options) => keep(new GaugeFamily(options, 'gauge')),
    histogram: (options, buckets) => keep(new HistogramFamily(options, buckets)),
    families: () => families,
    text: () => families.map((family) => family.text()).join(''),
  }
}

abstract class Family<Series = unknown> implements FamilyFacts {
  readonly name: string
  readonly help: string
  readonly type: FamilyFacts['type']
  readonly labels: readonly Label[]
  /** By the values, joined. */
  readonly #series = new Map<string, { readonly values: readonly string[]; readonly series: Series }>()

  constructor({ name, help, labels = [] }: FamilyOptions, type: FamilyFacts['type']) {
    this.name = name
    this.help = help
    this.type = type
    this.labels = labels
  }

  protected abstract open(): Series
  protected abstract lines(labels: string, series: Series): string

  protected seriesOf(given: readonly string[]): Series {
    let values = given.map((value, index) => this.labels[index]?.bound?.(value) ?? value)
    const known = this.#series.get(keyOf(values))
    if (known !== undefined) return known.series
    if (this.#series.size >= MAX_SERIES)
      values = values.map((value, index) => (this.labels[index]?.bound == null ? value : OTHER))
    const again = this.#series.get(keyOf(values))
    if (again !== undefined) return again.series
    const series = this.open()
    this.#series.set(keyOf(values), { values, series })
    return series
  }

  /** What has no labels is there from the start: a counter that says 0 is not a counter that is missing. */
  begin(): void {
    if (this.labels.length === 0) this.seriesOf([])
  }

  protected forget(): void {
    this.#series.clear()
  }

  text(): string {
    let text = `# HELP ${this.name} ${escapedHelp(this.help)}\n# TYPE ${this.name} ${this.type}\n`
    for (const { values, series } of this.#series.values()) {
      text += this.lines(
        this.labels.map(({ name }, index) => `${name}="${escapedValue(values[index] ?? '')}"`).join(','),
        series,
      )
    }
    return text
  }
}

class CounterFamily extends Family<{ value: number }> implements Counter {
  protected open() {
    return { value: 0 }
  }

  protected lines(labels: string, { value }: { value: number }): string {
    return line(this.name, labels, value)
  }

  add(values: readonly string[], by = 1): void {
    this.seriesOf(values).value += by
  }
}

class GaugeFamily extends Family<{ value: number }> implements Gauge {
  protected open() {
    return { value: 0 }
  }

  protected lines(labels: string, { value }: { value: number }): string {
    return line(this.name, labels, value)
  }

  set(values: readonly string[], value: number): void {
    this.seriesOf(values).value = value
  }

  clear(): void {
    this.forget()
  }
}

interface Distribution {
  /** How many fell into each bucket, the infinite one last; not yet added up. */
  readonly counts: number[]
  sum: number
}

class HistogramFamily extends Family<Distribution> implements Histogram {
  readonly #buckets: readonly number[]

  constructor(options: FamilyOptions, buckets: readonly number[]) {
    super(options, 'histogram')
    this.#buckets = buckets
  }

  protected open(): Distribution {
    return { counts: Array.from({ length: this.#buckets.length + 1 }, () => 0), sum: 0 }
  }

  protected lines(labels: string, { counts, sum }: Distribution): string {
    const before = labels === '' ? '' : `${labels},`
    let text = ''
    let count = 0
    for (const [index, inBucket] of counts.entries()) {
      count += inBucket
      text += line(`${this.name}_bucket`, `${before}le="${this.#buckets[index] ?? '+Inf'}"`, count)
    }
    return `${text}${line(`${this.name}_sum`, labels, sum)}${line(`${this.name}_count`, labels, count)}`
  }

  observe(values: readonly string[], value: number): void {
    const series = this.seriesOf(values)
    const found = this.#buckets.findIndex((bound) => value <= bound)
    const index = found === -1 ? this.#buckets.length : found
    series.counts[index] = (series.counts[index] ?? 0) + 1
    series.sum += value
  }
}

function keyOf(values: readonly string[]): string {
  return values.length < 2 ? (values[0] ?? '') : JSON.stringify(values)
}

function line(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${valueText(value)}\n`
}

function valueText(value: number): string {
  if (value === Infinity) return '+Inf'
  return value === -Infinity ? '-Inf' : String(value)
}

function escapedHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapedValue(text: string): string {
  return escapedHelp(text).replaceAll('"', '\\"')
}
