/**
 * Reads the text format of Prometheus as strictly as its own parser does: every line is what the format allows, every family has
 * one head and stands in one piece, no series stands twice, and histograms add up. It throws where that is not so.
 */
import assert from 'node:assert/strict'

export interface Sample {
  /** With the ending of a histogram's line. */
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface ReadFamily {
  readonly name: string
  readonly type: string
  readonly samples: readonly Sample[]
}

const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y

export class MetricsText {
  readonly families: readonly ReadFamily[]

  constructor(text: string) {
    assert.ok(text.endsWith('\n'), 'the last line has an end')
    const families: (ReadFamily & { readonly samples: Sample[] })[] = []
    const seen = new Set<string>()
    for (const line of text.slice(0, -1).split('\n')) {
      const [, help] = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) \S/.exec(line) ?? []
      if (help !== undefined) {
        assert.ok(!families.some((family) => family.name === help), `${help} has two heads`)
        families.push({ name: help, type: '', samples: [] })
        continue
      }
      const family = families.at(-1)
      assert.ok(family !== undefined, `before the first head: ${line}`)
      const [, typed, type = ''] = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line) ?? []
      if (typed !== undefined) {
        assert.equal(typed, family.name)
        families[families.length - 1] = { ...family, type }
        continue
      }
      const sample = sampleOf(line)
      assert.equal(sample.name.replace(family.type === 'histogram' ? /_(?:bucket|sum|count)$/ : /$^/, ''), family.name)
      const key = line.slice(0, line.lastIndexOf(' '))
      assert.ok(!seen.has(key), `${key} stands twice`)
      seen.add(key)
      family.samples.push(sample)
    }
    for (const family of families) if (family.type === 'histogram') checkHistogram(family)
    this.families = families
  }

  /** The sum of the series with this name and at least these labels; 0 where there is none. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number {
    return this.samples(name)
      .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
      .reduce((sum, sample) => sum + sample.value, 0)
  }

  samples(name: string): readonly Sample[] {
    return this.families.flatMap((family) => family.samples.filter((sample) => sample.name === name))
  }
}

function sampleOf(line: string): Sample {
  const [, name = '', inner = '', text = ''] =
    /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([+-]?(?:Inf|\d[\d.e+-]*)|NaN)$/s.exec(line) ??
    assert.fail(`no line of the format: ${line}`)
  const labels: Record<string, string> = {}
  LABEL.lastIndex = 0
  for (let end = 0; end < inner.length; end = LABEL.lastIndex) {
    const [, label = '', value = ''] = LABEL.exec(inner) ?? assert.fail(`no labels: ${inner}`)
    assert.ok(!(label in labels), `${label} stands twice`)
    labels[label] = value.replaceAll(/\\(.)/g, (_all, mark: string) => (mark === 'n' ? '\n' : mark))
  }
  const value = text.endsWith('Inf') ? (text.startsWith('-') ? -Infinity : Infinity) : Number(text)
  assert.ok(!Number.isNaN(value), line)
  return { name, labels, value }
}

function checkHistogram({ name, samples }: ReadFamily): void {
  const series = Map.groupBy(samples, ({ labels: { le: _le, ...labels } }) => JSON.stringify(labels))
  for (const [labels, lines] of series) {
    const buckets = lines.filter((line) => line.name === `${name}_bucket`)
    const bounds = buckets.map((line) => (line.labels['le'] === '+Inf' ? Infinity : Number(line.labels['le'])))
    const sorted = (values: readonly number[]) => values.toSorted((left, right) => left - right)
    assert.deepEqual(bounds, sorted(bounds), name)
    assert.equal(bounds.at(-1), Infinity, name)
    const counts = buckets.map(({ value }) => value)
    assert.deepEqual(counts, sorted(counts), `${name}${labels}`)
    const [sum, ...noSum] = lines.filter((line) => line.name === `${name}_sum`)
    const [count, ...noCount] = lines.filter((line) => line.name === `${name}_count`)
    assert.deepEqual([noSum, noCount], [[], []])
    assert.ok(sum !== undefined && count?.value === counts.at(-1), `${name}${labels}`)
  }
}
