import type { RunEvent } from '@halting/core'
import { oneLine } from '../io/figures.ts'

// Goals in words, for every frontend that shows a session.

type GoalEnd = Extract<RunEvent, { readonly type: 'goal_end' }>

const longestName = 60
const longestFinding = 80

/** `npm test`, and of several each: `npm test, npm run lint`. */
export function goalNames(goals: readonly string[]): string {
  return oneLine(goals.map((name) => oneLine(name, longestName)).join(', '), 2 * longestName)
}

/** What a round of checks came to: `goal: npm test ✗ (try 2 of 10: 3 failed)`. `goals`: those that were checked. */
export function goalLine(goals: readonly string[], event: GoalEnd): string {
  const { met, checks, tampered } = event
  if (met) return `goal: ${goalNames(goals)} ✓${event.place === 'baseline' ? ' (it holds already)' : ''}`
  const failed = checks.at(-1)
  if (failed === undefined && tampered.length === 0) return `goal: ${goalNames(goals)}: not checked to its end`
  const name = failed === undefined ? goalNames(goals) : goalNames([failed.name])
  const found = [placeText(event), findingText(event)].filter((text) => text !== '').join(': ')
  return `goal: ${name} ✗ (${found})`
}

function placeText({ place, tries, maxTries }: GoalEnd): string {
  switch (place) {
    case 'baseline':
      return 'before it began'
    case 'answer':
      return tries < maxTries ? `try ${tries + 1} of ${maxTries}` : `after ${triesText(tries)}`
    case 'turn':
      return ''
    case 'limit':
      return 'at the limit'
  }
}

export function triesText(tries: number): string {
  return tries === 1 ? '1 try' : `${tries} tries`
}

/** Why a round was not met, in a few words. */
function findingText({ checks, tampered }: Pick<GoalEnd, 'checks' | 'tampered'>): string {
  if (tampered.length > 0) return oneLine(`changed: ${tampered.join(', ')}`, longestFinding)
  const check = checks.at(-1)
  if (check === undefined) return ''
  const line = tellingLine(check.tail)
  if (line !== '') return oneLine(line, longestFinding)
  if (check.timedOut === true) return 'it took too long'
  return check.exitCode === null ? 'it failed' : `exit code ${check.exitCode}`
}

/** A count of what failed, as test runners and compilers print it: `3 failed`, `fail 3`, `2 errors`. */
const countOfFailures =
  /\b[1-9]\d*\s+(?:\w+\s+){0,2}(?:fail|error|problem)|\b(?:fail(?:ed|ures?)?|errors?)\b[:\s]+[1-9]\d*\b/i

/** Of the end of a report the line that says how much failed; where none does, the last one. */
function tellingLine(tail: string): string {
  const lines = tail.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
  return lines.findLast((line) => countOfFailures.test(line)) ?? lines.at(-1) ?? ''
}
