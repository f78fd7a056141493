import type { SdkResult } from '@halting/core'
import { PastOfRun, type FoldedPast, type StepRecord } from '@halting/core/steps'
import type { StoredRecord } from '../engine/packed-record.ts'

/** What an invocation leaves to the next one that goes on with its run: what the conversation does not tell. JSON. */
export interface CarriedState {
  /** The run that goes on. */
  readonly runId: string
  /** What the records of the run come to, up to its last lap. */
  readonly folds: FoldedPast
  /** Requests whose outcome is on record. */
  readonly settled: readonly number[]
  /** What the work has come to so far. */
  readonly results: readonly SdkResult[]
  readonly refused: readonly { readonly id: string; readonly because: string }[]
  /** Runs that ended on record, and whose result is not there. */
  readonly untold: readonly string[]
}

/** The run that goes on, as the next invocation finds it. */
export interface CarriedRun {
  /** Records of the runs that ended. */
  readonly ended: readonly StepRecord[]
  /** Those of the run that goes on: its start, and one lap in place of all (`folds`), but for the work of agents that go on beside it. None where no run goes on. */
  readonly open: readonly StepRecord[]
}

/** Puts together what was carried: the conversation, and the records of agents. */
export function restoreCarriedRun(
  conversation: readonly StepRecord[],
  carried: CarriedState | undefined,
  agents: readonly StepRecord[],
): CarriedRun {
  if (carried === undefined) return { ended: conversation, open: [] }
  const begin = conversation.findLastIndex((record) => record.type === 'start' && record.scope === '')
  const [start, ...others] = conversation.slice(begin)
  const laps = others.flatMap((record) => (record.type === 'lap' && record.lap.scope === '' ? [record.lap] : []))
  const last = laps.at(-1)
  // A run is left at a lap of its own.
  if (start === undefined || last === undefined) return { ended: conversation.slice(0, begin), open: others }
  const lap = { ...last, added: laps.flatMap(({ added }) => added) }
  const stages = others.filter(({ type }) => type === 'stage')
  return {
    ended: conversation.slice(0, begin),
    open: [start, ...stages, ...agents, { type: 'lap', lap, folds: carried.folds }],
  }
}

/** What of the records of a run its next invocation has to know, as they come. */
export class CarriedStateBuilder {
  readonly #past = new PastOfRun()
  #runId = ''
  /** Of steps since the last lap, and of agents that go on: others are over. */
  #steps: { readonly key: string; readonly kept: StoredRecord }[] = []

  constructor(carried?: CarriedState, agents: readonly { readonly key: string; readonly kept: StoredRecord }[] = []) {
    if (carried === undefined) return
    this.#runId = carried.runId
    this.#past.goOn(carried.folds)
    this.#steps = [...agents]
  }

  note(record: StepRecord, stored: StoredRecord): void {
    if (record.type === 'start' && record.scope === '') {
      this.#runId = record.start.run.runId
      this.#steps = []
    }
    this.#past.note(record)
    if ('key' in record) this.#steps.push({ key: record.key, kept: stored })
    if (record.type !== 'lap' || record.lap.scope !== '') return
    const prefixes = (record.lap.spent.openAgents ?? []).map(({ name }) => `${this.#runId}/${name}`)
    this.#steps = this.#steps.filter(({ key }) => prefixes.some((prefix) => key.startsWith(prefix)))
  }

  get runId(): string {
    return this.#runId
  }

  get folds(): FoldedPast {
    return this.#past.folded()
  }

  /** Right behind a lap: what agents that go on have done. */
  get agents(): readonly StoredRecord[] {
    return this.#steps.map(({ kept: stored }) => stored)
  }
}
