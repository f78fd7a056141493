import { messageContentOf } from '../model/content.ts'
import { ConfigurationError } from '../values/errors.ts'
import { fieldsOf, isName, isObject, isPrompt, optional, shown } from '../values/given.ts'
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

/** What `run` and `streamRun` are given: the options of a run, and what it is about. One of `prompt`, `messages` and `approvals` is required. */
export interface PromptOptions<Output = string> extends RunOptions {
  /** What the user says: a text, or blocks of the Messages API such as images. With `messages` it follows them. */
  readonly prompt?: MessageContent | undefined
  /**
   * The conversation so far, in the shape of the Messages API: `messages` of an earlier `RunOutcome`, or your own. Without a prompt its last message is of the user.
   * Calls of its last message that have no result wait: `approvals` answers them, and a prompt closes them as not approved.
   */
  readonly messages?: readonly HistoryMessage[] | undefined
  /** Answers to calls that wait at the end of `messages`, by the ids of the calls (`RunOutcome.pending`). In place of a prompt. */
  readonly approvals?: { readonly [callId: string]: PermissionDecision } | undefined
  /** What the answer must fit; `RunOutcome.output` is then what it parses to. */
  readonly output?: OutputSchema<Output>
  /** A name for the conversation, which idempotency keys of tools begin with; derived from the clock when absent. */
  readonly sessionId?: string
}

/** A run that is about to begin. */
export interface PromptStart {
  readonly start: RunState
  readonly options: RunOptions
}

/** The options of a run, without what it is about: a record says that of a run that is resumed or replayed with the options of `run`. */
export function runOptionsOf(given: PromptOptions<unknown>): RunOptions {
  // Plain JavaScript may give none: that is refused where the options are looked at.
  if (fieldsOf(given) === undefined) return given
  const { prompt: _prompt, messages: _messages, approvals: _approvals, sessionId: _sessionId, ...options } = given
  return options
}

/** @throws ConfigurationError for what a run cannot be about; its options are looked at when it starts. */
export function promptStart(given: PromptOptions<unknown>): PromptStart {
  if (fieldsOf(given) === undefined)
    throw new ConfigurationError(`A run is given an object with model and prompt, but it is ${shown(given)}.`)
  const { prompt, messages, approvals, sessionId } = given
  optional(isPrompt)('prompt', prompt)
  optional(isObject('an object'))('approvals', approvals)
  optional(isName)('sessionId', sessionId)
  if (prompt === undefined && messages === undefined)
    throw new ConfigurationError('There is nothing to ask the model. Give a prompt, or messages.')
  if (Array.isArray(prompt) && prompt.length === 0)
    throw new ConfigurationError('The prompt is an empty list. Give a text, or a block.')
  if (typeof prompt === 'string' && prompt.trim() === '')
    throw new ConfigurationError(
      'The prompt is empty, and services refuse an empty text. Give one that says what to do.',
    )
  const history = historyOf(given)
  if (prompt === undefined && approvals === undefined) checkEnd(history.entries.at(-1)?.kind)
  const before = lengthBefore(history.entries, prompt === undefined && approvals === undefined)
  const start = startRun({
    transcript: Transcript.of(history.entries),
    sessionId: sessionId ?? freshSessionId(given.clock ?? systemClock),
    runId: history.runId,
    ...(prompt !== undefined && { prompt }),
    ...(approvals !== undefined && { approvals }),
  })
  return {
    start: { ...start, startLength: before, ...(before > 0 && { history: before }) },
    options: runOptionsOf(given),
  }
}

interface History {
  readonly entries: readonly TranscriptEntry[]
  readonly runId: string
}

/**
 * The run over a history is named by what was said, so that the runs of one conversation have different names, and the same run again has the same one: idempotency
 * keys of tools begin with it.
 */
function historyOf({ messages, prompt, sessionId }: PromptOptions<unknown>): History {
  const entriesOf = (runId: string): readonly TranscriptEntry[] =>
    messages === undefined ? [] : historyEntries(messages, (place) => `${runId}/history:${place}`)
  const entries = entriesOf('run1')
  if (entries.length === 0 && sessionId === undefined) return { entries, runId: 'run1' }
  const message = { role: 'user', content: messageContentOf(prompt ?? '') } as const
  const said = Transcript.of([...entries, { kind: 'user', id: '', message, origin: 'prompt' }])
  const runId = runIdOf(said)
  return { entries: entriesOf(runId), runId }
}

function checkEnd(last: TranscriptEntry['kind'] | undefined): void {
  if (last === undefined) throw new ConfigurationError('messages is empty. Give a prompt, or what the user said.')
  if (last === 'assistant')
    throw new ConfigurationError(
      'The last of messages is an answer of the model. Give a prompt that follows it, or approvals for the calls that it makes.',
    )
}

/** Without a prompt what the user said last is what the run is about, and belongs to it. */
function lengthBefore(history: readonly { readonly kind: string }[], isAsked: boolean): number {
  return isAsked ? history.findLastIndex(({ kind }) => kind === 'assistant') + 1 : history.length
}
