import { programNames, type ForeignSession } from '../foreign/session.ts'
import type { SessionKind } from '../foreign/read-foreign.ts'
import { stagesOf, type RecordedStage } from '@halting/core/after'
import { noUsage, totalTokensOf } from '@halting/core/adapters'
import { endings, HaltingError } from '@halting/core'
import { isCopiedRun } from '../account/copied-run.ts'
import type { StepRecord } from '@halting/core/steps'
import { copiesLeftOut } from '../words/what-if-words.ts'
import { recordedText, skippedText, unpricedText } from '../foreign/foreign-text.ts'
import type { AnySession } from '../sessions/read-session.ts'
import { runOutcomes } from '../grades/run-outcome.ts'
import { ungraded, type GradingSources } from '../grades/graded-runs.ts'
import { CalibrationSums } from '../calibration/calibrate-sessions.ts'
import { BudgetSums, LimitSums } from './limit-sums.ts'
import { GoalSums, VerificationSums } from './goal-sums.ts'
import { dayOf, isWithin, type Period } from './period.ts'
import { runFactsOf, type RunFacts } from './run-facts.ts'
import { paidFor, Sum, SumsBy, SumsByModel, type Paid } from './sums.ts'
import { TighterLimits } from './tighter-limits.ts'
import type { EndingRow, Report, SessionSpent, Outlier } from './report-model.ts'
import { ServiceSums, ToolSums } from './tool-sums.ts'
import { WaitSums } from './wait-sums.ts'
import { isAbsolute, relative } from 'node:path'
import type { ManySessions } from '../sessions/session-files.ts'
import { writerOf } from '../sessions/writer-of.ts'
import { terminalOf } from '../why/terminal-of.ts'

/** Where a session was read from. */
interface SessionSource {
  readonly file: string
  /** Id of the process that is writing to it. */
  readonly heldBy?: number | undefined
}

type Open = Report['open'][number]

/** The share of solved runs that the limits of a report may lose. */
const reportMayLose = 0.02

/** Sums up sessions that are added one after another. Stores one row per session and none of its records. */
export class ReportCollector {
  readonly #period: Period
  readonly #total = new Sum()
  readonly #days = new SumsBy()
  readonly #folders = new SumsBy()
  readonly #programs = new SumsBy()
  readonly #endings = new SumsBy()
  readonly #models = new SumsByModel()
  readonly #tools = new ToolSums()
  readonly #service = new ServiceSums()
  readonly #limits = new LimitSums()
  readonly #budgets = new BudgetSums()
  readonly #goals = new GoalSums()
  readonly #verification = new VerificationSums()
  readonly #waits = new WaitSums()
  readonly #tighter = new TighterLimits()
  readonly #calibration: CalibrationSums
  readonly #compactions = new Sum()
  readonly #after = new Sum()
  readonly #time = { model: 0, compaction: 0, tools: 0, hooks: 0, checks: 0, waiting: 0, other: 0 }
  readonly #sessions: SessionSpent[] = []
  readonly #open: Open[] = []
  readonly #unpriced = new Set<string>()
  readonly #foreign: { readonly foreign: ForeignSession; readonly costUsd: number }[] = []
  readonly #counts = { halting: 0, 'claude-code': 0, codex: 0 }

  #copies = 0

  /** Without `grading`, no run has a grade. */
  constructor(period: Period, grading: GradingSources = ungraded) {
    this.#period = period
    this.#calibration = new CalibrationSums(grading, { mayLose: reportMayLose })
  }

