import type { GoalCheck, GoalSpec } from '@halting/core'
import { headOf, tailOf } from '@halting/core/adapters'
import type { GoalFigures, RecordedRound } from '../account/goal.ts'
import { counted, elapsed, many } from './figures.ts'
import type { RunGrade } from '../grades/graded-run.ts'

// The goals of a run in words, for the terminal, exports, reports and the page.

/** The number of files or goals that are named in one sentence; more are only counted. */
const maxNames = 8

/** Names may have any length: a judged goal is a text, and anyone may have written the record. */
const maxNameLength = 200

/** How much of the end of a report is shown. */
const [maxLines, maxCharacters] = [5, 600]

/** The name of a goal: a command as code, or the text that a model judges. */
export function goalName({ name, judged }: Pick<GoalSpec, 'name' | 'judged'>): string {
  const short = shortName(name)
  return judged === true ? `${short} (judged by a model)` : `\`${short}\``
}

/** The result of one check: `` `npm test` failed with exit code 1 ``. */
export function checkText(check: GoalCheck): string {
  const { met, exitCode, timedOut, judged, pass } = check
  const passes = pass === undefined || pass === 1 ? '' : ` in pass ${counted(pass)}`
  if (met) return `${goalName(check)} ${judged === true ? 'is met' : 'passed'}${pass === undefined ? '' : passes}`
  if (timedOut === true) return `${goalName(check)} took too long${passes}`
  if (judged === true) return `${goalName(check)} is not met${passes}`
  const how = exitCode === null ? 'failed' : `failed with exit code ${exitCode}`
  return `${goalName(check)} ${how}${passes}`
}

/** The last lines of a check's output. */
export function checkTail({ tail }: Pick<GoalCheck, 'tail'>): string {
  return tailOf(tail, maxCharacters).trimEnd().split('\n').slice(-maxLines).join('\n')
}

const placeNames = {
  baseline: 'Check before the first request',
  answer: 'Check of the answer',
  turn: 'Check after the turn',
  limit: 'Last check at the limit',
} as const satisfies Record<RecordedRound['place'], string>

/** The result of a round on one line: `Check of the answer: not met, 3.2 s: `npm test` failed with exit code 1`. */
export function roundText({ place, met, isCut, checks, tampered, durationMs }: RecordedRound): string {
  const verdict = isCut ? 'aborted' : met ? 'met' : 'not met'
  const last = checks.at(-1)
  const why =
    tampered.length > 0
      ? `changed: ${namesText(tampered)}`
      : last === undefined
        ? ''
        : met
          ? checks.map(goalName).slice(0, maxNames).join(', ')
          : checkText(last)
  return `${placeNames[place]}: ${verdict}, ${elapsed(durationMs)}${why === '' ? '' : `: ${why}`}`
}

/** Details of a round: the output of the check, and the files that it or the agent changed. */
export function roundDetails({ met, checks, report, changedByChecks, changedTests }: RecordedRound): string {
  const output = met ? '' : report === '' ? (checks.at(-1)?.tail ?? '') : report
  return [
    output,
    ...(changedByChecks.length === 0 ? [] : [`The checks changed ${namesText(changedByChecks)}.`]),
    ...(changedTests.length === 0 ? [] : [changedTestsText(changedTests)]),
  ]
    .filter((text) => text !== '')
    .join('\n')
}

/** Whether the goals were met, in one sentence. */
export function goalVerdict(goal: GoalFigures): string {
  const { met, tries, maxTries, baseline, heldFromStart } = goal
  const count = `${counted(tries)}${maxTries === null ? '' : ` of ${counted(maxTries)}`}`
  const after = tries === 0 ? '' : ` after ${count} ${(maxTries ?? tries) === 1 ? 'try' : 'tries'}`
  const begin =
    baseline === null ? 'it was not checked at the start' : `it was ${baseline ? 'met' : 'not met'} at the start`
  if (met === 'unknown') return `Unknown${after}: ${whyUnknown[goal.whyUnknown ?? 'changed']}; ${begin}.`
  if (heldFromStart === true) return 'Already met at the start; the run may not have caused it.'
  return `${met ? 'Met' : 'Not met'}${after}; ${begin}.`
}

const whyUnknown = {
  not_ended: 'the run has not ended',
  needs_approval: 'the run is waiting for an approval',
  not_checked: 'it was not checked',
  changed: 'files changed since the last check',
} as const satisfies Record<NonNullable<GoalFigures['whyUnknown']>, string>

/** All facts about the goals of a run, a sentence each; the first one is the verdict. */
export function goalFacts(goal: GoalFigures): readonly string[] {
  const { met, checks, tampered, changedTests, flaky, judged, rounds, lastFailed } = goal
  const failed = checks.find((check) => !check.met)
  const before =
    met === true && lastFailed !== null ? [`Before that, ${checkText(lastFailed)}${lastLine(lastFailed)}.`] : []
  return [
    goalVerdict(goal),
    ...(tampered.length > 0
      ? [`The definition of the check changed, so the goal is not met: ${namesText(tampered)}.`]
      : failed === undefined
        ? before
        : [`${checkText(failed)}.`]),
    ...(changedTests.length === 0 ? [] : [changedTestsText(changedTests)]),
    ...(flaky
      ? [
          'The check is flaky: its verdict changed although no file changed. Use --until-stable 2 to require two passes in a row.',
        ]
      : []),
    ...(judged === true ? ['A model judged it, which is less reliable than a program.'] : []),
    ...(rounds.made === 0
      ? []
      : [`Checked ${rounds.made === 1 ? 'once' : `${counted(rounds.made)} times`}, in ${elapsed(rounds.ms)}.`]),
  ]
}

function lastLine(check: GoalCheck): string {
  const line = checkTail(check).split('\n').at(-1)?.trim() ?? ''
  return line === '' ? '' : `: ${line}`
}

function changedTestsText(files: readonly string[]): string {
  return `The agent changed ${many(files.length, 'test file')}: ${namesText(files)}.`
}

function shortName(name: string): string {
  return name.length > maxNameLength ? `${headOf(name, maxNameLength)}…` : name
}

function namesText(names: readonly string[]): string {
  const listed = names.slice(0, maxNames).map(shortName)
  return `${listed.join(', ')}${names.length > maxNames ? ` and ${counted(names.length - maxNames)} more` : ''}`
}

const sources: { readonly [by in RunGrade['by']]: string } = {
  person: 'graded by you',
  goal: 'by its goals',
  guess: 'a guess',
}

/** The grade of a run, and who gave it: `good, by its goals`. */
export function gradeText(grade: RunGrade | null): string {
  return grade === null ? 'not known' : `${grade.isGood ? 'good' : 'bad'}, ${sources[grade.by]}`
}
