import { lapsLeft } from '../limits/allowance.ts'
import { after } from '../values/eventually.ts'
import type { Reminder } from '../limits/guard.ts'
import {
  equalAnswersReminder,
  equalErrorsReminder,
  failingEditsReminder,
  noProgressReminder,
} from '../limits/guard-texts.ts'
import type { RunProgress } from '../state/state.ts'
import { isAgentTool } from '../tools/tool.ts'
import type { Draft, Route } from './outcome.ts'
import type { RecordPosition } from './record-position.ts'
import type { Run } from './run.ts'

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
export function remindOfFirst(run: Run, due: readonly Reminder[]): void {
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
export function isRemindedOfFailures({ reminded = [] }: RunProgress): boolean {
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
