import { plus, type HeldBack } from '../budget/ledger.ts'
import type { CollapseStage } from '../context/port.ts'
import { usableSummary } from '../context/summary-text.ts'
import { after, type Eventually } from '../eventually.ts'
import { askModel, type Asked } from './request/ask-model.ts'
import { worstCase } from './request/charge.ts'
import { currentModel, outputCap } from './request/current-model.ts'
import { inputBoundOf } from './request/input-bound.ts'
import { problemOfQuestion, questionPlan } from './request/question.ts'
import { enterBill, enterCharge, OpenBill, type Bill } from './request/questions.ts'
import { heldBackBy } from './request/reserve.ts'
import type { Run } from './run.ts'
import type { Staging } from './staging.ts'

/** What a question beside a turn came to, as recorded. Its attempts have steps of their own. */
type StagingRecord = Bill & {
  readonly from: number
  readonly to: number
  readonly freedTokens: number
  /** Absent when nothing was asked, empty when what came cannot be used. */
  readonly summary?: string
}

const composite = Object.freeze({ onUnfinished: 'rerun', sync: 'none', composite: true } as const)
const lostRecord: StagingRecord = Object.freeze({ from: 0, to: 0, freedTokens: 0, charges: [], told: [] })

function stagingName({ spent }: Run): string {
  return `stage:${spent.request}`
}

/** True when a resumed run has a summary of this turn on record; it is entered again when the turn ends. */
export function recordedStaging(run: Run): boolean {
  const name = stagingName(run)
  if (!run.ports.isResumed || run.ports.steps.peek(run.key(name)) !== 'done') return false
  run.staging = new SummaryBeside(run, name, Promise.resolve(lostRecord))
  return true
}

/** True when a resumed run has the question on record: it is paid, and its answer is used. Of another span it is another question. */
export function isStagingAsked(run: Run, stage: CollapseStage): boolean {
  return run.isRecorded(`${questionName(stagingName(run), stage)}.1`)
}

function questionName(name: string, { from, to }: CollapseStage): string {
  return `${name}/${from}-${to}`
}

/** Begins to ask for a summary. Nobody waits for it before the end of the turn. */
export function startStaging(run: Run, stage: CollapseStage): void {
  const name = stagingName(run)
  run.staging = new SummaryBeside(run, name, ask(run, stage, name))
}

/** Waits for what goes on beside this turn, if something does. */
export function joinStaging(run: Run): Eventually<undefined> {
  const { staging } = run
  run.staging = undefined
  return staging?.join()
}

/** A summary of finished work that is made beside a turn: joined, and entered, at its end. */
class SummaryBeside implements Staging {
  readonly #run: Run
  readonly #name: string
  readonly #record: Promise<StagingRecord>
  /** Compactions when it began: with another since, the messages that it is of are no more. */
  readonly #compactions: number

  constructor(run: Run, name: string, record: Promise<StagingRecord>) {
    this.#run = run
    this.#name = name
    this.#record = record
    this.#compactions = run.spent.compactions
    // Who joins it hears of a driver that fails; a run that breaks before does not.
    record.catch(() => {})
  }

  join(): Eventually<undefined> {
    return this.#record.then((record) =>
      after(
        this.#run.step<StagingRecord>(this.#name, () => record, composite),
        ({ value }) => this.#enter(value),
      ),
    )
  }

  async leave(): Promise<void> {
    const { charges } = await this.#record.catch(() => lostRecord)
    for (const charge of charges) enterCharge(this.#run, charge)
  }

  #enter(record: StagingRecord): undefined {
    const run = this.#run
    const { from, to, freedTokens, summary } = record
    enterBill(run, record)
    if (summary === undefined || run.spent.compactions !== this.#compactions) return undefined
    run.append({ kind: 'collapse_staged', id: run.entryId('collapse'), from, to, summary, freedTokens })
    return undefined
  }
}

async function ask(run: Run, stage: CollapseStage, name: string): Promise<StagingRecord> {
  const { from, to, freedTokens, question } = stage
  const bill = new OpenBill()
  const { charges, told } = bill
  const span = { from, to, freedTokens, charges, told }
  if (problemOfQuestion(run, question) !== undefined) return span
  const model = question.model ?? currentModel(run)
  const plan = questionPlan(run, question, model, questionName(name, stage))
  const heldBack = withNextRequest(run)
  const asked = await askModel(run, { ...plan, isBeside: true, heldBack: () => heldBack }, bill.asker(`${name}/retry`))
  const summary = summaryOf(asked)
  return summary === undefined ? span : { ...span, summary }
}

/** It leaves room for the turn's own request: a summary that nobody waits for ends no run. */
function withNextRequest(run: Run): HeldBack {
  const model = currentModel(run)
  const next = run.ports.ledger.limited
    ? worstCase(run, model, inputBoundOf(run, model), outputCap(run, model))
    : { nanos: 0, tokens: 0 }
  const held = heldBackBy(run)
  return (output) => (held === undefined ? next : plus(held(output), next))
}

/** Empty where it was asked for in vain: that is kept, so that no later turn pays for the same again. */
function summaryOf(asked: Asked): string | undefined {
  switch (asked.kind) {
    case 'answered':
      return usableSummary(asked.message) ?? ''
    case 'failed':
    case 'overloaded':
      return ''
    case 'over_budget':
    case 'aborted':
      return undefined
  }
}
