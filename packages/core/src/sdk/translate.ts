import { budgetWaitText } from '../state/budget-wait-text.ts'
import type { TaskNote } from '../verification/background.ts'
import { endings } from '../endings/table.ts'
import type { RunEvent } from '../state/events.ts'
import { fieldsOf } from '../values/validators.ts'
import { isUuid, uuidOf, uuidsUnder } from '../values/hash.ts'
import type { Json } from '../values/json.ts'
import { isoTimeOf } from '../values/iso-time.ts'
import { isToolResult } from '../model/messages.ts'
import type { AssistantEntry, TranscriptEntry, UserEntry } from '../conversation/transcript.ts'
import { ReplyLines } from './reply-lines.ts'
import type { SdkMessage as AnySdkMessage, SdkToolProgress, SdkUser, SdkInitInfo, SdkInit } from './sdk-messages.ts'
import type { RunContext } from '../run/run-context.ts'

/** Identifies the messages, and selects optional ones. */
export interface TranslateOptions {
  /** Session id in each message. */
  readonly sessionId: string
  /** Id of the run, for messages that are about it. */
  readonly runId: string
  /** Include the service's own events, as `stream_event`. */
  readonly includePartialMessages?: boolean | undefined
  /** Include messages for the start and end of hooks. Default: false. */
  readonly includeHookEvents?: boolean | undefined
}

/** Converts events of the loop to SDK messages: none, one or several for an event. */
export interface Translator {
  /** The messages for one event, in order; often none. */
  messages(event: RunEvent): readonly SdkMessage[]
}

/** The result message is derived from the run result, so it is not among these. */
type SdkMessage = AnySdkMessage<never>

const noMessages: readonly SdkMessage[] = Object.freeze([])

/** Creates a translator for one run: messages that are not in the transcript are numbered. */
export function createTranslator(options: TranslateOptions): Translator {
  const translation = new Translation(options)
  return { messages: (event) => translation.messagesFor(event, null) }
}

class Translation {
  readonly #options: TranslateOptions
  readonly #base: MakeBase
  readonly #lines: ReplyLines
  /** Tasks that a subagent reported. The subagent's result repeats them, so they are reported only once. */
  readonly #reportedTasks = new Set<string>()

  constructor(options: TranslateOptions) {
    this.#options = options
    this.#base = baseOf(options)
    this.#lines = new ReplyLines(this.#base)
  }

  messagesFor(event: RunEvent, parent: string | null): readonly SdkMessage[] {
    const base = this.#base
    switch (event.type) {
      case 'message':
        return this.#message(event.entry, parent)
      case 'model_update':
        return this.#update(event, parent)
      case 'tool_update':
        return [progressOf(event, parent, base())]
      case 'retry':
        return [retryOf(event, base())]
      case 'service_wait':
      case 'service_waited':
        return serviceWaitOf(event, parent, base)
      case 'budget_wait': {
        const message = budgetWaitText(event)
        return message === null ? noMessages : [informational(message, base())]
      }
      case 'goal_end':
        return [goalCheckOf(event, parent, base())]
      case 'permission_denied':
        return [permissionDeniedOf(event, base())]
      case 'hook_start':
        return this.#options.includeHookEvents ? [hookStartedOf(event, base())] : noMessages
      case 'hook_end':
        return this.#options.includeHookEvents ? [hookResponseOf(event, base())] : noMessages
      case 'model_start':
        this.#lines.begin(parent, event.model)
        return this.#options.includePartialMessages ? [statusOfRun('requesting', base())] : noMessages
      case 'model_end':
        return this.#options.includePartialMessages ? [statusOfRun(null, base())] : noMessages
      case 'compact_start':
        return [statusOfRun('compacting', base())]
      case 'compact_end':
        return [statusOfRun(null, base())]
      case 'notice':
        return [informational(event.message, base())]
      case 'agent':
        return [...taskMessages(event, base), ...this.messagesFor(event.event, event.callId)]
      case 'background':
        return event.error === null ? noMessages : [informational(`${event.name} failed: ${event.error}`, base())]
      default:
        return noMessages
    }
  }

