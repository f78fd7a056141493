import { ConfigurationError, HaltingError } from '@halting/core'
import { budgetName, countsModel } from '@halting/core/adapters'
import { nanosOf } from '@halting/core/steps'
import type { PastSession } from '../sessions/read-session.ts'
import type { ManySessions } from '../sessions/session-files.ts'
import { answerRuns, pastRunsOf, type AnsweredRuns, type PastRun, type WantedAnswers } from './answer-runs.ts'
import { cutPayment } from './budget-stops.ts'
import { mayChange } from './changing-calls.ts'
import type { PeriodSpent } from './period-account.ts'
import { loggedRequest, momentOf, RequestLog, type LoggedRequest } from './request-log.ts'
import type { RunAnswer } from './run-answer.ts'
import { localTime, type StandingLimit } from './standing-limits.ts'
import { standingStops, type StandingStop } from './standing-stops.ts'
import { answerOfStop, type WhatIf } from './what-if.ts'

/** The effect of standing budgets on all sessions together. */
export interface AnsweredBudgets extends AnsweredRuns {
  /** Spending by budget, and then by day or month. */
  readonly periods: readonly PeriodSpent[]
  /** Runs without a recorded time: no period includes their spending. */
  readonly undated: number
}

/**
 * The effect that standing budgets would have had: replays the requests of all sessions in chronological order. All requests stay in memory as
 * numbers; sessions with a run that would have been stopped are read again.
 * @throws ConfigurationError for invalid budgets.
 */
export async function answerBudgets(
  sessions: ManySessions<PastSession>,
  budgets: readonly StandingLimit[],
  copies: WantedAnswers['copies'],
): Promise<AnsweredBudgets> {
  for (const budget of budgets) checkLimit(budget)
  const runs = new DatedRuns(budgets)
  const answered = await answerRuns(sessions, { limits: {}, suggests: false, copies, see: (run) => runs.add(run) })
  const { stops, periods } = standingStops(runs.log, budgets, runs.models)
  const answers = answered.answers.map((each, run) => (runs.isUnknown(run) ? withUnknown(each, runs.whyOf(run)) : each))
  const skipped = [...answered.skipped]
  let [file, runsOfFile]: [string, readonly PastRun[]] = ['', []]
  for (const [run, each] of answers.entries()) {
    const stop = stops.get(run)
    if (stop === undefined) continue
    if (each.file !== file) {
      file = each.file
      runsOfFile = await readAgain(sessions, file, skipped)
    }
    const past = runsOfFile.find((one) => one.run === each.run)
    answers[run] =
      past === undefined ? withUnknown(each, 'undated') : { ...each, answer: answerFor(past, stop, budgets) }
  }
  return { ...answered, answers, skipped, periods, undated: runs.undated }
}

/** The runs of one session. If it can no longer be read, the reason is added to `skipped`. */
async function readAgain(
  sessions: ManySessions<PastSession>,
  file: string,
  skipped: string[],
): Promise<readonly PastRun[]> {
  try {
    return pastRunsOf(await sessions.read(file), file).runs
  } catch (error) {
    if (!(error instanceof HaltingError)) throw error
    skipped.push(error.message)
    return []
  }
}

/** Callers in plain JavaScript may pass anything. */
function checkLimit({ per, usd, model }: StandingLimit): void {
  const isPeriod = per === 'day' || per === 'month'
  const isModel = model === undefined || (typeof model === 'string' && model !== '')
  if (isPeriod && usd > 0 && isModel) return
  throw new ConfigurationError(
    `A standing budget is { per: 'day' or 'month', usd: above 0, model?: a name with * }, but this is ${JSON.stringify({ per, usd, model })}.`,
  )
}

type WhyUnknown = 'undated' | 'unpriced' | 'standing'

