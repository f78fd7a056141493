import type { Account } from '../account/account.ts'
import { serviceWaits, type ServiceWaitEnd } from '../account/service-waits.ts'
import type { StepRecord } from '@halting/core/steps'
import type { Report, RunName, ServiceWaitRow, ServiceWaitSums } from './report-model.ts'

type WaitTally = { -readonly [field in keyof ServiceWaitRow]: ServiceWaitRow[field] }

/** Sums up waits for services, pauses at limits, and runs that ended because a service refused a request and named a time to retry. */
export class WaitSums {
  #runs = 0
  #ms = 0
  #waits = 0
  #longest: ServiceWaitSums['longest'] = null
  readonly #ends: { -readonly [outcome in ServiceWaitEnd]: number } = {
    over: 0,
    retried: 0,
    model: 0,
    stopped: 0,
    aborted: 0,
  }
  readonly #byModel = new Map<string, WaitTally>()
  readonly #byCause = new Map<string, WaitTally>()
  readonly #waiting: ServiceWaitSums['waiting'][number][] = []
  readonly #pauses = { runs: 0, pauses: 0, ms: 0, raised: 0 }
  readonly #openPauses: RunName[] = []
  readonly #ended = { runs: 0, nanos: 0, wentOn: 0, retryAt: null as string | null }

  add(records: readonly StepRecord[], account: Account, name: RunName, wentOn: boolean): void {
    this.#addEnding(account, name, wentOn)
    this.#addPauses(account, name)
    const { serviceWaits: figures } = account
    if (figures === undefined) return
    const [open] = figures.open ?? []
    if (open !== undefined) this.#waiting.push({ ...name, until: new Date(open.untilMs).toISOString() })
    if (figures.waits === 0) return
    this.#runs++
    this.#ms += figures.ms
    this.#waits += figures.waits
    for (const { model, kind, status, outcome, waitedMs } of serviceWaits(records)) {
      this.#ends[outcome]++
      if (waitedMs > (this.#longest?.ms ?? -1)) this.#longest = { ...name, ms: waitedMs }
      addTo(this.#byModel, model, waitedMs)
      addTo(this.#byCause, [...(status === null ? [] : [String(status)]), kind].join(' ').trim(), waitedMs)
    }
  }

  #addPauses({ limitPauses }: Account, name: RunName): void {
    if (limitPauses === undefined) return
    if (limitPauses.open !== undefined) this.#openPauses.push(name)
    const { pauses, ms } = limitPauses
    const sum = this.#pauses
    sum.runs += pauses.length > 0 ? 1 : 0
    sum.pauses += pauses.length
    sum.ms += ms
    sum.raised += pauses.filter(({ outcome }) => outcome === 'raised').length
  }

  #addEnding({ ending }: Account, { costUsd }: RunName, wentOn: boolean): void {
    if (ending?.retryAt === undefined) return
    const ended = this.#ended
    ended.runs++
    ended.nanos += Math.round(costUsd * 1e9)
    if (wentOn) ended.wentOn++
    if (ended.retryAt === null || Date.parse(ending.retryAt) > Date.parse(ended.retryAt)) ended.retryAt = ending.retryAt
  }

  get pauses(): Report['limitPauses'] {
    return { ...this.#pauses, open: this.#openPauses }
  }

  get serviceWaits(): ServiceWaitSums {
    const { runs, nanos, wentOn, retryAt } = this.#ended
    return {
      runs: this.#runs,
      waits: this.#waits,
      ms: this.#ms,
      longest: this.#longest,
      ends: { ...this.#ends },
      byModel: longestFirst(this.#byModel),
      byCause: longestFirst(this.#byCause),
      waiting: this.#waiting,
      ended: { runs, costUsd: nanos / 1e9, wentOn, retryAt },
    }
  }
}

function addTo(rows: Map<string, WaitTally>, name: string, ms: number): void {
  const row = rows.get(name) ?? { name, waits: 0, ms: 0, longestMs: 0 }
  rows.set(name, row)
  row.waits++
  row.ms += ms
  row.longestMs = Math.max(row.longestMs, ms)
}

function longestFirst(rows: ReadonlyMap<string, WaitTally>): readonly ServiceWaitRow[] {
  return [...rows.values()].toSorted((a, b) => b.ms - a.ms || b.waits - a.waits || a.name.localeCompare(b.name))
}
