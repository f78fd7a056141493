import { createDeadline } from '../values/deadline.ts'
import { AbortScope, type AbortCause } from '../values/abort.ts'
import { settleWithin, type Settled } from '../values/settle.ts'
import { plainTextOf } from '../model/content.ts'
import { messageOf } from '../values/errors.ts'
import { fieldsOf } from '../values/validators.ts'
import type { Goal, GoalContext, GoalFilesRound, GoalVerdict } from '../goals/goal.ts'
import type { GoalCheck, RoundRecord } from '../verification/goal-record.ts'
import { reportForModel, tailOfReport } from '../goals/report.ts'
import { specOf, defaultCheckMs } from '../goals/run-goals.ts'
import { jsonOf, type Json } from '../values/json.ts'
import { headOf } from '../values/text.ts'
import type { Run } from '../run/run.ts'
import type { AskIn } from '../request/step-with-questions.ts'
import { checkAbandoned, checkFailed, checkTimedOut, filesUnreadable, noVerdict } from '../goals/goal-texts.ts'

export const emptyRound: RoundRecord = Object.freeze({
  met: false,
  checks: [],
  report: '',
  tampered: [],
  changedByChecks: [],
  changedTests: [],
  isUnstable: false,
})

/** Maximum number of file names in one list. Further names are only counted. */
const maxFileNames = 100

/** Runs the checks of one round, in order, up to the first that fails. Never rejects. */
export async function checkRound(
  run: Run,
  goals: readonly Goal[],
  baseline: FileBaseline,
  askIn: AskIn,
): Promise<RoundRecord> {
  const cause = run.ports.abort.causeNow()
  if (cause !== undefined) return { ...emptyRound, aborted: cause }
  try {
    const { files, takenOver } = await beginFiles(run, goals, baseline)
    const tampered = namesOf(files?.tampered)
    // If someone else changed the definition of a check, its verdict is worthless, so the check does not run.
    const checked = tampered.length > 0 ? emptyRound : await checkAll(run, goals, askIn)
    if (checked.aborted !== undefined) return checked
    const { changedDuring, ...end } = await endFiles(run, files, baseline.memo)
    const all = [...new Set([...tampered, ...changedDuring])]
    const adopted = takenOver.length === 0 ? {} : { takenOver }
    return { ...checked, ...end, ...adopted, tampered: all, ...(all.length > 0 && { met: false }) }
  } catch (error) {
    const aborted = run.ports.abort.causeNow()
    if (aborted !== undefined) return { ...emptyRound, aborted }
    return {
      ...emptyRound,
      report: filesUnreadable(headOf(messageOf(error), 1_000)),
    }
  }
}

/** The baseline for the files of the goals. `looksAnew`: changes since the old baseline count as changes of the person. */
interface FileBaseline {
  readonly memo: Json | null
  readonly looksAnew: boolean
}

async function beginFiles(
  run: Run,
  goals: readonly Goal[],
  { memo, looksAnew }: FileBaseline,
): Promise<{ readonly files: GoalFilesRound | undefined; readonly takenOver: readonly string[] }> {
  const { files: port } = run.context.goals
  if (port === null) return { files: undefined, takenOver: [] }
  const begin = (against: Json | null): Promise<GoalFilesRound> =>
    withTimeout(run, () => port.begin(against, run.ports.abort.signal, goals.map(specOf)))
  const files = await begin(memo)
  const takenOver = looksAnew ? namesOf(files.tampered) : []
  return { files: takenOver.length === 0 ? files : await begin(null), takenOver }
}

/** Runs the work with the timeout of a check. @throws the error of the work, or a timeout error when the work takes longer. */
async function withTimeout<T>({ context }: Run, work: () => PromiseLike<T> | T): Promise<T> {
  let stop = (): void => {}
  const timeout = new Promise<never>((_resolve, reject) => {
    stop = context.timers.after(defaultCheckMs, () =>
      reject(new Error(`it took longer than ${defaultCheckMs / 1_000} s`)),
    )
  })
  try {
    return await Promise.race([work(), timeout])
  } finally {
    stop()
  }
}

async function endFiles(
  run: Run,
  files: GoalFilesRound | undefined,
  before: Json | null,
): Promise<
  Pick<RoundRecord, 'changedByChecks' | 'changedTests' | 'memo'> & { readonly changedDuring: readonly string[] }
> {
  if (files === undefined) return { changedByChecks: [], changedTests: [], changedDuring: [] }
  const end = await withTimeout(run, () => files.end())
  const memo = jsonOf(end.memo)
  return {
    changedByChecks: namesOf(end.changedByChecks),
    changedTests: namesOf(end.changedTests),
    changedDuring: namesOf(end.tampered),
    ...(JSON.stringify(memo) !== JSON.stringify(before) && { memo }),
  }
}

function namesOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return []
  const names = value.slice(0, maxFileNames).map((name: unknown) => headOf(plainTextOf(name), 500))
  return value.length <= maxFileNames ? names : [...names, `and ${value.length - maxFileNames} more`]
}

async function checkAll(run: Run, goals: readonly Goal[], askIn: AskIn): Promise<RoundRecord> {
  const checks: GoalCheck[] = []
  for (const [index, goal] of goals.entries()) {
    const { check, ...failed } = await checkGoal(run, goal, index, askIn)
    if (failed.aborted !== undefined) return { ...emptyRound, aborted: failed.aborted }
    checks.push(check)
    if (!check.met) return { ...emptyRound, ...failed, checks }
  }
  return { ...emptyRound, met: true, checks }
}

interface CheckOutcome extends Pick<RoundRecord, 'report' | 'isUnstable' | 'unusable' | 'aborted'> {
  readonly check: GoalCheck
}

/** Checks one goal, as many times in a row as it must pass. */
async function checkGoal(run: Run, goal: Goal, index: number, askIn: AskIn): Promise<CheckOutcome> {
  const { stable = 1 } = goal
  for (let pass = 1; ; pass++) {
    const context = { key: checkKey(run, index, pass), askIn }
    const checked = await checkOnce(run, goal, context, stable === 1 ? undefined : pass)
    if (checked.aborted !== undefined || pass >= stable || !checked.check.met)
      return { ...checked, isUnstable: pass > 1 && !checked.check.met }
  }
}

/** The key of one check: the same when the check is repeated after a crash, and unique otherwise. */
function checkKey(run: Run, index: number, pass: number): string {
  const { request, goal } = run.spent
  return run.key(`goal:${request}:${goal?.rounds ?? 0}:${index}:${pass}`)
}

async function checkOnce(
  run: Run,
  goal: Goal,
  { key, askIn }: { readonly key: string; readonly askIn: AskIn },
  pass: number | undefined,
): Promise<CheckOutcome> {
  const { timers, settings } = run.context
  const { abort } = run.ports
  const checkAbort = new AbortScope()
  const listener = { onAbort: (cause: AbortCause) => checkAbort.abort(cause) }
  abort.listen(listener)
  const timer = { isUp: false }
  const { timeoutMs = defaultCheckMs } = goal
  const deadline = createDeadline(timers, { usedMs: 0, limitMs: timeoutMs }, () => {
    timer.isUp = true
    checkAbort.abort('time')
  })
  const { agentState: state, spent } = run
  const context: GoalContext = {
    signal: checkAbort.signal,
    idempotencyKey: key,
    state,
    changes: spent.changes,
    ask: askIn(deadline),
  }
  const settled = await settleWithin<unknown, Settled<unknown>>(
    () => goal.check(context),
    { abort: checkAbort, graceMs: settings.graceMs, timers },
    (settledCheck) => settledCheck,
  )
  deadline.cancel()
  abort.unlisten(listener)
  const verdict = timer.isUp ? timedOut(settled, timeoutMs) : verdictOf(settled)
  checkAbort.dispose()
  const aborted = abort.causeNow()
  const { met, report = '', exitCode = null, unusable } = verdict
  const check: GoalCheck = {
    name: goal.name,
    met,
    exitCode,
    durationMs: deadline.usedMs,
    tail: tailOfReport(report),
    ...(goal.judged === true && { judged: true }),
    ...(timer.isUp && { timedOut: true }),
    ...(pass !== undefined && { pass }),
  }
  return {
    check,
    report: reportForModel(report),
    isUnstable: false,
    ...(unusable !== undefined && { unusable }),
    ...(aborted !== undefined && { aborted }),
  }
}

/** A check that answers after its timeout fails, regardless of its verdict. */
function timedOut(settled: Settled<unknown>, timeoutMs: number): GoalVerdict {
  const { report = '' } = settled.kind === 'value' ? verdictOf(settled) : {}
  return { met: false, report: checkTimedOut(report, timeoutMs / 1_000) }
}

/** Reads the verdict once. Anything but an explicit `met: true` counts as unmet. */
function verdictOf(settled: Settled<unknown>): GoalVerdict {
  if (settled.kind === 'left') return { met: false, report: checkAbandoned }
  if (settled.kind === 'threw') return { met: false, report: checkFailed(messageOf(settled.error)) }
  try {
    const { met, report, exitCode, unusable } = fieldsOf(settled.value) ?? {}
    if (typeof met !== 'boolean') return { met: false, report: noVerdict }
    return {
      met,
      ...(typeof report === 'string' && { report }),
      ...(typeof exitCode === 'number' && Number.isInteger(exitCode) && { exitCode }),
      ...(typeof unusable === 'string' && unusable !== '' ? { unusable: headOf(unusable, 1_000), met: false } : {}),
    }
  } catch (error) {
    return { met: false, report: checkFailed(messageOf(error)) }
  }
}