  /** Adds the runs that began in the period. A copied run counts only in its original session or file. */
  add(session: AnySession, { file, heldBy }: SessionSource): void {
    const { sessionId, runs, began, cwd, foreign } = session
    const program: SessionKind = foreign?.program ?? 'halting'
    const sum = new Sum()
    const counts = { calls: 0, failed: 0 }
    let title = session.title ?? ''
    let [last, beganAt]: [RunFacts | undefined, number | null] = [undefined, null]
    const continued = new Set(runs.map(continuedBy))
    const outcomes = runOutcomes(runs)
    for (const [index, records] of runs.entries()) {
      const at = began[index] ?? null
      if (!isWithin(this.#period, at)) continue
      const facts = withoutAnsweredCalls(runFactsOf(records), runs[index + 1])
      if (title === '') title = facts.prompt
      if (isCopiedRun(records)) {
        this.#copies++
        continue
      }
      const { runId } = facts.account.run
      const unpriced = session.unpriced[index] ?? []
      const paid = paidFor(facts.work.requests)
      const places = [sum, this.#total, this.#days.of(dayOf(at)), this.#folders.of(cwd), this.#programs.of(program)]
      this.#addRun(facts, paid, file, [...places, this.#endings.of(facts.reason ?? '')])
      this.#addStages(records, places)
      this.#goals.add(facts.account.goal, { day: dayOf(at), model: lastModelOf(facts), folder: cwd })
      this.#verification.add(facts.account.verification)
      this.#tighter.add(facts.trajectory, unpriced)
      const outcome = outcomes[index]
      if (outcome !== undefined)
        this.#calibration.add({ sessionId, cwd, outcome, trajectory: facts.trajectory, unpriced })
      const name = { session: sessionId, run: `run${index + 1}`, costUsd: paid.nanos / 1e9, changes: facts.changes }
      this.#limits.add(facts, name, continued.has(runId))
      this.#waits.add(records, facts.account, name, continued.has(runId))
      this.#budgets.add(facts.account, name.costUsd, continued.has(runId), at)
      if (facts.reason === null) {
        const holder = index === runs.length - 1 ? (heldBy ?? null) : null
        this.#open.push({ ...name, unknownUsd: paid.worst / 1e9, heldBy: holder })
      }
      for (const model of unpriced) this.#unpriced.add(model)
      counts.calls += facts.work.calls.length
      counts.failed += facts.work.calls.filter(({ status }) => status !== 'done' && status !== 'open').length
      beganAt ??= at
      last = facts
    }
    if (last === undefined) return
    this.#counts[program]++
    // The total that a program recorded does not apply to a part of the session.
    if (foreign !== undefined)
      this.#foreign.push({ foreign: withoutRuns(foreign, sum.runs === runs.length), costUsd: sum.nanos / 1e9 })
    this.#sessions.push({
      session: sessionId,
      program,
      file,
      folder: cwd,
      // The text is shortened, because it is stored for every session.
      title: title.slice(0, 200),
      beganAt: beganAt === null ? null : new Date(beganAt).toISOString(),
      ending: last.reason,
      ...sum.spent,
      calls: counts.calls,
      failedCalls: counts.failed,
    })
  }

  #addRun({ account, work, compactions }: RunFacts, paid: Paid, file: string, sums: readonly Sum[]): void {
    const { totals, carried, phases, tools } = account
    for (const sum of sums) {
      sum.addRun(file, totals.turns - carried.turns, totals.activeMs - carried.activeMs)
      sum.pay(paid)
    }
    for (const { phase, ms } of phases) this.#time[phase] += ms
    for (const request of work.requests) this.#models.add(request)
    this.#tools.add(tools, work.calls)
    this.#service.add(work.requests)
    this.#compactions.runs += compactions
    this.#compactions.pay(paidFor(work.requests.filter(({ phase }) => phase === 'compaction')))
  }

