import type { SdkResult } from '@halting/core'
import { RunTotals, type FoldedPast, type StepRecord } from '@halting/core/steps'
import type { StoredRecord } from '../engine/packed-record.ts'

/** What an invocation leaves to the next one that continues its run, in addition to the conversation. JSON. */
export interface CarriedState {
  /** The run that continues. */
  readonly runId: string
  /** The folded records of the run, up to its last iteration. */
  readonly folds: FoldedPast
  /** Numbers of the requests whose outcome is on record. */
  readonly settled: readonly number[]
  /** Results of the work so far. */
  readonly results: readonly SdkResult[]
  readonly refused: readonly { readonly id: string; readonly because: string }[]
  /** Runs that ended on record, and whose result is not on record. */
  readonly untold: readonly string[]
}

/** The run that continues, as the next invocation finds it. */
export interface CarriedRun {
  /** Records of the finished runs. */
  readonly ended: readonly StepRecord[]
  /** Records of the run that continues: its start, one iteration in place of all (`folds`), and the work of its running agents. Empty if no run continues. */
  readonly open: readonly StepRecord[]
}

/** Restores the carried run from the conversation and the records of its agents. */
export function restoreCarriedRun(
  conversation: readonly StepRecord[],
  carried: CarriedState | undefined,
  agents: readonly StepRecord[],
): CarriedRun {
  if (carried === undefined) return { ended: conversation, open: [] }
  const begin = conversation.findLastIndex((record) => record.type === 'start' && record.scope === '')
  const [start, ...others] = conversation.slice(begin)
  const iterations = others.flatMap((record) => (record.type === 'lap' && record.lap.scope === '' ? [record.lap] : []))
  const last = iterations.at(-1)
  // A run is left at one of its own iterations.
  if (start === undefined || last === undefined) return { ended: conversation.slice(0, begin), open: others }
  const lap = { ...last, added: iterations.flatMap(({ added }) => added) }
  const stages = others.filter(({ type }) => type === 'stage')
  return {
    ended: conversation.slice(0, begin),
    open: [start, ...stages, ...agents, { type: 'lap', lap, folds: carried.folds }],
  }
}

/** Collects from the records of a run what the next invocation has to know. */
export class CarriedStateBuilder {
  readonly #past = new RunTotals()
  #runId = ''
  /** Records of steps since the last iteration, and of running agents: other steps are over. */
  #steps: { readonly key: string; readonly kept: StoredRecord }[] = []

  constructor(carried?: CarriedState, agents: readonly { readonly key: string; readonly kept: StoredRecord }[] = []) {
    if (carried === undefined) return
    this.#runId = carried.runId
    this.#past.continueFrom(carried.folds)
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

  /** Records of running agents. Valid right after an iteration. */
  get agents(): readonly StoredRecord[] {
    return this.#steps.map(({ kept: stored }) => stored)
  }
}
