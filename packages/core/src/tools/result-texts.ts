// Results that the loop writes in place of a tool, and notes in shortened results.
import type { JsonObject } from '../values/json.ts'

export const noOutputText = '(no output)'
export const silentFailure = 'The tool failed without an error message.'
export const toolStoppedRun = 'The run stops here.'

// Calls that did not run or did not finish. Readers of records rely on the prefixes `Interrupted by user` and `Not run: `.

export const interrupted = 'Interrupted by user'
export const interruptedStillRunning =
  'Interrupted by user. The tool did not stop and may still be running. Check the state of what it changes before you rely on it.'
export const notRunText = (why: string): string => `Not run: ${why}`

/** Why a call was not run. */
export const notRunReasons = {
  runStopped: 'the run stopped before this call',
  runFailed: 'the run failed before this call',
  runEnded: 'the run ended before this call',
  hookStopped: 'a hook stopped the run before this call',
  refused: 'the model refused to continue',
  lastAnswer: 'this was the final answer of the run, which cannot call tools',
  skipped: 'it was skipped, and later calls were run',
  notApproved: 'it was waiting for approval when a new message arrived',
}
export const runStoppedBy = (signal: string): string => `the run stopped (${signal})`

export const unknownOutcomeText: string =
  'The outcome of this call is unknown: the process ended while it ran. It may have taken effect fully, partly or not at all. ' +
  'Check the current state before you continue, and do not simply repeat the call.'

/** A result that hooks have not inspected. */
export function withheldText(how: 'failed' | 'aborted' | 'killed'): string {
  return `The call ended, but its result is withheld: the run ${endsOfRun[how]} before the hooks that inspect results had run.`
}

const endsOfRun = { failed: 'failed', aborted: 'was aborted', killed: 'lost its process' } as const

/** The result of a call whose redacting hook failed. */
export const withheldByHook = 'The call ended, but its result is withheld: a hook that redacts results failed.'

// Shortened results.

/** The call by which the model reads a stored result. */
export interface ReadCall {
  readonly tool: string
  readonly input: JsonObject
  /** The field for the number of the first line to read, if any. */
  readonly lineField?: string
}

/** The location of the full text, or why it was not stored. */
export type Whole =
  | {
      readonly savedAs: string
      /** Whether the stored text is longer than the shortened one. */
      readonly isMore?: true
      readonly readCall?: ReadCall
    }
  | { readonly lostBecause: string }

/** The note that replaces the middle of a result. `line`: the line of the result where the gap begins, counted from 1. */
export function omittedNote(
  omitted: { readonly characters: number; readonly lines: number; readonly line: number },
  length: number,
  whole: Whole,
): string {
  const { characters, lines, line } = omitted
  const inLines = lines === 0 ? '' : ` (${lines} ${lines === 1 ? 'line' : 'lines'})`
  const remainder =
    'savedAs' in whole
      ? `The complete result${whole.isMore === true ? '' : ` (${length} characters)`} is in ${whole.savedAs}. ${howToRead(whole.readCall, line)}`
      : `They could not be saved: ${whole.lostBecause}. If you need them, request a smaller part.`
  return `[... ${characters} characters${inLines} omitted. ${remainder} ...]`
}

/** The note after a result whose tool omitted the middle itself. */
export function completeOutputNote(whole: Whole): string {
  return 'savedAs' in whole
    ? `[The complete output is in ${whole.savedAs}. ${howToRead(whole.readCall, 1)}]`
    : `[The omitted part could not be saved: ${whole.lostBecause}.]`
}

function howToRead(readCall: ReadCall | undefined, line: number): string {
  if (readCall === undefined) return 'Search it, or read the part that you need.'
  const { tool, input, lineField } = readCall
  const call = lineField === undefined ? input : { ...input, [lineField]: line }
  return `Search it, or use ${tool} with ${JSON.stringify(call)}.`
}

/** Why a full result is not stored. */
export const lostReasons = {
  noStore: 'results are no longer stored',
  aborted: 'the run was aborted',
  failed: 'the run failed',
  noName: 'the store returned no name for it',
  unknown: 'saving it failed',
}

// Messages to the model about a subagent that cannot be started.

export const missingTools = (agent: string, names: readonly string[]): string =>
  `The agent ${agent} cannot be started: it needs ${names.join(', ')}, which this run does not have. Do the work yourself.`
