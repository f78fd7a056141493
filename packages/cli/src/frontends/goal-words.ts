import type { GoalCheck, GoalResult, GoalSpec, RunEvent } from '@halting/core'
import { lineOfCheck, triesText } from '@halting/core/adapters'
import type { SessionGoal } from '@halting/core/session'
import { many, oneLine } from '../io/figures.ts'

// Goals as text, for every frontend.

type GoalEnd = Extract<RunEvent, { readonly type: 'goal_end' }>

const maxNameLength = 60
const maxFindingLength = 80

/** `npm test`, or for several `npm test, npm run lint`. */
export function goalNames(goals: readonly string[]): string {
  return oneLine(goals.map((name) => oneLine(name, maxNameLength)).join(', '), 2 * maxNameLength)
}

/** The result of a round of checks: `goal: npm test ✗ (try 2 of 10: 3 failed)`. `goals`: the names that were checked. */
export function goalLine(goals: readonly string[], event: GoalEnd): string {
  const { met, checks, tampered } = event
  if (met) return `goal: ${goalNames(goals)} ✓${event.place === 'baseline' ? ' (already met)' : ''}`
  const failed = checks.at(-1)
  if (failed === undefined && tampered.length === 0) return `goal: ${goalNames(goals)}: check not finished`
  const name = failed === undefined ? goalNames(goals) : goalNames([failed.name])
  const found = [placeText(event), findingText(event)].filter((text) => text !== '').join(': ')
  return `goal: ${name} ✗ (${found})`
}

function placeText({ place, tries, maxTries }: GoalEnd): string {
  switch (place) {
    case 'baseline':
      return 'before the run'
    case 'answer':
      return tries < maxTries ? `try ${tries + 1} of ${maxTries}` : `after ${triesText(tries)}`
    case 'turn':
      return ''
    case 'limit':
      return 'at the limit'
  }
}

/** Why a round of checks failed, in a few words. */
function findingText({ checks, tampered }: Pick<GoalEnd, 'checks' | 'tampered'>): string {
  if (tampered.length > 0) return oneLine(`changed: ${tampered.join(', ')}`, maxFindingLength)
  const check = checks.at(-1)
  if (check === undefined) return ''
  const line = lineOfCheck(check)
  if (line !== '') return oneLine(line, maxFindingLength)
  if (check.timedOut === true) return 'timed out'
  return check.exitCode === null ? 'failed' : `exit code ${check.exitCode}`
}

/** The status of the goals for a short line: `goal ✗ try 2/10`. */
export function goalStatus({ isChecked, last, tries, maxTries }: SessionGoal): string {
  if (!isChecked) return 'goal not checked in plan mode'
  const of = tries === 0 ? '' : ` try ${tries}/${maxTries}`
  if (last === null) return `goal${of}`
  return last.met ? 'goal ✓' : `goal ✗${of}`
}

/** One goal with the result of the last round: `Goal: npm test (try 2 of 10: 3 failed)`. */
export function goalEntry({ name, judged }: GoalSpec, { isChecked, last, tries, maxTries }: SessionGoal): string {
  const what = `${judged === true ? 'Goal (judged by a model)' : 'Goal'}: ${oneLine(name, 2 * maxNameLength)}`
  const failed = last?.checks.find((check) => check.name === name && !check.met)
  const isTampered = last !== null && last.tampered.length > 0
  const found = [
    ...(isChecked ? [] : ['not checked in plan mode']),
    ...(tries === 0 || last?.met === true ? [] : [`try ${tries} of ${maxTries}`]),
    ...(last !== null && (failed !== undefined || isTampered) ? [findingText(last)] : []),
  ]
  return found.length === 0 ? what : `${what} (${found.join(': ')})`
}

/** The rows of `/until` and `/goal`: each goal with the result of the last round. */
export function goalRows(goal: SessionGoal | null): readonly string[] {
  if (goal === null) return ['No goal is set.']
  const { goals, isChecked, isChecking, last, tries, maxTries } = goal
  const rows = goals.flatMap(({ name, judged }) => {
    const check = last?.checks.find((each) => each.name === name)
    const row = `${judged === true ? 'judged: ' : ''}${oneLine(name, 2 * maxNameLength)}${verdictText(check)}`
    const report = check === undefined || check.met ? [] : check.tail.split('\n')
    return [row, ...report.filter((line) => line.trim() !== '').map((line) => `  ${line}`)]
  })
  const more = [
    ...(tries === 0 ? [] : [`sent back ${tries} of ${maxTries} times`]),
    ...(last !== null && last.tampered.length > 0 ? [findingText(last)] : []),
    ...(last?.flaky === true ? ['the check is flaky'] : []),
    ...(isChecking ? ['check running'] : []),
    ...(isChecked ? [] : ['not checked in plan mode']),
    ...(last === null && isChecked && !isChecking ? ['not checked yet'] : []),
  ]
  return [...rows, ...(more.length === 0 ? [] : [`${more.join('; ')}.`])]
}

function verdictText(check: GoalCheck | undefined): string {
  if (check === undefined) return ''
  if (check.met) return ' ✓'
  return ` ✗ (${check.timedOut === true ? 'timed out' : check.exitCode === null ? 'not met' : `exit code ${check.exitCode}`})`
}

/** For a finished run: `goal met: npm test`; '' without a met goal. */
export function goalMetText(goal: GoalResult | undefined): string {
  if (goal?.met !== true) return ''
  const names = goalNames(goal.checks.map(({ name }) => name))
  const judged = goal.judged === true ? ', judged by a model' : ''
  return `goal met: ${names}${goal.heldFromStart === true ? ', already met at the start' : ''}${judged}`
}

const maxFiles = 5

/** Remarks on the goals in addition to whether they are met, one sentence each. */
export function goalRemarks(goal: GoalResult | undefined): readonly string[] {
  if (goal === undefined) return []
  const { met, changedTests, tampered, flaky } = goal
  const fileList = (files: readonly string[]): string => {
    const more = files.length > maxFiles ? ` and ${files.length - maxFiles} more` : ''
    return oneLine(`${files.slice(0, maxFiles).join(', ')}${more}`, 300)
  }
  return [
    ...(met === 'unknown' ? ['It is unknown whether the goal is met.'] : []),
    ...(tampered.length === 0 ? [] : [`Protected files of the check changed: ${fileList(tampered)}.`]),
    ...(changedTests.length === 0
      ? []
      : [`The agent changed ${many(changedTests.length, 'test file')}: ${fileList(changedTests)}.`]),
    ...(flaky
      ? ['The check is flaky: its result changed although no file did. --until-stable 3 requires 3 passes in a row.']
      : []),
  ]
}
