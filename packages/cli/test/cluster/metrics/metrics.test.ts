// Holds rules of docs/spec: R-OPER-5.
import { query } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { array, assert, double, property, record, string } from 'fast-check'
import { expect, test } from 'vitest'
import { openMetrics } from '../../../src/cluster/metrics/metrics.ts'
import { prometheusText, type MetricFamily } from '../../../src/cluster/metrics/prometheus-text.ts'
import { WorkerMetrics } from '../../../src/cluster/metrics/worker-metrics.ts'

const figures = { isReady: true, engineLookFailures: 2, places: 16, atWork: 3, waiting: 4 }

interface Read {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A strict parser of the text format. @throws Error for an invalid line */
function parsed(text: string): readonly Read[] {
  expect(text === '' || text.endsWith('\n')).toBe(true)
  const types = new Map<string, string>()
  return text
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => {
      const about = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/.exec(line)
      if (about !== null) {
        const [, what, name = '', rest = ''] = about
        if (what === 'TYPE') {
          if (types.has(name)) throw new Error(`${name} has two types.`)
          types.set(name, rest)
        }
        return []
      }
      const [, name = '', inBraces = '', value = ''] =
        /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (NaN|[+-]Inf|-?[\d.]+(?:e[+-]?\d+)?)$/.exec(line) ?? []
      const family = [name, name.replace(/_(?:bucket|sum|count)$/, '')].find((each) => types.has(each))
      if (name === '' || family === undefined) throw new Error(`No sample: ${line}`)
      const labels: Record<string, string> = {}
      let rest = inBraces
      while (rest !== '') {
        const pair = /^([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/.exec(rest)
        if (pair === null) throw new Error(`No label: ${rest}`)
        const [all, key = '', escaped = ''] = pair
        labels[key] = escaped.replaceAll(/\\(.)/g, (_, each: string) => (each === 'n' ? '\n' : each))
        rest = rest.slice(all.length)
      }
      return [{ name, labels, value: Number(value.replace('Inf', 'Infinity')) }]
    })
}

test('writes each sample as one line that parses back, whatever labels and help contain', () => {
  assert(
    property(
      array(record({ label: string({ unit: 'grapheme' }), help: string(), value: double({ noNaN: true }) })),
      (given) => {
        const families = given.map(({ label, help, value }, at): MetricFamily => ({
          name: `m.${at}`,
          help,
          type: 'gauge',
          samples: [{ labels: { 'a.b': label }, value }],
        }))
        const read = parsed(prometheusText(families))
        expect(read).toEqual(
          given.map(({ label, value }, at) => ({
            name: `m_${at}`,
            labels: { a_b: label.replaceAll(/\r\n|\r/g, '\n') },
            // As text both are 0.
            value: value === 0 ? 0 : value,
          })),
        )
      },
    ),
  )
})

test("reports the worker's state, and the totals of its runs by tenant", async () => {
  const metrics = new WorkerMetrics()
  const ended = { type: 'run_ended', session: 's', reason: 'completed', usd: 0.5, tokens: 10, requests: 2 } as const
  metrics.onEvent({ ...ended, tenant: 'acme', toolCalls: 3 })
  metrics.onEvent({ ...ended, tenant: 'acme', toolCalls: 1, reason: 'max_turns' })
  metrics.onEvent({ ...ended, toolCalls: 0 })
  const read = parsed(prometheusText(metrics.families(figures)))
  const valueOf = (name: string, labels: object = {}): number | undefined =>
    read.find((each) => each.name === name && JSON.stringify(each.labels) === JSON.stringify(labels))?.value
  expect(valueOf('halting_worker_ready')).toBe(1)
  expect(valueOf('halting_worker_sessions', { state: 'at_work' })).toBe(3)
  expect(valueOf('halting_worker_sessions', { state: 'waiting' })).toBe(4)
  expect(valueOf('halting_worker_places')).toBe(16)
  expect(valueOf('halting_worker_engine_look_failures_total')).toBe(2)
  expect(valueOf('halting_worker_events_total', { event: 'run_ended' })).toBe(3)
  expect(valueOf('halting_worker_cost_usd_total', { tenant: 'acme' })).toBe(1)
  expect(valueOf('halting_worker_tool_calls_total', { tenant: 'acme' })).toBe(4)
  expect(valueOf('halting_worker_runs_total', { tenant: 'acme', reason: 'max_turns' })).toBe(1)
  expect(valueOf('halting_worker_runs_total', { tenant: '', reason: 'completed' })).toBe(1)
  expect(JSON.stringify(read)).not.toContain('"s"')
})

test('bounds the number of series without losing costs, however many tenants there are', () => {
  const metrics = new WorkerMetrics()
  for (let at = 0; at < 500; at++)
    metrics.onEvent({
      type: 'run_ended',
      session: `s${at}`,
      tenant: `t${at}`,
      reason: 'completed',
      usd: 1,
      tokens: 1,
      requests: 1,
      toolCalls: 0,
    })
  const costs = parsed(prometheusText(metrics.families(figures))).filter(
    ({ name }) => name === 'halting_worker_cost_usd_total',
  )
  expect(costs.length).toBe(101)
  expect(costs.reduce((sum, { value }) => sum + value, 0)).toBe(500)
})

test('exports the OpenTelemetry metrics of runs, with bucketed durations', async () => {
  const metrics = await openMetrics()
  const listeners = await Promise.all(['a', 'b'].map((id) => metrics.listener(id)))
  for (const { onEvent } of listeners)
    for await (const message of query({ prompt: 'Go.', options: { model: scriptedModel(() => 'done'), onEvent } }))
      expect(message.type).toBeDefined()
  const read = parsed(await metrics.text(figures))
  const endings = read.find(({ name, labels }) => name === 'halting_endings_total' && labels['halting_terminal_reason'])
  expect(endings?.value).toBe(2)
  const durations = read.filter(({ name }) => name === 'halting_run_duration_seconds_bucket')
  expect(durations.at(-1)).toMatchObject({ labels: { le: '+Inf' }, value: 2 })
  const counts = durations.map(({ value }) => value)
  expect(counts).toEqual(counts.toSorted((a, b) => a - b))
  expect(read.find(({ name }) => name === 'halting_run_duration_seconds_count')?.value).toBe(2)
})