  #message(entry: TranscriptEntry, parent: string | null): readonly SdkMessage[] {
    if (entry.kind === 'assistant') return this.#lines.rest(parent, entry)
    const messages = entryMessages(entry, parent, this.#base)
    const tasks = entry.kind === 'user' || entry.kind === 'attachment' ? entry.tasks : undefined
    if (tasks === undefined) return messages
    const news = tasks.filter((task) => this.#isNew(task))
    return [...messages, ...taskLines(news, this.#base)]
  }

  #isNew({ type, id }: TaskNote): boolean {
    const key = `${type} ${id}`
    const isFirst = id === null || !this.#reportedTasks.has(key)
    this.#reportedTasks.add(key)
    return isFirst
  }

  #update(
    { entryId, update }: Extract<RunEvent, { readonly type: 'model_update' }>,
    parent: string | null,
  ): readonly SdkMessage[] {
    const line = this.#lines.take(parent, entryId, update)
    if (line !== undefined) return [line]
    if (!this.#options.includePartialMessages || update.type !== 'api_event') return noMessages
    return [{ type: 'stream_event', event: update.event, parent_tool_use_id: parent, ...this.#base() }]
  }
}

function informational(message: string, base: ReturnType<MakeBase>): SdkMessage {
  return { type: 'system', subtype: 'informational', message, ...base }
}

function statusOfRun(status: 'requesting' | 'compacting' | null, base: ReturnType<MakeBase>): SdkMessage {
  return { type: 'system', subtype: 'status', status, ...base }
}

function permissionDeniedOf(
  { name, callId, message }: Extract<RunEvent, { readonly type: 'permission_denied' }>,
  base: ReturnType<MakeBase>,
): SdkMessage {
  return { type: 'system', subtype: 'permission_denied', tool_name: name, tool_use_id: callId, message, ...base }
}

function hookStartedOf(
  { hook, trigger }: Extract<RunEvent, { readonly type: 'hook_start' }>,
  base: ReturnType<MakeBase>,
): SdkMessage {
  return { type: 'system', subtype: 'hook_started', hook_id: hook, hook_name: hook, hook_event: trigger, ...base }
}

/** The id of a message in the transcript is derived from its entry; other messages are numbered. */
function baseOf({ sessionId, runId }: TranslateOptions): MakeBase {
  const numbered = uuidsUnder(`${sessionId}/${runId}/event:`)
  let counter = 0
  return (name) => ({
    uuid: name === undefined ? numbered(String(counter++)) : uuidOf(`${sessionId}/${name}`),
    session_id: sessionId,
  })
}

/** Messages for the start and end of a subagent. */
function taskMessages(
  { callId, agentType, description = agentType, inBackground, event }: Extract<RunEvent, { readonly type: 'agent' }>,
  base: MakeBase,
): readonly SdkMessage[] {
  // A background subagent is reported like a background task, by the id that the model knows.
  if (inBackground === true) return noMessages
  const task = { task_id: callId, tool_use_id: callId }
  if (event.type === 'run_start') return [{ type: 'system', subtype: 'task_started', ...task, description, ...base() }]
  if (event.type !== 'run_end') return noMessages
  const { reason, signal } = event.terminal
  const isDone = endings[reason].parentResult === 'done'
  const status = isDone ? 'completed' : signal.source === 'abort' ? 'stopped' : 'failed'
  const ended = { ...task, status, output_file: '', summary: signal.message }
  return [{ type: 'system', subtype: 'task_notification', ...ended, ...base() }]
}

/** Messages for background tasks that started, ended, or were ended with the run. */
function taskLines(notes: readonly TaskNote[], base: MakeBase): readonly SdkMessage[] {
  return notes.flatMap((note): readonly SdkMessage[] => {
    if (note.id === null || (note.type === 'left' && note.how === 'kept')) return []
    const task = { task_id: note.id, ...(note.callId !== undefined && { tool_use_id: note.callId }) }
    if (note.type === 'started')
      return [{ type: 'system', subtype: 'task_started', ...task, description: note.description, ...base() }]
    // Readers know three statuses: a lost task counts as stopped.
    const status = statusOf(note)
    const summary = note.type === 'left' ? `${leftSummary(note)}: ${note.description}.` : note.summary
    return [{ type: 'system', subtype: 'task_notification', ...task, status, output_file: '', summary, ...base() }]
  })
}

function statusOf(note: Exclude<TaskNote, { readonly type: 'started' }>): 'completed' | 'failed' | 'stopped' {
  if (note.type === 'left') return note.how === 'ended' ? (note.status ?? 'completed') : 'stopped'
  return note.status === 'unknown' ? 'stopped' : note.status
}

function leftSummary({ how }: Extract<TaskNote, { readonly type: 'left' }>): string {
  return how === 'ended' ? 'Ended, but not reported to the model' : 'Stopped when the run ended'
}

type MakeBase = (name?: string) => { readonly uuid: string; readonly session_id: string }

function progressOf(
  event: Extract<RunEvent, { readonly type: 'tool_update' }>,
  parent: string | null,
  base: ReturnType<MakeBase>,
): SdkMessage {
  const { data } = event
  const elapsed =
    typeof data === 'object' && data !== null && 'elapsedSeconds' in data ? Number(data.elapsedSeconds) : 0
  return {
    type: 'tool_progress',
    tool_use_id: event.callId,
    tool_name: event.name,
    parent_tool_use_id: parent,
    elapsed_time_seconds: elapsed,
    ...waitIn(data),
    ...base,
  }
}

/** The wait that a tool reports in its progress. */
function waitIn(data: Json): Pick<SdkToolProgress, 'waits_for' | 'waits_until_ms'> {
  const { waitsFor, untilMs } = fieldsOf(data) ?? {}
  if (typeof waitsFor !== 'string') return {}
  return { waits_for: waitsFor, ...(typeof untilMs === 'number' && { waits_until_ms: untilMs }) }
}

function retryOf(
  { attempt, maxRetries, delayMs, error }: Extract<RunEvent, { readonly type: 'retry' }>,
  base: ReturnType<MakeBase>,
): SdkMessage {
  return {
    type: 'system',
    subtype: 'api_retry',
    attempt,
    max_retries: maxRetries,
    retry_delay_ms: delayMs,
    error_status: error.status,
    error: error.kind,
    ...base,
  }
}

function hookResponseOf(
  { hook, trigger, outcome }: Extract<RunEvent, { readonly type: 'hook_end' }>,
  base: ReturnType<MakeBase>,
): SdkMessage {
  const errorText = outcome.error ?? ''
  return {
    type: 'system',
    subtype: 'hook_response',
    hook_id: hook,
    hook_name: hook,
    hook_event: trigger,
    stdout: '',
    stderr: errorText,
    output: JSON.stringify(outcome),
    outcome: outcome.aborted !== undefined ? 'cancelled' : errorText === '' ? 'success' : 'error',
    ...base,
  }
}

/** The event at the end of a wait says what ended it. */
function serviceWaitOf(
  event: Extract<RunEvent, { readonly type: 'service_wait' | 'service_waited' }>,
  parent: string | null,
  base: MakeBase,
): readonly SdkMessage[] {
  const { model, error } = event
  const common = {
    type: 'system',
    subtype: 'service_wait',
    model,
    error_status: error.status,
    error: error.kind,
    message: error.message,
    parent_tool_use_id: parent,
  } as const
  if (event.type === 'service_waited') {
    const { outcome, waitedMs } = event
    return [{ ...common, state: 'ended', outcome, waited_ms: waitedMs, ...base() }]
  }
  if (!event.isWaiting) return noMessages
  const [since, until] = [isoTimeOf(event.sinceMs) ?? '', isoTimeOf(event.untilMs) ?? '']
  return [{ ...common, state: 'waiting', since, until, ...base() }]
}

function goalCheckOf(
  event: Extract<RunEvent, { readonly type: 'goal_end' }>,
  parent: string | null,
  base: ReturnType<MakeBase>,
): SdkMessage {
  const { place, met, checks, tampered, changedByChecks, changedTests, tries, maxTries, flaky, durationMs } = event
  return {
    type: 'system',
    subtype: 'goal_check',
    place,
    met,
    checks,
    tampered,
    changed_by_checks: changedByChecks,
    changed_tests: changedTests,
    tries,
    max_tries: maxTries,
    flaky,
    duration_ms: durationMs,
    parent_tool_use_id: parent,
    ...base,
  }
}

function entryMessages(
  entry: Exclude<TranscriptEntry, AssistantEntry>,
  parent: string | null,
  base: MakeBase,
): readonly SdkMessage[] {
  switch (entry.kind) {
    case 'user':
      return userMessages(entry, parent, base)
    case 'compact_boundary': {
      const { trigger, preTokens, postTokens } = entry
      const metadata = {
        trigger: trigger === 'manual' ? 'manual' : 'auto',
        pre_tokens: preTokens,
        post_tokens: postTokens,
      } as const
      return [{ type: 'system', subtype: 'compact_boundary', compact_metadata: metadata, ...base(entry.id) }]
    }
    case 'attachment': {
      const { attachment } = entry
      if (attachment.type === 'max_turns_reached') return noMessages
      return [{ type: 'system', subtype: 'informational', message: attachment.message, ...base(entry.id) }]
    }
    case 'results_cleared':
    case 'collapse_staged':
      return noMessages
    case 'media_removed':
      return [{ type: 'system', subtype: 'informational', message: entry.note, ...base(entry.id) }]
  }
}

/** One message for each tool result; any other user message unchanged. The person's own prompt is not repeated to them. */
function userMessages(entry: UserEntry, parent: string | null, base: MakeBase): readonly SdkUser[] {
  const { content } = entry.message
  // A person's action is not synthetic; this includes an interruption.
  const synthetic = entry.origin === 'hook' || entry.origin === 'loop'
  if (entry.origin === 'prompt' && parent === null) return []
  if (typeof content === 'string' || entry.origin !== 'tool_results') {
    return [
      {
        type: 'user',
        message: { role: 'user', content },
        parent_tool_use_id: parent,
        ...(synthetic ? { isSynthetic: true as const } : {}),
        ...base(entry.id),
        // The caller knows the message by its inbox id.
        ...(entry.inboxId !== undefined && isUuid(entry.inboxId) && { uuid: entry.inboxId }),
      },
    ]
  }
  return content.filter(isToolResult).map((block, index) => {
    const details = entry.details?.[block.tool_use_id]
    return {
      type: 'user',
      message: { role: 'user', content: [block] },
      parent_tool_use_id: parent,
      ...(details === undefined ? {} : { tool_use_result: details }),
      ...base(`${entry.id}.${index}`),
    }
  })
}

/** Default fields of `system/init`. */
const defaultInit: SdkInitInfo = {
  cwd: '',
  mcp_servers: [],
  permissionMode: 'default',
  slash_commands: [],
  output_style: 'default',
  skills: [],
  plugins: [],
  apiKeySource: 'none',
  claude_code_version: '2.1.0',
}

/** The first message of a run: the model, the mode and the tools that it starts with. */
export function initMessage(
  { model, settings, toolDefinitions }: RunContext,
  init: Partial<SdkInitInfo> | undefined,
  { sessionId, runId }: { readonly sessionId: string; readonly runId: string },
): SdkInit {
  return {
    type: 'system',
    subtype: 'init',
    ...defaultInit,
    ...init,
    ...(settings.permissionMode !== null && { permissionMode: settings.permissionMode }),
    tools: toolDefinitions.map(({ name }) => name),
    model: model.id,
    uuid: uuidOf(`${sessionId}/${runId}/init`),
    session_id: sessionId,
  }
}
