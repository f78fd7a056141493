import type { CollapseStage } from '../context/context-manager.ts'
import { summaryOfReply } from '../context/summarize.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import { askModel, type RequestOutcome } from '../request/ask-model.ts'
import { restoreForAgent } from '../request/charge.ts'
import { currentModel } from '../request/current-model.ts'
import { problemOfQuestion, questionPlan } from '../request/question.ts'
import { OpenBill, type Bill } from '../run/request-bill.ts'
import { askerFor, enterBill, enterCharge } from '../request/questions.ts'
import { reservesForNextRequest } from '../request/reserve.ts'
import type { Run, Staging } from '../run/run.ts'

/** The recorded outcome of a summary that is made during a turn. Its request attempts have their own steps. */
type StagingRecord = Bill & {
  readonly from: number
  readonly to: number
  readonly freedTokens: number
  /** Absent when no request was made, empty when the reply cannot be used. */
  readonly summary?: string
}

const composite = Object.freeze({ onUnfinished: 'rerun', sync: 'none', composite: true } as const)
const placeholderRecord: StagingRecord = Object.freeze({ from: 0, to: 0, freedTokens: 0, charges: [], told: [] })

function stagingName({ spent }: Run): string {
  return `stage:${spent.request}`
}

/** True when a resumed run has recorded a summary for this turn. It is entered again when the turn ends. */
export function recordedStaging(run: Run): boolean {
  const name = stagingName(run)
  if (!run.ports.isResumed || run.ports.steps.peek(run.key(name)) !== 'done') return false
  run.staging = new BackgroundSummary(run, name, Promise.resolve(placeholderRecord))
  return true
}

/**
 * True when a resumed run has recorded this request. It is already paid, and its answer is used. A request for a
 * different span counts as a different request.
 */
export function isStagingAsked(run: Run, stage: CollapseStage): boolean {
  return run.isRecorded(`${questionName(stagingName(run), stage)}.1`)
}

function questionName(name: string, { from, to }: CollapseStage): string {
  return `${name}/${from}-${to}`
}

/** Starts the request for a summary. Nothing waits for it before the end of the turn. */
export function startStaging(run: Run, stage: CollapseStage): void {
  const name = stagingName(run)
  run.staging = new BackgroundSummary(run, name, requestSummary(run, stage, name))
}

/** Waits for the summary that is made during this turn, if there is one. */
export function joinStaging(run: Run): MaybePromise<undefined> {
  const { staging } = run
  run.staging = undefined
  return staging?.join()
}

/** A summary of finished work that is made during a turn. It is joined and entered at the end of the turn. */
class BackgroundSummary implements Staging {
  readonly #run: Run
  readonly #name: string
  readonly #record: Promise<StagingRecord>
  /** Number of compactions when the summary was started. If another compaction ran since, the summarized messages no longer exist. */
  readonly #compactions: number

  constructor(run: Run, name: string, record: Promise<StagingRecord>) {
    this.#run = run
    this.#name = name
    this.#record = record
    this.#compactions = run.spent.compactions
    // `join` reports a failure of the step engine. If the run breaks before that, the failure is ignored.
    record.catch(() => {})
  }

  join(): MaybePromise<undefined> {
    return this.#record.then((record) =>
      andThen(
        this.#run.step<StagingRecord>(this.#name, () => record, composite),
        ({ value, replayed }) => {
          if (replayed) restoreForAgent(this.#run, value.charges)
          return this.#enter(value)
        },
      ),
    )
  }

  async abandon(): Promise<void> {
    const { charges } = await this.#record.catch(() => placeholderRecord)
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

async function requestSummary(run: Run, stage: CollapseStage, name: string): Promise<StagingRecord> {
  const { from, to, freedTokens, question } = stage
  const bill = new OpenBill()
  const { charges, told: events } = bill
  const span = { from, to, freedTokens, charges, told: events }
  if (problemOfQuestion(run, question) !== undefined) return span
  const model = question.model ?? currentModel(run)
  const plan = questionPlan(run, question, model, questionName(name, stage))
  // A failed optional summary must not end the run, so its request leaves room for the next request.
  const reserves = reservesForNextRequest(run)
  const asked = await askModel(
    run,
    { ...plan, isConcurrent: true, isOptional: true, reserves: () => reserves },
    askerFor(bill, `${name}/retry`),
  )
  const summary = summaryOf(asked)
  return summary === undefined ? span : { ...span, summary }
}

/** Empty when the request was made but failed. The record prevents a later turn from paying for it again. */
function summaryOf(asked: RequestOutcome): string | undefined {
  switch (asked.kind) {
    case 'answered':
      return summaryOfReply(asked.message) ?? ''
    case 'failed':
    case 'overloaded':
      return ''
    case 'over_budget':
    case 'aborted':
      return undefined
  }
}
