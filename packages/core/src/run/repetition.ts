import { after } from '../values/eventually.ts'
import { maskedHash } from '../limits/recent-turns.ts'
import { afterCalls, afterSentBack, type EndedCall } from '../limits/repetition.ts'
import { textOf, type AssistantMessage, type ToolResultBlock, type ToolUseBlock } from '../model/messages.ts'
import { type IterationReason, lapsLeft } from '../limits/allowance.ts'
import { headOf } from '../values/text.ts'
import { isAgentTool } from '../tools/tool.ts'
import { calledTool } from '../tools/definitions.ts'
import type { RunProgress } from '../state/state.ts'
import { remindersAt } from './checkpoint.ts'
import type { Outcome, Route, Draft } from './outcome.ts'
import type { Run } from './run.ts'
import type { RecordPosition } from './tool-phase.ts'
import type { Reminder } from '../limits/guard.ts'
import {
  equalAnswersReminder,
  equalErrorsReminder,
  failingEditsReminder,
  noProgressReminder,
} from '../limits/guard-texts.ts'

// What a run counts of failures and answers that it repeats (spec R-PROG-7).

/** Characters of an error or an answer that are compared. */
const mostCompared = 4_000

/** Whether a guard looks at repetition: for nobody else it is counted. */
export function looksAtRepetition({ context }: Run): boolean {
  return context.guards.some(({ guard }) => guard.looksAtTurns === true)
}

/** What is counted with the results of a turn. */
export function repetitionAfter(
  run: Run,
  calls: readonly ToolUseBlock[],
  results: readonly ToolResultBlock[],
): Pick<RunProgress, 'repetition'> | undefined {
  const { repetition } = run.spent
  const hasFailed = results.some(({ is_error: isError }) => isError === true)
  // By far the most turns.
  if (repetition === undefined && (!hasFailed || isRemindedOfFailures(run.spent))) return undefined
  const ended = calls.flatMap((call) => endedCall(run, call, results) ?? [])
  return { repetition: afterCalls(repetition, ended) }
}

function endedCall(run: Run, { id, name }: ToolUseBlock, results: readonly ToolResultBlock[]): EndedCall | undefined {
  const result = results.find(({ tool_use_id: of }) => of === id)
  if (result === undefined) return undefined
  const tool = calledTool(name, run.context)
  const isEdit = tool !== undefined && !isAgentTool(tool) && tool.editsFiles === true
  return {
    ...(isEdit && { editedBy: tool.name }),
    ...(result.is_error === true && { error: comparedHash(textOf(result.content ?? '')) }),
  }
}

function comparedHash(text: string): number {
  return maskedHash(headOf(text, mostCompared))
}

const sentBack: ReadonlySet<IterationReason> = new Set([
  'stop_hook_blocking',
  'goal_unmet',
  'token_budget_continuation',
])

/** The outcome at an answer, in which one that is sent back again and again is noted, and the model reminded with what sends it back. */
export function notingSentBack(run: Run, message: AssistantMessage, outcome: Outcome): Outcome {
  if (outcome.routes.length === 0 || isRemindedOfFailures(run.spent) || !looksAtRepetition(run)) return outcome
  return { ...outcome, routes: outcome.routes.map((route) => noting(route, message)) }
}

function noting(route: Route, message: AssistantMessage): Route {
  if (!sentBack.has(route.transition)) return route
  const take = (run: Run): ReturnType<Route['take']> =>
    after(route.take(run), (taking) => {
      if (taking !== 'taken') return taking
      run.update({ repetition: afterSentBack(run.spent.repetition, comparedHash(textOf(message.content))) })
      remindOfFirst(run, remindersAt(run, 'after_reply'))
      return taking
    })
  return { ...route, take }
}

// What a run that makes no progress is reminded of, each once (spec R-PROG-4).

const noRoutes: readonly Route[] = Object.freeze([])
const noReminders: readonly Reminder[] = Object.freeze([])
const sameTurns: readonly Reminder[] = Object.freeze<Reminder[]>(['same_turns'])

