// Results of the Wait tool.
import { headOf } from '@halting/core/adapters'
import type { Unmet } from './until.ts'

/** A span of time in words, rounded to seconds: `45 s`, `10 min`, `1 h 5 min`. */
export function spanWords(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  const [hours, minutes, rest] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  const parts = [
    [hours, 'h'],
    [minutes, 'min'],
    [hours === 0 ? rest : 0, 's'],
  ] as const
  return parts.flatMap(([count, unit]) => (count === 0 ? [] : [`${count} ${unit}`])).join(' ')
}

const longestPattern = 80

/** A pattern between slashes, at most 80 characters of it. */
function patternText(pattern: string): string {
  return `/${pattern.length <= longestPattern ? pattern : `${headOf(pattern, longestPattern)} ...`}/`
}

// What a call waits for, after "waits for".

export const taskEnd = (id: string): string => `${id} to end`
export const taskOutput = (id: string, pattern: string): string => `${id} to write ${patternText(pattern)}`
export const commandSuccess = 'the command to exit with 0'
export const commandOutput = (pattern: string): string => `the command to print ${patternText(pattern)}`

export function fileChange(name: string, change: 'exists' | 'changes' | 'gone'): string {
  return `${name} ${{ exists: 'to exist', gone: 'to be deleted', changes: 'to change' }[change]}`
}

// Calls that cannot wait.

export const noBash =
  'Wait cannot run commands, because Bash is not available. Give task_id, file_path or seconds instead.'
export const patternOfAgent =
  'pattern works only with background commands. To wait for an agent to end, leave pattern out.'

export function unusablePattern(pattern: string, problem: string): string {
  return `Invalid pattern ${patternText(pattern)}: ${problem}.`
}

export const patternProblems = {
  lineBreak: 'it contains a line break, but is matched against single lines',
  noRipgrep: 'regular expressions need ripgrep (@vscode/ripgrep), which is not installed here; use plain words',
  tooSlow: 'ripgrep took too long to match it',
}
export const ripgrepFailed = (message: string): string => `ripgrep did not start: ${message}`

/** What is wrong with fields that do not belong together. */
export function wrongFields(
  problem: 'pattern' | 'change' | 'every_seconds' | 'unconfined' | 'none' | { readonly several: readonly string[] },
): string {
  if (typeof problem === 'object')
    return `Wait: give only one of task_id, file_path, command and seconds (received ${problem.several.join(' and ')}).`
  switch (problem) {
    case 'none':
      return 'Wait: give one of task_id, file_path, command and seconds.'
    case 'pattern':
      return 'Wait: pattern works only with task_id or command. To wait for text in a file, use command, e.g. grep -q "ready" server.log.'
    case 'change':
      return 'Wait: change works only with file_path.'
    case 'every_seconds':
      return 'Wait: every_seconds works only with command.'
    case 'unconfined':
      return 'Wait: unconfined works only with command.'
  }
}

// How the wait ended.

export const lowered = (ms: number): string => `The time was lowered to the maximum of ${spanWords(ms)}.`
export const waited = (ms: number): string => `Waited ${spanWords(ms)}.`

export function endedEarly(why: Unmet, ms: number): string {
  const span = spanWords(ms)
  switch (why) {
    case 'over':
      return `Timed out after ${span}.`
    case 'limit':
      return `Stopped waiting after ${span}: the time limit of this run is almost used up. Report what you have.`
    case 'arrived':
      return `Stopped waiting after ${span}: the user sent a message or wants to stop. You receive it before your next reply; do not wait again until you have read it.`
    case 'aborted':
      return `Interrupted after ${span}.`
  }
}

// The state of the subject at the end.

export const commandSucceeded = 'The command exited with 0.'
export const commandPrinted = (line: string): string => `The command printed: ${line}`
export const noRunEnded = 'The command has not finished a single run.'
export const commandFailed = (message: string): string => `The command could not be run: ${message}`

export function lastRun(
  end:
    | { readonly kind: 'late'; readonly seconds: number }
    | { readonly kind: 'not started'; readonly detail?: string | undefined }
    | { readonly kind: 'exited'; readonly exitCode: number | null }
    | { readonly kind: 'signal'; readonly detail?: string | undefined },
  runs: number,
): string {
  return `The last run ${howEnded(end)}. ${runCount(runs)}`
}

function howEnded(end: Parameters<typeof lastRun>[0]): string {
  switch (end.kind) {
    case 'late':
      return `was stopped after ${end.seconds} s without ending`
    case 'not started':
      return `could not be started: ${end.detail ?? 'unknown error'}`
    case 'exited':
      return `exited with ${end.exitCode}`
    case 'signal':
      return `was ended by ${end.detail ?? 'a signal'}`
  }
}

export const runCount = (runs: number): string => (runs === 1 ? 'It ran once.' : `It ran ${runs} times.`)

/** A file or folder: if it exists, its size in bytes and when it changed (ISO 8601, null if unknown). */
export function fileState(
  name: string,
  state:
    | { readonly problem: string }
    | 'no answer'
    | 'missing'
    | { readonly size: number; readonly changed: string | null },
): string {
  if (state === 'no answer')
    return `${name}: unknown. The file system has not answered (for example, a network folder that is offline).`
  if (state === 'missing') return `${name} does not exist.`
  if ('problem' in state) return `${name} cannot be checked now: ${state.problem}.`
  return `${name} exists: ${state.size} bytes, changed ${state.changed ?? 'at an unknown time'}.`
}

export const unknownFileProblem = 'the operating system refused'

export const agentRunning = (id: string): string => `${id} is still running.`
export const agentEnded = (id: string): string => `${id} has ended. You receive its result before your next reply.`
export const taskWrote = (id: string, line: string): string => `${id} wrote: ${line}`

/** @param state how the task ended or that it is running, as a sentence */
export function taskState(id: string, state: string, isUnmatched: boolean): string {
  return `${id}: ${state}${isUnmatched ? ' No line of its output matched the pattern.' : ''}`
}
