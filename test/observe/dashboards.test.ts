/** docs/grafana and docs/alerts.yml name only metrics, labels and words that exist, and every alert is explained. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createEngineMetrics } from '../../src/observe/engine-metrics.ts'
import { root } from '../source-text.ts'

const read = (path: string) => readFileSync(`${root}${path}`, 'utf8')
const families = new Map(
  createEngineMetrics()
    .registry.families()
    .map((family) => [family.name, family]),
)

/** Every place in an expression that names a metric of ours, with the labels that stand in its braces. */
function uses(expression: string) {
  return [...expression.matchAll(/\b((?:theloop|process|nodejs)_[a-z_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', inside = '']) => {
      const matchers = [...inside.matchAll(/(\w+)(?:=~|!~|!=|=)"([^"]*)"/g)]
      return { name, matchers: matchers.map(([, label = '', value = '']) => ({ label, value })) }
    },
  )
}

function check(expression: string): void {
  const used = uses(expression)
  assert.ok(used.length > 0, `no metric in ${expression}`)
  const labels = new Set(['instance', 'le'])
  for (const { name, matchers } of used) {
    const plain = families.get(name) ?? families.get(name.replace(/_(?:bucket|sum|count)$/, ''))
    assert.ok(plain !== undefined, `${name} is no metric: ${expression}`)
    // A histogram is read by its lines, and nothing else has such.
    assert.equal(plain.name !== name, plain.type === 'histogram', `${name}: ${expression}`)
    const own = new Set(plain.labels.map((label) => label.name))
    for (const { label } of matchers) assert.ok(label === 'instance' || own.has(label), `${name} has no ${label}`)
    for (const label of own) labels.add(label)
    if (plain.type === 'counter') {
      assert.match(expression, new RegExp(`(?:rate|increase)\\(${name}\\b`), `${name} only counts up: ${expression}`)
    }
  }
  for (const [, by = ''] of expression.matchAll(/\bby \(([^)]*)\)/g)) {
    for (const label of by.split(',')) assert.ok(labels.has(label.trim()), `nothing has ${label.trim()}: ${expression}`)
  }
  for (const pair of ['()', '{}', '[]']) {
    const [open = '', close = ''] = pair
    assert.equal(expression.split(open).length, expression.split(close).length, `${pair} in ${expression}`)
  }
}

interface Panel {
  readonly title: string
  readonly type: string
  readonly description?: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const dashboard = JSON.parse(read('docs/grafana/theloop.json')) as { readonly panels: readonly Panel[] }

const alerts = read('docs/alerts.yml')
  .split(/^ {6}- alert: /m)
  .slice(1)
  .map((text) => {
    const [name = ''] = text.split('\n', 1)
    const expression = /^ {8}expr: (?:>-\n((?: {10}.*\n)+)|(.*)\n)/m.exec(text)
    const summary = /summary: '([^']+)'/.exec(text)?.[1]
    return { name, expression: (expression?.[1] ?? expression?.[2] ?? '').replaceAll(/\s+/g, ' ').trim(), summary }
  })

test('every query of the dashboard reads metrics and labels that exist', () => {
  const queries = dashboard.panels.flatMap(({ targets = [] }) => targets)
  assert.ok(queries.length > 30)
  for (const { expr, legendFormat } of queries) {
    check(expr)
    assert.match(expr, /instance=~"\$instance"/)
    const told = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
    const kept = new Set([
      ...uses(expr).flatMap(({ name }) => (families.get(name)?.labels ?? []).map((l) => l.name)),
      'instance',
    ])
    for (const label of told) assert.ok(kept.has(label) || expr.includes(label), `${label} in ${expr}`)
  }
})

test('the panels of the dashboard do not lie on one another, and each says what it shows', () => {
  const taken = new Set<string>()
  for (const { title, type, description = '', gridPos } of dashboard.panels) {
    if (type !== 'row') assert.ok(description.length > 10, title)
    assert.ok(gridPos.x + gridPos.w <= 24, title)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        assert.ok(!taken.has(`${x} ${y}`), `${title} lies on another panel`)
        taken.add(`${x} ${y}`)
      }
    }
  }
})

test('every alert reads metrics, labels and words that exist', () => {
  assert.ok(alerts.length >= 15)
  const spec = read('SPEC.md')
  for (const { name, expression, summary } of alerts) {
    check(expression)
    assert.ok(summary !== undefined && summary.length > 10, name)
    for (const { label, value } of uses(expression).flatMap(({ matchers }) => matchers)) {
      if (label === 'route' || label === 'stat' || label === 'outcome') continue
      for (const word of value.split('|')) assert.ok(spec.includes(`\`${word}\``), `${name}: ${label} ${word}`)
    }
  }
})

test('every alert is explained in the operations guide, and nothing else is', () => {
  const guide = read('docs/operations.md')
  const explained = [...guide.matchAll(/^\| `(Theloop\w+)` \| [^|]{20,} \| [^|]{20,} \|$/gm)].map(
    ([, name = '']) => name,
  )
  assert.deepEqual(
    explained,
    alerts.map(({ name }) => name),
  )
})

test('a metric or a label that is not there is found', () => {
  for (const bad of [
    'theloop_runs_total > 0',
    'rate(theloop_runs_ended_total{tenant="x"}[5m])',
    'sum by (user) (rate(theloop_runs_ended_total[5m]))',
    'theloop_runs_ended_total > 5',
    'rate(theloop_run_duration_seconds[5m])',
    'rate(theloop_runs_live_sum[5m])',
    'sum(theloop_runs_live',
    'up == 0',
  ]) {
    assert.throws(() => check(bad), bad)
  }
})
