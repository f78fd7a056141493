import type { RaisableLimit, RunEvent } from '@halting/core'
import { isJsonObject, isRaisableLimit } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { recordedStep } from './recorded-steps.ts'
import { amountOf, momentOf } from './service-waits.ts'

// Pauses at a limit, from records alone. Their time is that of the wall clock: active time stands still in them.

/** How a pause at a limit ended. */
export type LimitPauseEnd = Extract<RunEvent, { readonly type: 'limit_answered' }>['outcome']

/** What a run asked when it paused. JSON. */
export interface OpenLimitPause {
  /** The request of the main loop. */
  readonly request: number
  /** Which limit it is. */
  readonly limit: RaisableLimit
  /** How much of it was used, and the limit, in its unit. */
  readonly used: number
  /** The limit, in its unit. */
  readonly of: number
  /** When it began, and until when an answer is waited for, in milliseconds since 1970; null where there is no end. */
  readonly sinceMs: number
  /** Until when an answer is waited for, in milliseconds since 1970; null for no end. */
  readonly untilMs: number | null
}

/** A pause that is over. JSON. */
export interface RecordedLimitPause extends OpenLimitPause {
  /** The name of the step with which it ended. */
  readonly name: string
  /** How the pause ended. */
  readonly outcome: LimitPauseEnd
  /** What the limit was raised to; null for no limit; absent where it was not raised. */
  readonly to?: number | null
  /** Milliseconds by the wall clock. */
  readonly waitedMs: number
}

/** What pauses of a run came to. JSON. */
export interface LimitPauseFigures {
  /** The pauses, in order. */
  readonly pauses: readonly RecordedLimitPause[]
  /** How long together, in milliseconds by the wall clock. It is no active time. */
  readonly ms: number
  /** Of a run that did not end, and pauses; absent otherwise. */
  readonly open?: OpenLimitPause
}

const stepName = /^limit_(question|answer|end):(\d+):([A-Za-z]+):(\d+)$/

/** No pause of a record is longer: what says so is nonsense. */
const longestPauseMs = 100 * 366 * 86_400_000

/** Reads pauses from records that come one after another. */
export class LimitPauseReader {
  /** What was asked and has no end yet. */
  #asked: OpenLimitPause | undefined
  /** How the wait for an answer ended, and what was set at its end. */
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
    // What was read from a file may be anything.
    const set: { readonly [limit: string]: unknown } = settings?.limits ?? {}
    if (limit !== undefined) this.#to = set[limit]
  }

  #end(name: string, value: unknown): RecordedLimitPause | undefined {
    const asked = this.#asked
    const endedMs = momentOf(value)
    this.#asked = undefined
    if (asked === undefined || endedMs === null) return undefined
    const waitedMs = Math.min(longestPauseMs, Math.max(0, endedMs - asked.sinceMs))
    const to = this.#raisedTo(asked)
    const pause = { ...asked, name, waitedMs }
    if (this.#isAborted || this.#outcome === 'aborted') return { ...pause, outcome: 'aborted' }
    if (to !== undefined) return { ...pause, outcome: 'raised', to }
    // It was set in a process that died before that was on record: the run asks again.
    if (this.#isWoken) return undefined
    if (this.#outcome === 'woken') return { ...pause, outcome: 'stopped' }
    return { ...pause, outcome: this.#outcome === 'over' ? 'over' : 'ended' }
  }

  #raisedTo({ used, of }: OpenLimitPause): number | null | undefined {
    const to = this.#to
    // `Infinity` is null in a file.
    if (to === null || to === Infinity) return null
    return typeof to === 'number' && to > Math.max(used, of) ? to : undefined
  }
}

/** Undefined for a run that never paused. */
export function limitPauseFigures(records: readonly StepRecord[]): LimitPauseFigures | undefined {
  const reader = new LimitPauseReader()
  const pauses = records.map((record) => reader.read(record)).filter((pause) => pause !== undefined)
  const hasEnded = records.some((record) => record.type === 'end' && record.scope === '')
  const open = hasEnded ? undefined : reader.open
  if (pauses.length === 0 && open === undefined) return undefined
  const ms = pauses.reduce((sum, { waitedMs }) => sum + waitedMs, 0)
  return { pauses, ms, ...(open !== undefined && { open }) }
}