/** The runs that were read, by number, and those of their requests that have a time. */
class DatedRuns {
  readonly log: RequestLog = new RequestLog()
  readonly models: string[] = []
  undated = 0
  readonly #budgets: readonly StandingLimit[]
  readonly #modelNumbers = new Map<string, number>()
  readonly #unknown = new Map<number, WhyUnknown>()
  #runs = 0

  constructor(budgets: readonly StandingLimit[]) {
    this.#budgets = budgets
  }

  add({ trajectory, clock, unpriced }: PastRun): void {
    const run = this.#runs++
    const requests: LoggedRequest[] = []
    for (const [turn, { payments }] of trajectory.turns.entries()) {
      for (const [place, payment] of payments.entries()) {
        const model = this.#modelNumber(payment.model)
        const request = loggedRequest(payment, { run, turn, place, model }, clock)
        if (request !== undefined) requests.push(request)
      }
    }
    this.log.add(requests.toSorted((a, b) => a.beganAt - b.beganAt))
    const isPaid = trajectory.turns.some(({ payments }) => payments.length > 0)
    const isUndated = isPaid && momentOf(clock, 0) === undefined
    if (isUndated) this.undated++
    const isUnpriced = unpriced.some((model) => this.#budgets.some((budget) => countsModel(budget, model)))
    if (isUndated || isUnpriced) this.#unknown.set(run, isUndated ? 'undated' : 'unpriced')
    else if (trajectory.ending?.isOfStandingBudget === true) this.#unknown.set(run, 'standing')
  }

  isUnknown(run: number): boolean {
    return this.#unknown.has(run)
  }

  whyOf(run: number): WhyUnknown {
    return this.#unknown.get(run) ?? 'undated'
  }

  #modelNumber(model: string): number {
    const known = this.#modelNumbers.get(model)
    if (known !== undefined) return known
    this.#modelNumbers.set(model, this.models.length)
    return this.models.push(model) - 1
  }
}

/** Marks an answer as unknown. A run that a standing budget stopped might have continued under these budgets. */
function withUnknown(answer: RunAnswer, why: WhyUnknown): RunAnswer {
  const unknownFrom = why === 'standing' ? null : { turn: 1, why }
  return { ...answer, answer: { ...answer.answer, verdict: 'unknown', reason: null, unknownFrom } }
}

function answerFor(past: PastRun, stop: StandingStop, budgets: readonly StandingLimit[]): WhatIf {
  const { request, cutAt, usedUsd, resetsAt, notMade, isAtTheLatest } = stop
  const { trajectory } = past
  const budget = budgets[stop.budget]
  const payment = trajectory.turns[request.turn]?.payments[request.place]
  if (budget === undefined || payment === undefined) throw new RangeError('A session changed while it was read.')
  const by = {
    budget: budgetName(budget),
    at: localTime(request.beganAt),
    resetsAt: localTime(resetsAt),
    notMade,
  }
  const answer = answerOfStop(
    trajectory,
    {
      kind: 'stop',
      reason: 'max_budget_usd',
      limit: 'standing',
      used: usedUsd,
      max: nanosOf(budget.usd) / 1e9,
      wholeTurns: request.turn,
      atMs: cutAt === null ? payment.beganMs : payment.endMs,
      cut: { atPayment: request.place, paid: cutAt === null ? null : cutPayment(payment, cutAt) },
      ...(isAtTheLatest && { mayStopAt: request.turn }),
    },
    { changes: mayChange },
  )
  if (request.isOwn) return { ...answer, standing: by }
  // The request of a subagent, a compaction, a tool or a hook would have been refused; the effect on the run is unknown.
  const turn = trajectory.turns.slice(0, request.turn + 1).filter(({ isTold }) => isTold).length
  const nothing = { changes: {}, calls: 0, answer: false }
  const unknown = { verdict: 'unknown', reason: null, by: null, unknownFrom: { turn, why: 'beside' } } as const
  return { ...answer, ...unknown, isAtTheLatest: false, lost: nothing, standing: by }
}