  /** Adds stages after the run. They have no recorded requests. */
  #addStages(records: readonly StepRecord[], sums: readonly Sum[]): void {
    const stages = stagesOf(records.flatMap((record) => (record.type === 'stage' ? [record.stage] : [])))
    for (const stage of stages) {
      const paid = paidForStage(stage)
      for (const sum of [...sums, this.#after]) sum.pay(paid)
      this.#after.runs++
      let left = paid
      for (const [model, { usage, costUsd }] of Object.entries(stage.ended?.modelUsage ?? {})) {
        const nanos = Math.round(costUsd * 1e9)
        const tokens = totalTokensOf(usage)
        this.#models.addOther(model, { tokens, unknownTokens: 0, nanos, worst: 0 }, usage)
        left = { ...left, tokens: left.tokens - tokens, nanos: left.nanos - nanos }
      }
      if (left.tokens !== 0 || left.unknownTokens !== 0 || left.nanos !== 0 || left.worst !== 0)
        this.#models.addOther('', left, noUsage)
    }
  }

  /** The report on all added sessions. `of`: which sessions these are, in words; `now`: milliseconds since 1970. */
  report(of: string, skipped: readonly string[], now: number): Report {
    const { since, until } = this.#period
    const bySession = this.#sessions.toSorted((a, b) => b.costUsd - a.costUsd || b.tokens - a.tokens)
    const { spent: after } = this.#after
    const foreign = this.#foreign
    const inAll = this.#models.usage
    const sent = inAll.input_tokens + inAll.cache_read_input_tokens + inAll.cache_creation_input_tokens
    return {
      of,
      since: since === null ? null : new Date(since).toISOString(),
      until: until === null ? null : new Date(until).toISOString(),
      madeAt: new Date(now).toISOString(),
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      sessions: this.#sessions.length,
      programs: this.#counts,
      totals: this.#total.spent,
      afterRuns: {
        stages: this.#after.runs,
        tokens: after.tokens,
        unknownTokens: after.unknownTokens,
        costUsd: after.costUsd,
        unknownUsd: after.unknownUsd,
      },
      byDay: this.#days.rows.toSorted((a, b) => a.name.localeCompare(b.name)),
      byModel: this.#models.rows,
      byFolder: this.#folders.rows,
      byProgram: this.#programs.rows,
      bySession,
      endings: this.#endingRows(),
      limits: this.#limits.rows,
      budgets: this.#budgets.rows,
      goals: this.#goals.sums,
      verification: this.#verification.counts,
      calibration: this.#calibration.calibration,
      tried: this.#tighter.rows(),
      tools: this.#tools.rows,
      time: this.#time,
      serviceWaits: this.#waits.serviceWaits,
      limitPauses: this.#waits.pauses,
      service: {
        retried: this.#service.retried,
        untold: this.#service.withoutUsage,
        unreported: this.#service.unreported,
        failures: this.#service.failures,
      },
      cache: {
        input: sent,
        read: inAll.cache_read_input_tokens,
        written: inAll.cache_creation_input_tokens,
        share: sent === 0 ? null : inAll.cache_read_input_tokens / sent,
      },
      compactions: this.#compactionSums(),
      open: this.#open,
      outliers: outliersOf(this.#sessions),
      unpriced: [...this.#unpriced],
      skipped,
      notes: [
        copiesLeftOut(this.#copies),
        unpricedText([...this.#unpriced]),
        ...this.#inferredText(),
        recordedText(foreign),
        skippedText(foreign.map((each) => each.foreign.skipped)),
      ].filter((note) => note !== ''),
    }
  }

  #compactionSums(): Report['compactions'] {
    const { runs: count, requests, tokens, unknownTokens, costUsd, unknownUsd } = this.#compactions.spent
    return { count, requests, tokens, unknownTokens, costUsd, unknownUsd }
  }

  #inferredText(): readonly string[] {
    return (['claude-code', 'codex'] as const)
      .filter((program) => this.#counts[program] > 0)
      .map(
        (program) => `${programNames[program]} does not record why a run ended: the endings of its runs are inferred.`,
      )
  }

  #endingRows(): readonly EndingRow[] {
    return this.#endings.entries
      .map(([name, { spent }]): EndingRow => {
        // Names are reasons of accounts, or '' for none.
        const reason = name === '' ? null : (name as keyof typeof endings)
        const { requests: _, ...row } = spent
        return { reason, exitCode: reason === null ? null : endings[reason].exitCode, ...row }
      })
      .toSorted((a, b) => b.runs - a.runs || b.costUsd - a.costUsd)
  }
}

/** A call that waited for a person counts in the run that received the answer. */
function withoutAnsweredCalls(facts: RunFacts, next: readonly StepRecord[] | undefined): RunFacts {
  const first = next?.[0]
  const answers = first?.type === 'start' ? (first.start.answers ?? []) : []
  if (answers.length === 0) return facts
  const ids = new Set(answers.map(({ id }) => id))
  const calls = facts.work.calls.filter(({ scope, id, status }) => status !== 'open' || scope !== '' || !ids.has(id))
  return { ...facts, work: { ...facts.work, calls } }
}

/** The model of the main loop's last request. */
function lastModelOf({ work }: RunFacts): string {
  return work.requests.findLast(({ scope, phase }) => scope === '' && phase === 'model')?.model ?? ''
}

function continuedBy([first]: readonly StepRecord[]): string | undefined {
  return first?.type === 'start' ? first.start.run.continues : undefined
}

function withoutRuns(foreign: ForeignSession, isWhole: boolean): ForeignSession {
  return { ...foreign, runs: [], recordedUsd: isWhole ? foreign.recordedUsd : undefined }
}

function paidForStage({ most, ended }: RecordedStage): Paid {
  if (ended === null) return { requests: 0, tokens: 0, unknownTokens: most.tokens, nanos: 0, worst: most.nanos }
  const nanos = Math.round(ended.costUsd * 1e9)
  const worst = Math.round(ended.committedUsd * 1e9) - nanos
  return { requests: 0, tokens: ended.tokens, unknownTokens: 0, nanos, worst }
}

/** The scope of a report. */
export interface ReportScope {
  /** Description of the scope: `of this folder`. */
  readonly of: string
  /** Only runs that began in this period. */
  readonly period: Period
  /** Only sessions that worked in this folder or below it; '' for any. */
  readonly below: string
  /** Whether a process may be writing to a session: true for files, false for a cluster. */
  readonly hasWriters: boolean
  /** The current time, in milliseconds since 1970. */
  readonly now: number
  /** Grades by people, and repositories of folders. Default: no grades, and each folder counts separately. */
  readonly grading?: GradingSources
}

/**
 * Reads sessions one after another and sums them up, without keeping their records in memory. Sessions that cannot be read are listed in the report.
 */
export async function gatherReport(
  { names, read }: ManySessions<AnySession>,
  { of, period, below, hasWriters, now, grading }: ReportScope,
): Promise<Report> {
  const collector = new ReportCollector(period, grading)
  const skipped: string[] = []
  for (const name of names) {
    try {
      const session = await read(name)
      if (below !== '' && !isBelow(session.cwd, below)) continue
      const isOpenHere =
        hasWriters && session.foreign === undefined && terminalOf(session.runs.at(-1) ?? []) === undefined
      const heldBy = isOpenHere ? writerOf(name) : undefined
      collector.add(session, { file: name, heldBy })
    } catch (error) {
      if (!(error instanceof HaltingError)) throw error
      skipped.push(error.message)
    }
  }
  return collector.report(of, skipped, now)
}

/** Whether a path is a folder or inside it. */
export function isBelow(path: string, folder: string): boolean {
  const fromFolder = relative(folder, path)
  return path !== '' && !isAbsolute(fromFolder) && fromFolder !== '..' && !/^\.\.[/\\]/.test(fromFolder)
}

/** Fewer sessions have no outliers. */
const fewestSessions = 8
const maxOutliers = 10

/** Figures in which a session may be an outlier. Only the first one is reported. */
const outlierFigures = ['costUsd', 'activeMs', 'turns', 'tokens'] as const

/**
 * Sessions with an unusually high figure: above the third quartile by more than three interquartile ranges, and by at least half of it. The furthest
 * first.
 */
function outliersOf(sessions: readonly SessionSpent[]): readonly Outlier[] {
  if (sessions.length < fewestSessions) return []
  const reported = new Set<SessionSpent>()
  const found = outlierFigures.flatMap((what) => {
    const values = sessions.map((session) => session[what]).toSorted((a, b) => a - b)
    const at = (share: number): number => values[Math.floor((values.length - 1) * share)] ?? 0
    const [first, median, third] = [at(0.25), at(0.5), at(0.75)]
    const bound = Math.max(third + 3 * (third - first), third * 1.5)
    return sessions.flatMap((session) => {
      const value = session[what]
      if (value <= bound || reported.has(session)) return []
      reported.add(session)
      return [{ session: session.session, what, value, median, times: value / (median || third || 1) }]
    })
  })
  return found
    .toSorted((a, b) => b.times - a.times)
    .slice(0, maxOutliers)
    .map(({ session, what, value, median }) => ({ session, what, value, median }))
}
