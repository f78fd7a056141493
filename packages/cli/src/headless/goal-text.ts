import type { GoalResult, RunEvent, RunResult } from '@halting/core'
import { goalLine, goalNames } from '../frontends/goal-words.ts'
import type { Flags } from '../flags/flags.ts'
import { many, oneLine } from '../io/figures.ts'

/** What `halting -p` prints of the goals of a run, on stderr (spec R-GOAL-62). */
export interface GoalLines {
  /** The lines for an event: one for each round of checks of the run itself; none for any other event. */
  linesFor(event: RunEvent): readonly string[]
}

/** Lines of a check's report that are shown with `--verbose`. */
const shownLines = 10
const longestLine = 300
/** Names of test files that are listed. */
const shownNames = 5

export function followGoals(isVerbose: boolean): GoalLines {
  let goals: readonly string[] = []
  return {
    linesFor(event) {
      if (event.type === 'goal_start') ({ goals } = event)
      if (event.type !== 'goal_end') return []
      const failed = event.checks.at(-1)
      const isShown = isVerbose && !event.met && failed !== undefined && failed.tail !== ''
      const report = isShown ? failed.tail.split('\n').filter((line) => line.trim() !== '') : []
      return [goalLine(goals, event), ...report.slice(-shownLines).map((line) => `  ${oneLine(line, longestLine)}`)]
    },
  }
}

/** How the goals stand at the end of a run: a part of its closing line; '' for a run without goals. */
export function goalPart({ goal, reason }: Pick<RunResult, 'goal' | 'reason'>): string {
  // Its own ending says so in its message.
  if (goal === undefined || reason === 'goal_unmet') return ''
  const { met, checks, heldFromStart, judged } = goal
  if (met === 'unknown') return checks.length === 0 ? 'goal not checked' : 'goal not checked after the last change'
  const failed = checks.at(-1)
  if (!met) return `goal not met${failed === undefined ? '' : `: ${goalNames([failed.name])}`}`
  const how = [
    ...(judged === true ? ['judged by a model'] : []),
    ...(heldFromStart === true ? ['already met at the start'] : []),
  ]
  return `goal met: ${goalNames(checks.map(({ name }) => name))}${how.length === 0 ? '' : ` (${how.join('; ')})`}`
}

/** What a person should know of a verdict, a line each: tests that the agent changed, and a check that does not say the same twice. */
export function goalNotes(goal: GoalResult | undefined, stable = 1): readonly string[] {
  if (goal === undefined) return []
  const { changedTests, flaky } = goal
  const more = changedTests.length - shownNames
  const names = [...changedTests.slice(0, shownNames), ...(more > 0 ? [`${more} more`] : [])].join(', ')
  return [
    ...(changedTests.length === 0 ? [] : [`The agent changed ${many(changedTests.length, 'test file')}: ${names}.`]),
    ...(flaky
      ? [
          `The check is flaky: its result changed although no file did. --until-stable ${Math.max(3, 2 * stable)} requires that many passes in a row.`,
        ]
      : []),
  ]
}

/** Whether the first check of a run said that a goal is no check at all: a command that does not exist. Nothing was spent. */
export function isUnusableGoal({ reason, signal }: Pick<RunResult, 'reason' | 'signal'>): boolean {
  return reason === 'error' && signal.source === 'goal' && signal.context['code'] === 'configuration'
}

/** Flags about how goals are checked that a command which goes on needs again: they are not on record (spec R-GOAL-65a). */
export function goalArguments(
  { untilTries, untilTimeout, untilStable, protect = [] }: Flags,
  command: string,
): readonly string[] {
  const isRaised = untilTries === undefined || command.includes('--until-tries')
  return [
    ...(isRaised ? [] : ['--until-tries', String(untilTries)]),
    ...(untilTimeout === undefined ? [] : ['--until-timeout', `${untilTimeout}ms`]),
    ...(untilStable === undefined ? [] : ['--until-stable', String(untilStable)]),
    ...protect.flatMap((glob) => ['--protect', glob]),
  ]
}
