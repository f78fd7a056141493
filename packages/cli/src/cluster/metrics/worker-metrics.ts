import { memoryUsage, cpuUsage, uptime } from 'node:process'
import type { WorkerEvent, WorkerFigures } from '@halting/restate'
import type { MetricFamily, Sample } from './prometheus-text.ts'

/** Maximum number of tenants with their own series; further ones share one series. */
const maxTenants = 100
const otherTenant = 'other'

/** The totals of one tenant's runs in this process. */
interface TenantFigures {
  readonly reasons: Map<string, number>
  usd: number
  tokens: number
  requests: number
  toolCalls: number
}

/** Counts the events of a worker and reports its state. Labels never contain session IDs, and have a bounded number of values. */
export class WorkerMetrics {
  readonly #events = new Map<string, number>()
  readonly #tenants = new Map<string, TenantFigures>()

  onEvent(event: WorkerEvent): void {
    add(this.#events, event.type, 1)
    if (event.type !== 'run_ended') return
    const tenant = this.#tenant(event.tenant ?? '')
    add(tenant.reasons, event.reason, 1)
    tenant.usd += event.usd
    tenant.tokens += event.tokens
    tenant.requests += event.requests
    tenant.toolCalls += event.toolCalls
  }

  #tenant(name: string): TenantFigures {
    const label = this.#tenants.has(name) || this.#tenants.size < maxTenants ? name : otherTenant
    const figures = this.#tenants.get(label) ?? { reasons: new Map(), usd: 0, tokens: 0, requests: 0, toolCalls: 0 }
    this.#tenants.set(label, figures)
    return figures
  }

  families({ isReady, engineLookFailures, places, atWork, waiting }: WorkerFigures): readonly MetricFamily[] {
    const byTenant = (valueOf: (figures: TenantFigures) => number): readonly Sample[] =>
      [...this.#tenants].map(([tenant, figures]) => ({ labels: { tenant }, value: valueOf(figures) }))
    return [
      gauge('halting_worker_ready', 'Whether this worker can do work (1) or not (0), as /ready says', [
        { value: isReady ? 1 : 0 },
      ]),
      gauge('halting_worker_sessions', 'Sessions in this worker: at work, or waiting for a place', [
        { labels: { state: 'at_work' }, value: atWork },
        { labels: { state: 'waiting' }, value: waiting },
      ]),
      gauge('halting_worker_places', 'Maximum number of sessions at work', [{ value: places ?? Infinity }]),
      counter(
        'halting_worker_events_total',
        'Events of the worker, as its log has them',
        [...this.#events].map(([event, value]) => ({ labels: { event }, value })),
      ),
      counter(
        'halting_worker_runs_total',
        'Runs that ended in this worker, by tenant and reason',
        [...this.#tenants].flatMap(([tenant, { reasons }]) =>
          [...reasons].map(([reason, value]) => ({ labels: { tenant, reason }, value })),
        ),
      ),
      counter(
        'halting_worker_cost_usd_total',
        'US dollars of runs that ended in this worker, unknown requests at worst case',
        byTenant(({ usd }) => usd),
      ),
      counter(
        'halting_worker_tokens_total',
        'Tokens of runs that ended in this worker',
        byTenant(({ tokens }) => tokens),
      ),
      counter(
        'halting_worker_requests_total',
        'Requests to models of runs that ended in this worker',
        byTenant(({ requests }) => requests),
      ),
      counter(
        'halting_worker_tool_calls_total',
        'Tool calls of runs that ended in this worker',
        byTenant(({ toolCalls }) => toolCalls),
      ),
      counter(
        'halting_worker_engine_look_failures_total',
        'How often the administration of the engine failed to answer',
        [{ value: engineLookFailures }],
      ),
      ...processFamilies(),
    ]
  }
}

/** Uses the metric names of Prometheus' own client libraries. */
function processFamilies(): readonly MetricFamily[] {
  const { user, system } = cpuUsage()
  const { rss, heapUsed } = memoryUsage()
  return [
    counter('process_cpu_seconds_total', 'Processor time of the process in seconds', [
      { value: (user + system) / 1e6 },
    ]),
    gauge('process_resident_memory_bytes', 'Memory of the process in bytes', [{ value: rss }]),
    gauge('process_start_time_seconds', 'When the process began, in seconds since 1970', [
      { value: Date.now() / 1_000 - uptime() },
    ]),
    gauge('nodejs_heap_size_used_bytes', 'Heap of JavaScript that is used, in bytes', [{ value: heapUsed }]),
  ]
}

function gauge(name: string, help: string, samples: readonly Sample[]): MetricFamily {
  return { name, help, type: 'gauge', samples }
}

function counter(name: string, help: string, samples: readonly Sample[]): MetricFamily {
  return { name, help, type: 'counter', samples }
}

function add(all: Map<string, number>, key: string, by: number): void {
  all.set(key, (all.get(key) ?? 0) + by)
}
