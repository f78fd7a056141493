import type { RunEvent } from '@halting/core'
import { isJsonObject, longestWaitForLimitsMs } from '@halting/core/adapters'
import type { RunLimits, StepRecord } from '@halting/core/steps'
import { recordedStep } from './recorded-steps.ts'

// Waits for services that are rate-limited or unavailable, from records alone. They are measured by the wall clock, because active time stops during
// a wait.

/** What ended a wait: its deadline (`over`), a person who retried or chose another model, a stop, or an abort. */
export type ServiceWaitEnd = Extract<RunEvent, { readonly type: 'service_waited' }>['outcome']

/** The refusal that a run waited for. JSON. */
export interface ServiceRefusal {
  /** The model of the request; '' where the record does not say. */
  readonly model: string
  /** The kind of the failure, such as `rate_limit`; '' where the record does not say. */
  readonly kind: string
  /** HTTP status; null when no connection was made, or when the record does not say. */
  readonly status: number | null
  /** The message of the service; at most 500 characters. */
  readonly message: string
  /** The delay that the service requested, in milliseconds; 0 for none. */
  readonly saidMs: number
}

/** A wait for a service that has ended. JSON. */
export interface RecordedServiceWait extends ServiceRefusal {
  /** '' for the main loop, else the path of agents. */
  readonly scope: string
  /** Its name within the scope. */
  readonly name: string
  /** What ended it. */
  readonly outcome: ServiceWaitEnd
  /** Milliseconds by the wall clock. */
  readonly waitedMs: number
  /** When it ended, in milliseconds since 1970; null where the record does not say. */
  readonly endedMs: number | null
}

/** A wait without a recorded result: the run is waiting, or its process was killed. JSON. */
export interface OpenServiceWait extends ServiceRefusal {
  /** '' for the main loop, else the path of agents. */
  readonly scope: string
  /** When the wait began, in milliseconds since 1970. */
  readonly sinceMs: number
  /** When the wait ends at the latest, in milliseconds since 1970. */
  readonly untilMs: number
}

/** Sums of the waits for one model and one kind of failure. JSON. */
export interface ServiceWaitCause extends Omit<ServiceRefusal, 'message' | 'saidMs'> {
  /** Waits that have ended. */
  readonly waits: number
  /** Milliseconds of all of them together. */
  readonly ms: number
  /** Milliseconds of the longest. */
  readonly longestMs: number
}

/** Figures of a run's waits for services. JSON. */
export interface ServiceWaitFigures {
  /** Waits that have ended. */
  readonly waits: number
  /** Milliseconds of all waits by the wall clock; overlapping waits count once. Not part of active time. */
  readonly ms: number
  /** Milliseconds of the longest wait. */
  readonly longestMs: number
  /** The longest total wait that the run allows, in milliseconds; null when the record does not say. */
  readonly maxMs: number | null
  /** Number of waits by what ended them; `over`: the deadline passed. */
  readonly ends: { readonly [outcome in ServiceWaitEnd]: number }
  /** Sums by model and failure, the longest first. Overlapping waits count separately. */
  readonly causes: readonly ServiceWaitCause[]
  /** Waits without a result of a run that has not ended, the latest deadline first; absent for none. */
  readonly open?: readonly OpenServiceWait[]
}

/** The longest plausible delay that a service may ask for. */
const maxReportedMs = 1e13

/** The end of the year 9999. */
const maxMomentMs = 253_402_300_799_999

/** `retry:3.2.service` of a run or agent, and `…/retry:1.2.service` of a step that asks a model. */
const waitName = /^(.*\/)?retry:([^/]+)\.(\d+)\.service$/s

const attemptName = /^(?:model|wrap_up):\d+\.(\d+)$/

/** Reads waits for services from consecutive records. */
export class ServiceWaitReader {
  /** The last failed attempts, by the key under which a wait looks them up. */
  readonly #failed = new Map<string, ServiceRefusal>()
  readonly #open = new Map<string, OpenServiceWait>()

  /** The wait that this record ends; undefined for any other record. */
  read(record: StepRecord): RecordedServiceWait | undefined {
    if (record.type === 'intent') this.#began(record)
    if (record.type !== 'result' || !isJsonObject(record.value)) return undefined
    const { key, value } = record
    if (value['kind'] === 'failed') this.#attemptFailed(key, value)
    const place = placeOf(key)
    if (place === undefined || typeof value['waitedMs'] !== 'number') return undefined
    this.#open.delete(key)
    const ended = momentOf(value['endedMs'])
    return {
      ...this.#refusalAt(place.attempt),
      scope: place.scope,
      name: place.name,
      outcome: endOf(value),
      // Cap corrupt values.
      waitedMs: Math.min(longestWaitForLimitsMs, amountOf(value['waitedMs'])),
      // Zero is recorded for a wait without a deadline.
      endedMs: ended === 0 ? null : ended,
    }
  }

  /** Waits that began and have not ended, the latest deadline first. */
  get open(): readonly OpenServiceWait[] {
    return [...this.#open.values()].toSorted((a, b) => b.untilMs - a.untilMs)
  }

  /** The open wait with this key. */
  openAt(key: string): OpenServiceWait | undefined {
    return this.#open.get(key)
  }

  #began({ key, intent }: Extract<StepRecord, { readonly type: 'intent' }>): void {
    const place = placeOf(key)
    if (place === undefined || !isJsonObject(intent)) return
    const [sinceMs, untilMs] = [momentOf(intent['since']), momentOf(intent['until'])]
    if (sinceMs === null || untilMs === null) return
    this.#open.set(key, { ...this.#refusalAt(place.attempt), scope: place.scope, sinceMs, untilMs })
  }