/** What the step of a reminder has on record. JSON. */
type RemindStep = { readonly of: Reminder }

// Spec R-PROG-4, R-PROG-4c.
/**
 * The way to the next turn with a reminder before it; none where nothing is due, or no turn is left that could heed it. The record says what the model was
 * reminded of: a resume within a subagent reminds it of the same.
 */
export function reminderRoutes(run: Run, due: readonly Reminder[], position: RecordPosition): readonly Route[] {
  const name = `remind:${run.spent.request}`
  const of = due.find((reminder) => !isReminded(run.spent, reminder)) ?? 'same_turns'
  const isDue = due.some((reminder) => !isReminded(run.spent, reminder)) && isTurnLeft(run)
  if (!run.isRecorded(name) && (position === 'passed' || !isDue)) return noRoutes
  return [
    {
      transition: 'no_progress_nudge',
      take: (from) =>
        after(
          from.step<RemindStep>(name, () => ({ of })),
          ({ value }) => {
            remind(from, value.of)
            return 'taken'
          },
        ),
    },
  ]
}

// Spec R-PROG-4b.
/** Where a guard would end the run of which the model was not reminded, it is reminded instead. */
export function reminderInPlaceOf(run: Run, draft: Draft): readonly Route[] {
  // Only what a guard saw: a tool or hook that stops the run with this reason means it.
  if (draft.reason !== 'no_progress' || draft.raisedBy.length === 0) return noRoutes
  if ([...run.signals].some((signal) => signal.reason !== 'no_progress')) return noRoutes
  if (isReminded(run.spent, 'same_turns') || !isTurnLeft(run)) return noRoutes
  return [{ transition: 'no_progress_nudge', take: remindAndForget }]
}

/** The count starts anew: it takes as many repeats again to stop the run. */
function remindAndForget(run: Run): 'taken' {
  remind(run, 'same_turns')
  run.update({ recentTurns: [] })
  return 'taken'
}

/** Reminds with what is said anyway: of the first of these that the model was not reminded of. */
function remindOfFirst(run: Run, due: readonly Reminder[]): void {
  const of = due.find((reminder) => !isReminded(run.spent, reminder))
  if (of !== undefined) remind(run, of)
}

/** What only reminds is reminded of once in all, and not counted any more. */
function remind(run: Run, of: Reminder): void {
  run.appendUser(textOfReminder(run, of), 'loop')
  const reminded = [...remindedOf(run.spent), of]
  run.update(of === 'same_turns' ? { reminded } : { reminded, repetition: undefined })
}

function textOfReminder(run: Run, of: Reminder): string {
  switch (of) {
    case 'same_turns':
      return noProgressReminder(waitToolOf(run))
    case 'failing_edits':
      return failingEditsReminder(run.spent.repetition?.edits?.tool ?? 'The tool')
    case 'equal_errors':
      return equalErrorsReminder
    case 'equal_answers':
      return equalAnswersReminder
  }
}

function isReminded(spent: RunProgress, of: Reminder): boolean {
  return of === 'same_turns' ? remindedOf(spent).includes(of) : isRemindedOfFailures(spent)
}

/** What the model was reminded of. Before records said of what, the only reminder was of repetition. */
function remindedOf({ reminded, laps }: RunProgress): readonly Reminder[] {
  if (reminded !== undefined) return reminded
  return (laps.inRun.no_progress_nudge ?? 0) > 0 ? sameTurns : noReminders
}

/** Whether the model was reminded of failures or answers that it repeats: once in a run. */
function isRemindedOfFailures({ reminded = [] }: RunProgress): boolean {
  return reminded.some((each) => each !== 'same_turns')
}

function isTurnLeft({ spent, context }: Run): boolean {
  return lapsLeft('next_turn', spent.laps, context.limits) > 0
}

/** The tool of this run that waits in the place of the model. */
function waitToolOf({ context }: Run): string | undefined {
  for (const [name, tool] of context.tools) if (!isAgentTool(tool) && tool.waits === true) return name
  return undefined
}
