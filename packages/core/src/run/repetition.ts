import { andThen } from '../values/maybe-promise.ts'
import { maskedHash } from '../limits/recent-turns.ts'
import { afterCalls, afterAnswerSentBack, type EndedCall } from '../limits/repetition.ts'
import { textOf, type AssistantMessage, type ToolResultBlock, type ToolUseBlock } from '../model/messages.ts'
import { type IterationReason, iterationsLeft } from '../limits/transition-rules.ts'
import { headOf } from '../values/text.ts'
import { isAgentTool } from '../tools/tool.ts'
import { calledTool } from '../tools/definitions.ts'
import type { RunProgress } from '../state/state.ts'
import { remindersAt } from './cancellation-points.ts'
import type { Outcome, Route, PendingEnding } from './outcome.ts'
import type { Run } from './run.ts'
import type { RecordPosition } from './tool-phase.ts'
import type { Reminder } from '../limits/guard.ts'
import {
  equalAnswersReminder,
  equalErrorsReminder,
  failingEditsReminder,
  noProgressReminder,
} from '../limits/guard-texts.ts'

// Counts failures and answers that a run repeats (spec R-PROG-7).

/** Maximum characters of an error or an answer that are compared. */
const maxComparedCharacters = 4_000

/** Whether a guard uses the repetition counts. Otherwise they are not computed. */
export function usesRepetition({ context }: Run): boolean {
  return context.guards.some(({ guard }) => guard.looksAtTurns === true)
}

/** The counts after the results of a turn. */
export function repetitionAfter(
  run: Run,
  calls: readonly ToolUseBlock[],
  results: readonly ToolResultBlock[],
): Pick<RunProgress, 'repetition'> | undefined {
  const { repetition } = run.spent
  const hasFailed = results.some(({ is_error: isError }) => isError === true)
  // Most turns end here.
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
  return maskedHash(headOf(text, maxComparedCharacters))
}

const sendBackTransitions: ReadonlySet<IterationReason> = new Set([
  'stop_hook_blocking',
  'goal_unmet',
  'token_budget_continuation',
])

/** Counts an answer that is sent back repeatedly, and adds a reminder to the message that sends it back. */
export function withSentBackCount(run: Run, message: AssistantMessage, outcome: Outcome): Outcome {
  if (outcome.routes.length === 0 || isRemindedOfFailures(run.spent) || !usesRepetition(run)) return outcome
  return { ...outcome, routes: outcome.routes.map((route) => countedRoute(route, message)) }
}

function countedRoute(route: Route, message: AssistantMessage): Route {
  if (!sendBackTransitions.has(route.transition)) return route
  const take = (run: Run): ReturnType<Route['take']> =>
    andThen(route.take(run), (taking) => {
      if (taking !== 'taken') return taking
      run.update({ repetition: afterAnswerSentBack(run.spent.repetition, comparedHash(textOf(message.content))) })
      remindOfFirst(run, remindersAt(run, 'after_reply'))
      return taking
    })
  return { ...route, take }
}

// Reminders for a run that makes no progress, each sent once (spec R-PROG-4).

const noRoutes: readonly Route[] = Object.freeze([])
const noReminders: readonly Reminder[] = Object.freeze([])
const sameTurns: readonly Reminder[] = Object.freeze<Reminder[]>(['same_turns'])

/** The record of a reminder step. JSON. */
type RemindStep = { readonly of: Reminder }

// Spec R-PROG-4, R-PROG-4c.
/**
 * The route to the next turn with a reminder; empty if no reminder is due, or no turn is left to act on it. The record
 * contains the reminder, so that a resume within a subagent repeats it.
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
        andThen(
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
/** Replaces the first ending by a no-progress guard with a reminder. */
export function reminderInPlaceOf(run: Run, pendingEnding: PendingEnding): readonly Route[] {
  // Only for signals of guards: a tool or hook that stops the run with this reason does so intentionally.
  if (pendingEnding.reason !== 'no_progress' || pendingEnding.raisedBy.length === 0) return noRoutes
  if ([...run.signals].some((signal) => signal.reason !== 'no_progress')) return noRoutes
  if (isReminded(run.spent, 'same_turns') || !isTurnLeft(run)) return noRoutes
  return [{ transition: 'no_progress_nudge', take: remindAndForget }]
}

/** Resets the count, so that the same number of repeats is needed to stop the run. */
function remindAndForget(run: Run): 'taken' {
  remind(run, 'same_turns')
  run.update({ recentTurns: [] })
  return 'taken'
}

/** Sends the first of these reminders that was not sent before, along with another message. */
function remindOfFirst(run: Run, due: readonly Reminder[]): void {
  const of = due.find((reminder) => !isReminded(run.spent, reminder))
  if (of !== undefined) remind(run, of)
}

/** Sends a reminder. Counting for the reminders that never end a run stops after the first. */
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

/** The reminders that were sent. Older records do not name them; their only reminder was about repeated turns. */
function remindedOf({ reminded, laps }: RunProgress): readonly Reminder[] {
  if (reminded !== undefined) return reminded
  return (laps.inRun.no_progress_nudge ?? 0) > 0 ? sameTurns : noReminders
}

/** Whether the model was reminded of repeated failures or answers, which happens once in a run. */
function isRemindedOfFailures({ reminded = [] }: RunProgress): boolean {
  return reminded.some((each) => each !== 'same_turns')
}

function isTurnLeft({ spent, context }: Run): boolean {
  return iterationsLeft('next_turn', spent.laps, context.limits) > 0
}

/** The run's tool that waits on behalf of the model. */
function waitToolOf({ context }: Run): string | undefined {
  for (const [name, tool] of context.tools) if (!isAgentTool(tool) && tool.waits === true) return name
  return undefined
}
