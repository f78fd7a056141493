import { messageContentOf } from '../model/content.ts'
import { ConfigurationError } from '../values/errors.ts'
import { fieldsOf, isName, isObject, isPrompt, optional, describeValue } from '../values/validators.ts'
import { historyEntries, type HistoryMessage } from '../conversation/history.ts'
import type { MessageContent } from '../model/messages.ts'
import type { RunOptions } from './options.ts'
import type { OutputSchema } from '../tools/output-schema.ts'
import { freshSessionId, runIdOf } from './run-id.ts'
import { startRun } from './start.ts'
import type { RunState } from '../state/state.ts'
import { systemClock } from '../values/system-clock.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'
import { Transcript, type TranscriptEntry } from '../conversation/transcript.ts'

/** The input of `run` and `streamRun`: the options of a run, and its prompt. One of `prompt`, `messages` and `approvals` is required. */
export interface PromptOptions<Output = string> extends RunOptions {
  /** The user's input: a text, or blocks of the Messages API such as images. With `messages` it follows them. */
  readonly prompt?: MessageContent | undefined
  /**
   * The conversation so far, in the format of the Messages API, for example `messages` of an earlier `RunOutcome`.
   * Without a prompt, its last message must be the user's. Calls of its last message that have no result are pending:
   * `approvals` answers them, and a prompt closes them as not approved.
   */
  readonly messages?: readonly HistoryMessage[] | undefined
  /** Answers to pending calls at the end of `messages`, by the ids of the calls (`RunOutcome.pending`). Used in place of a prompt. */
  readonly approvals?: { readonly [callId: string]: PermissionDecision } | undefined
  /** The schema for the answer; `RunOutcome.output` is then the parsed answer. */
  readonly output?: OutputSchema<Output>
  /** A name for the conversation. Idempotency keys of tools begin with it. Default: derived from the clock. */
  readonly sessionId?: string
}

/** A run that is about to begin. */
export interface PromptStart {
  readonly start: RunState
  readonly options: RunOptions
}

/** The options of a run, without its prompt and history. A resume or a replay reads those from the record. */
export function runOptionsOf(input: PromptOptions<unknown>): RunOptions {
  // Plain JavaScript may pass any value. The validation of the options rejects it.
  if (fieldsOf(input) === undefined) return input
  const { prompt: _prompt, messages: _messages, approvals: _approvals, sessionId: _sessionId, ...options } = input
  return options
}

/** @throws ConfigurationError for an invalid prompt or history. The options are validated when the run starts. */
export function promptStart(input: PromptOptions<unknown>): PromptStart {
  if (fieldsOf(input) === undefined)
    throw new ConfigurationError(`A run needs an object with model and prompt, but it is ${describeValue(input)}.`)
  const { prompt, messages, approvals, sessionId } = input
  optional(isPrompt)('prompt', prompt)
  optional(isObject('an object'))('approvals', approvals)
  optional(isName)('sessionId', sessionId)
  if (prompt === undefined && messages === undefined)
    throw new ConfigurationError('There is no input for the model. Pass a prompt, or messages.')
  if (Array.isArray(prompt) && prompt.length === 0)
    throw new ConfigurationError('The prompt is an empty list. Give a text, or a block.')
  if (typeof prompt === 'string' && prompt.trim() === '')
    throw new ConfigurationError(
      'The prompt is empty, and services refuse an empty text. Give one that says what to do.',
    )
  const history = historyOf(input)
  if (prompt === undefined && approvals === undefined) checkEnd(history.entries.at(-1)?.kind)
  const before = lengthBefore(history.entries, prompt === undefined && approvals === undefined)
  const start = startRun({
    transcript: Transcript.of(history.entries),
    sessionId: sessionId ?? freshSessionId(input.clock ?? systemClock),
    runId: history.runId,
    ...(prompt !== undefined && { prompt }),
    ...(approvals !== undefined && { approvals }),
  })
  return {
    start: { ...start, startLength: before, ...(before > 0 && { history: before }) },
    options: runOptionsOf(input),
  }
}

interface History {
  readonly entries: readonly TranscriptEntry[]
  readonly runId: string
}

/**
 * Names the run after its content, so that runs of one conversation have different names, and a repeated run has the
 * same name. Idempotency keys of tools begin with it.
 */
function historyOf({ messages, prompt, sessionId }: PromptOptions<unknown>): History {
  const entriesOf = (runId: string): readonly TranscriptEntry[] =>
    messages === undefined ? [] : historyEntries(messages, (place) => `${runId}/history:${place}`)
  const entries = entriesOf('run1')
  if (entries.length === 0 && sessionId === undefined) return { entries, runId: 'run1' }
  const message = { role: 'user', content: messageContentOf(prompt ?? '') } as const
  const conversation = Transcript.of([...entries, { kind: 'user', id: '', message, origin: 'prompt' }])
  const runId = runIdOf(conversation)
  return { entries: entriesOf(runId), runId }
}

function checkEnd(last: TranscriptEntry['kind'] | undefined): void {
  if (last === undefined) throw new ConfigurationError('messages is empty. Pass a prompt, or a user message.')
  if (last === 'assistant')
    throw new ConfigurationError(
      'The last message is an answer of the model. Pass a prompt that follows it, or approvals for its calls.',
    )
}

/** The number of transcript entries from before the run. Without a prompt, the last user input belongs to the run. */
function lengthBefore(history: readonly { readonly kind: string }[], isAsked: boolean): number {
  return isAsked ? history.findLastIndex(({ kind }) => kind === 'assistant') + 1 : history.length
}