  #attemptFailed(key: string, { error, charge }: { readonly [field: string]: unknown }): void {
    const { kind, status, message, retryAfterMs } = isJsonObject(error) ? error : {}
    const model = isJsonObject(charge) ? charge['model'] : undefined
    this.#failed.set(attemptPlaceOf(key), {
      model: textOf(model).slice(0, 200),
      kind: textOf(kind).slice(0, 100),
      status: typeof status === 'number' ? status : null,
      message: textOf(message).slice(0, 500),
      saidMs: Math.min(maxReportedMs, amountOf(retryAfterMs)),
    })
  }

  #refusalAt(attempt: string): ServiceRefusal {
    return this.#failed.get(attempt) ?? unknownRefusal
  }
}

const unknownRefusal: ServiceRefusal = Object.freeze({ model: '', kind: '', status: null, message: '', saidMs: 0 })

/** The ended waits of a run and its agents, in the order in which they ended. */
export function serviceWaits(records: readonly StepRecord[]): readonly RecordedServiceWait[] {
  const reader = new ServiceWaitReader()
  return records.map((record) => reader.read(record)).filter((wait) => wait !== undefined)
}

/** Whether a step of this name is a wait for a service. */
export function isServiceWait(name: string): boolean {
  return name.endsWith('.service') && waitName.test(name)
}

/** Figures of the waits; undefined for a run that never waited for a service. */
export function serviceWaitFigures(
  records: readonly StepRecord[],
  { waitForLimitsMs }: Pick<RunLimits, 'waitForLimitsMs'>,
): ServiceWaitFigures | undefined {
  const reader = new ServiceWaitReader()
  const waits = records.map((record) => reader.read(record)).filter((wait) => wait !== undefined)
  const hasEnded = records.some((record) => record.type === 'end' && record.scope === '')
  const open = hasEnded ? [] : reader.open
  if (waits.length === 0 && open.length === 0) return undefined
  const ends = { over: 0, retried: 0, model: 0, stopped: 0, aborted: 0 }
  for (const { outcome } of waits) ends[outcome]++
  return {
    waits: waits.length,
    ms: unionMs(waits),
    longestMs: Math.max(0, ...waits.map(({ waitedMs }) => waitedMs)),
    maxMs: waitForLimitsMs ?? null,
    ends,
    causes: causesOf(waits),
    ...(open.length > 0 && { open }),
  }
}

/** Milliseconds during which at least one wait was in progress. */
function unionMs(waits: readonly RecordedServiceWait[]): number {
  const spans = waits
    .flatMap(({ endedMs, waitedMs }) => (endedMs === null ? [] : [{ from: endedMs - waitedMs, to: endedMs }]))
    .toSorted((a, b) => a.from - b.from)
  let [ms, until] = [0, 0]
  for (const { from, to } of spans) {
    ms += Math.max(0, to - Math.max(from, until))
    until = Math.max(until, to)
  }
  return waits.reduce((sum, { endedMs, waitedMs }) => sum + (endedMs === null ? waitedMs : 0), ms)
}

function causesOf(waits: readonly RecordedServiceWait[]): readonly ServiceWaitCause[] {
  const causes = new Map<string, { -readonly [field in keyof ServiceWaitCause]: ServiceWaitCause[field] }>()
  for (const { model, kind, status, waitedMs } of waits) {
    const key = causeKey({ model, kind, status })
    const cause = causes.get(key) ?? { model, kind, status, waits: 0, ms: 0, longestMs: 0 }
    causes.set(key, cause)
    cause.waits++
    cause.ms += waitedMs
    cause.longestMs = Math.max(cause.longestMs, waitedMs)
  }
  return [...causes.values()].toSorted((a, b) => b.ms - a.ms || b.waits - a.waits)
}

/** Key that identifies a cause. */
function causeKey({ model, kind, status }: Pick<ServiceRefusal, 'model' | 'kind' | 'status'>): string {
  return JSON.stringify([model, kind, status])
}

interface WaitPlace {
  readonly scope: string
  readonly name: string
  /** Key of the attempt before the wait. */
  readonly attempt: string
}

function placeOf(key: string): WaitPlace | undefined {
  if (!key.endsWith('.service')) return undefined
  const { scope, name } = recordedStep(key, 0, 0, false)
  // A model chooses the ids of its calls, and an id may look like the step of another call. The result of such a step has another shape.
  const [, question, own = '', attempt = ''] = waitName.exec(name) ?? []
  if (attempt === '') return undefined
  const before = key.slice(0, key.length - name.length)
  return {
    scope,
    name,
    attempt: question === undefined ? `${before}.${attempt}` : `${before}${question}${own}.${attempt}`,
  }
}

/** The final answer of a run has another step name, but its waits are recorded under this one. */
function attemptPlaceOf(key: string): string {
  const { name } = recordedStep(key, 0, 0, false)
  const attempt = attemptName.exec(name)?.[1]
  return attempt === undefined ? key : `${key.slice(0, key.length - name.length)}.${attempt}`
}

const endsByWord: ReadonlySet<unknown> = new Set<ServiceWaitEnd>(['retried', 'model', 'stopped'])

/** Reads the result of the step in the same way as core. */
function endOf({ outcome, why }: { readonly [field: string]: unknown }): ServiceWaitEnd {
  if (outcome === 'aborted' || outcome === 'over') return outcome
  // It is one of the set.
  return endsByWord.has(why) ? (why as ServiceWaitEnd) : 'retried'
}

/** A time in milliseconds since 1970, up to the year 9999; null for anything else. */
export function momentOf(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 && value <= maxMomentMs ? value : null
}

/** A positive number; zero for anything else. */
export function amountOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
