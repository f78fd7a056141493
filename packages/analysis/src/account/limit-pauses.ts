import type { RaisableLimit, RunEvent } from '@halting/core'
import { isJsonObject, isRaisableLimit } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { recordedStep } from './recorded-steps.ts'
import { amountOf, momentOf } from './service-waits.ts'

// Pauses at a limit, from records alone. They are measured by the wall clock, because active time stops during a pause.

/** How a pause at a limit ended. */
export type LimitPauseEnd = Extract<RunEvent, { readonly type: 'limit_answered' }>['outcome']

/** A pause that has not ended. JSON. */
export interface OpenLimitPause {
  /** The request of the main loop. */
  readonly request: number
  /** Which limit it is. */
  readonly limit: RaisableLimit
  /** The amount used, in the unit of the limit. */
  readonly used: number
  /** The limit, in its unit. */
  readonly of: number
  /** When the pause began, in milliseconds since 1970. */
  readonly sinceMs: number
  /** Deadline for an answer, in milliseconds since 1970; null for none. */
  readonly untilMs: number | null
}

/** A pause that has ended. JSON. */
export interface RecordedLimitPause extends OpenLimitPause {
  /** Name of the step that ended the pause. */
  readonly name: string
  /** How the pause ended. */
  readonly outcome: LimitPauseEnd
  /** The new limit; null for no limit; absent when it was not raised. */
  readonly to?: number | null
  /** Milliseconds by the wall clock. */
  readonly waitedMs: number
}

/** Figures of the pauses of a run. JSON. */
export interface LimitPauseFigures {
  /** The pauses, in order. */
  readonly pauses: readonly RecordedLimitPause[]
  /** Milliseconds of all pauses together, by the wall clock. Not part of active time. */
  readonly ms: number
  /** The current pause of a run that has not ended; absent otherwise. */
  readonly open?: OpenLimitPause
}

const stepName = /^limit_(question|answer|end):(\d+):([A-Za-z]+):(\d+)$/

/** The longest plausible pause; anything longer is a corrupt record. */
const maxPauseMs = 100 * 366 * 86_400_000

/** Reads pauses from consecutive records. */
export class LimitPauseReader {
  /** The pause that has begun and not ended. */
  #asked: OpenLimitPause | undefined
  /** How the wait for an answer ended, and the limit that was set at its end. */
  #outcome: unknown
  #isWoken = false
  #to: unknown
  #isAborted = false

  /** The pause that this record ends; undefined for any other record. */
  read(record: StepRecord): RecordedLimitPause | undefined {
    if (record.type === 'control' && record.key.includes('/control:limit_answer:')) this.#set(record.control)
    if (record.type !== 'result' || !record.key.includes('/limit_')) return undefined
    const { name, scope } = recordedStep(record.key, 0, 0, false)
    const [, what, request = ''] = stepName.exec(name) ?? []
    if (scope !== '') return undefined
    if (what === 'question') this.#question(Number(request), record.value)
    if (what === 'answer' && isJsonObject(record.value)) {
      this.#outcome = record.value['outcome']
      this.#isWoken = this.#outcome === 'woken' && record.value['why'] === 'settings'
    }
    return what === 'end' ? this.#end(name, record.value) : undefined
  }

  get open(): OpenLimitPause | undefined {
    return this.#asked
  }

  #question(request: number, value: unknown): void {
    const { limit, used, of, sinceMs, untilMs } = isJsonObject(value) ? value : {}
    const since = momentOf(sinceMs)
    if (!isRaisableLimit(limit) || since === null) return
    this.#asked = {
      request,
      limit,
      used: amountOf(used),
      of: amountOf(of),
      sinceMs: since,
      untilMs: momentOf(untilMs),
    }
    this.#outcome = this.#to = undefined
    this.#isWoken = this.#isAborted = false
  }

  #set({ abort, settings }: Extract<StepRecord, { readonly type: 'control' }>['control']): void {
    const { limit } = this.#asked ?? {}
    this.#isAborted ||= abort !== undefined
    // A value that was read from a file may have any type.
    const set: { readonly [limit: string]: unknown } = settings?.limits ?? {}
    if (limit !== undefined) this.#to = set[limit]
  }

  #end(name: string, value: unknown): RecordedLimitPause | undefined {
    const open = this.#asked
    const endedMs = momentOf(value)
    this.#asked = undefined
    if (open === undefined || endedMs === null) return undefined
    const waitedMs = Math.min(maxPauseMs, Math.max(0, endedMs - open.sinceMs))
    const to = this.#raisedTo(open)
    const pause = { ...open, name, waitedMs }
    if (this.#isAborted || this.#outcome === 'aborted') return { ...pause, outcome: 'aborted' }
    if (to !== undefined) return { ...pause, outcome: 'raised', to }
    // The process died before the new limit was recorded: the run will pause again.
    if (this.#isWoken) return undefined
    if (this.#outcome === 'woken') return { ...pause, outcome: 'stopped' }
    return { ...pause, outcome: this.#outcome === 'over' ? 'over' : 'ended' }
  }

  #raisedTo({ used, of }: OpenLimitPause): number | null | undefined {
    const to = this.#to
    // JSON files store `Infinity` as null.
    if (to === null || to === Infinity) return null
    return typeof to === 'number' && to > Math.max(used, of) ? to : undefined
  }
}

/** Figures of the pauses; undefined for a run that never paused. */
export function limitPauseFigures(records: readonly StepRecord[]): LimitPauseFigures | undefined {
  const reader = new LimitPauseReader()
  const pauses = records.map((record) => reader.read(record)).filter((pause) => pause !== undefined)
  const hasEnded = records.some((record) => record.type === 'end' && record.scope === '')
  const open = hasEnded ? undefined : reader.open
  if (pauses.length === 0 && open === undefined) return undefined
  const ms = pauses.reduce((sum, { waitedMs }) => sum + waitedMs, 0)
  return { pauses, ms, ...(open !== undefined && { open }) }
}
