import type { RunEvent } from '../state/events.ts'
import { isToolUse, textOf, type Usage } from '../model/messages.ts'
import type { Model } from '../model/model.ts'
import type { OutputSchema } from '../tools/output-schema.ts'
import type { RunState } from '../state/state.ts'
import { endings } from '../endings/table.ts'
import { isEndingReason } from '../endings/is-ending-reason.ts'
import { endOfAnswer } from '../conversation/verified-answer.ts'
import type { ModelFigures, RunResult } from '../endings/run-result.ts'
import type { SdkModelUsage, SdkPermissionDenial, SdkResult, SdkStop } from './sdk-messages.ts'

/** The parts of a run, other than its ending, that the result message reports. */
type RunOfResult = Pick<RunState, 'transcript' | 'startLength' | 'spent'>

export interface ResultInput<Output> {
  readonly uuid: string
  readonly sessionId: string
  readonly terminal: RunResult
  readonly state: RunOfResult
  readonly denials: readonly SdkPermissionDenial[]
  /** US dollars of all runs of the session. */
  readonly sessionCostUsd: number
  readonly sessionUsage: { readonly [model: string]: ModelFigures }
  readonly models: readonly Model[]
  /** Overrides the window of the models. */
  readonly contextWindow: number | null
  readonly output: OutputSchema<Output> | undefined
}

/** The result message: exactly one for each run, and its last message. */
export function resultMessage<Output>(input: ResultInput<Output>): SdkResult<Output> {
  const { terminal, state } = input
  const { subtype, sdkName } = endings[terminal.reason]
  const answer = lastAnswer(state)
  const checked = checkedAnswer(input)
  const common = {
    type: 'result',
    subtype,
    duration_ms: terminal.durationMs,
    duration_api_ms: terminal.summary.apiMs,
    is_error: subtype !== 'success',
    num_turns: terminal.summary.turns,
    stop_reason: state.spent.lastStopReason,
    total_cost_usd: input.sessionCostUsd,
    usage: terminal.summary.usage,
    modelUsage: Object.fromEntries(
      Object.entries(input.sessionUsage).map(([model, figures]) => [model, modelUsage(model, figures, input)]),
    ),
    permission_denials: input.denials,
    terminal_reason: sdkName ?? terminal.reason,
    stop: stopOf(terminal),
    ...(terminal.retryAt !== undefined && { retryAt: terminal.retryAt }),
    ...(terminal.goal !== undefined && { goal: terminal.goal }),
    ...(terminal.verified !== undefined && { verified: terminal.verified }),
    uuid: input.uuid,
    session_id: input.sessionId,
  } as const
  if (subtype !== 'success') {
    const isAnswer = answer !== '' && !asksForTool(state)
    return { ...common, errors: [errorTextOf(terminal)], ...(isAnswer && { last_answer: answer }) }
  }
  return checked === undefined
    ? { ...common, result: answer }
    : { ...common, result: checked.text, structured_output: checked.value }
}

/** The last reply, validated against the schema. The loop has validated it before; if validation fails now, the result stays unchanged. */
function checkedAnswer<Output>({
  output,
  state,
}: ResultInput<Output>): { readonly text: string; readonly value: Output } | undefined {
  if (output === undefined) return undefined
  const text = lastReplyText(state)
  try {
    const checked = output.check(text)
    return checked.fits ? { text, value: checked.value } : undefined
  } catch {
    return undefined
  }
}

// Spec R-GOAL-23.
/**
 * The result as hosts receive it. An ending that hosts know as a success stays a success, with the answer in `result`.
 * `terminal_reason` and `stop` report the actual ending.
 */
export function resultForHosts(result: SdkResult): SdkResult {
  if (result.subtype === 'success') return result
  const { reason } = result.stop
  // In a cluster, a later version may have written the session.
  if (!isEndingReason(reason) || !endings[reason].hostsReadResult) return result
  const { errors: _errors, last_answer: answer = '', ...common } = result
  return { ...common, subtype: 'success', is_error: false, result: answer }
}

// Spec R-SDK-13.
/** The texts that readers of result lines know, one for each ending; otherwise the signal's message. */
export function errorTextOf({ reason, signal }: RunResult): string {
  const { limit } = signal.context
  if (reason === 'max_turns' && typeof limit === 'number') return `Reached maximum number of turns (${limit})`
  return signal.message || reason
}

/** Why a run ended, for the result line and the session file. */
export function stopOf(terminal: RunResult): SdkStop {
  const { reason, message, context, source } = terminal.signal
  return {
    reason: terminal.reason,
    category: reason,
    message,
    context,
    source,
    forced: terminal.signal.wasForceStopped(),
  }
}

function modelUsage(
  model: string,
  { usage, costUsd }: ModelFigures,
  { models, contextWindow }: Pick<ResultInput<unknown>, 'models' | 'contextWindow'>,
): SdkModelUsage {
  const known = models.find(({ id }) => id === model)
  return {
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    cacheReadInputTokens: usage.cache_read_input_tokens,
    cacheCreationInputTokens: usage.cache_creation_input_tokens,
    webSearchRequests: searches(usage),
    costUSD: costUsd,
    contextWindow: contextWindow ?? known?.contextWindow ?? 0,
    maxOutputTokens: known?.maxOutputTokens ?? 0,
  }
}

function searches(usage: Usage): number {
  return usage.server_tool_use?.web_search_requests ?? 0
}

function asksForTool({ transcript, startLength }: RunOfResult): boolean {
  const content = transcript.lastReply(startLength)?.content
  return content?.some(isToolUse) === true
}

/** Where the texts of a run are stored. */
type RunTexts = Pick<RunState, 'transcript' | 'startLength'>

/** The text of the run's last reply, or of the answer that is still valid; '' without one. */
export function lastReplyText({ transcript, startLength }: RunTexts): string {
  return textOf(transcript.lastReply(startLength, endOfAnswer(transcript, startLength))?.content ?? '')
}

// Spec R-GOAL-22.
/**
 * The answer of the run: the text of its last reply, or if that has none the newest text since the prompt. '' without one; white
 * space alone does not count.
 */
export function lastAnswer(texts: RunTexts): string {
  const { transcript, startLength } = texts
  const last = lastReplyText(texts)
  return last.trim() === ''
    ? transcript.lastText(transcript.promptOf(startLength), endOfAnswer(transcript, startLength))
    : last
}

/** Collects denied calls, including those of subagents. */
export function collectDenials(event: RunEvent, denials: SdkPermissionDenial[]): void {
  if (event.type === 'agent') collectDenials(event.event, denials)
  if (event.type === 'permission_denied')
    denials.push({ tool_name: event.name, tool_use_id: event.callId, tool_input: event.input })
}
