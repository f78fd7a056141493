import type { ToolContext, ToolOutput } from '@halting/core'
import { errorResult } from '../result.ts'
import { withErrorResults } from '../error-results.ts'
import { workOfTask } from '../file-work.ts'
import type { Workspace } from '../workspace.ts'
import { watchShell } from './command.ts'
import { watchFile } from './file.ts'
import { linePatternOf } from './line-pattern.ts'
import { watchTask } from './task.ts'
import { waitOf, waitUntil } from './until.ts'
import { endedEarly, lowered, spanWords, unusablePattern, waited } from './wait-texts.ts'
import type { WaitResult, WaitCall, WaitInput, Watched } from './watched.ts'

/** How long a call may wait. */
export interface WaitTime {
  readonly seconds: number
  /** Whether the call requested more than the maximum. */
  readonly isLowered: boolean
}

/** Waits for what the call names, and returns the result. */
export async function waitFor(
  input: WaitInput,
  workspace: Workspace,
  context: ToolContext,
  time: WaitTime,
): Promise<ToolOutput> {
  const call: WaitCall = { input, workspace, context, wait: waitOf(context) }
  const { pattern: patternText } = input
  const pattern = patternText === undefined ? undefined : await linePatternOf(patternText)
  if (pattern !== undefined && 'problem' in pattern)
    return errorResult(unusablePattern(patternText ?? '', pattern.problem))
  if (input.task_id !== undefined) {
    const watched = watchTask(input.task_id, call, pattern)
    return 'content' in watched ? watched : waitWatching(watched, call, time)
  }
  if (input.command !== undefined) {
    const watched = await watchShell(input.command, call, pattern)
    return 'content' in watched ? watched : waitWatching(watched, call, time)
  }
  const { file_path: named, change = 'exists' } = input
  if (named === undefined) return waitWatching(onlyTime(time), call, time)
  return withErrorResults({ path: named, doing: 'read' }, () => {
    const real = workspace.realPathOf(workspace.pathOf(named), context)
    const { sinceMs, waitedMs } = call.wait
    // If an earlier process began the wait, the state at that time is unknown.
    const since = waitedMs >= resumedMs ? sinceMs : undefined
    return waitWatching(watchFile({ named, real, change, sinceMs: since }), call, time)
  })
}

/** A call that has just begun has waited less than this. */
const resumedMs = 1_000

function onlyTime({ seconds }: WaitTime): Watched<never> {
  const emptyResult = (): WaitResult => ({ sentences: '' })
  return { what: spanWords(seconds * 1_000), watch: () => () => undefined, met: emptyResult, unmet: emptyResult }
}

async function waitWatching<Value>(
  watched: Watched<Value>,
  { input, workspace, context, wait }: WaitCall,
  { seconds, isLowered }: WaitTime,
): Promise<ToolOutput> {
  const longestMs = seconds * 1_000
  const leftMs = Math.max(0, Math.round(Math.min(longestMs - wait.waitedMs, wait.leftMs)))
  const waitsFor = workspace.redact?.(watched.what) ?? watched.what
  context.progress({ waitsFor, sinceMs: wait.sinceMs, untilMs: Date.now() + leftMs, leftMs })
  const end = await waitUntil({ wait, signal: context.signal, longestMs }, watched.watch)
  await watched.settled?.()
  const waitedMs = Math.round(wait.waitedMs)
  const isTimeAsked = input.seconds !== undefined && end.kind === 'over'
  const isAsked = end.kind === 'met' || isTimeAsked
  const result = end.kind === 'met' ? watched.met(end.value) : watched.unmet(end.kind)
  if ('content' in result) return result
  const { sentences: resultSentences, line, output = '', details = {}, tasks, task } = result
  const sentences = [
    resultSentences,
    end.kind === 'met' || isTimeAsked ? waitedWords(waitedMs, isTimeAsked) : endedEarly(end.kind, waitedMs),
    isLowered ? lowered(longestMs) : '',
  ].filter((sentence) => sentence !== '')
  return {
    content: [line, sentences.join(' '), output].filter((part) => part !== undefined && part !== '').join('\n'),
    ...(end.kind === 'aborted' && { isError: true }),
    details: { waitedFor: waitsFor, outcome: isAsked ? 'met' : end.kind, waitedMs, ...details },
    ...(tasks !== undefined && { tasks }),
    ...(task !== undefined && workOfTask(task, workspace)),
  }
}

/** A timer may end a wait some microseconds early: the requested time is reported anyway. */
function waitedWords(waitedMs: number, isTimeAsked: boolean): string {
  return waitedMs < 1_000 && !isTimeAsked ? '' : waited(waitedMs)
}
