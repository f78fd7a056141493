import type { ClientCapabilities, SessionUpdate } from '@agentclientprotocol/sdk'
import type { Question, SessionEvent, SessionSnapshot } from '@halting/core/session'
import type { RunEvent, RunResult } from '@halting/core'
import { budgetWaitText, isToolResult, isToolUse, messageOf, spendsTurn } from '@halting/core/adapters'
import { uncheckedSentence } from '../frontends/unchecked-text.ts'
import { iterationText } from '../frontends/iteration-text.ts'
import { longRetryText, serviceWaitText, serviceWaitOf } from '../frontends/wait-text.ts'
import { elapsed, oneLine } from '../io/figures.ts'
import { type CallingAgent, CallUpdates } from './call-updates.ts'
import { GoalUpdates } from './goal-updates.ts'
import { ReplyText } from './reply-text.ts'
import { sentenceOf, type Severity, severityOf } from './stop-reason.ts'
import type { ToolView } from './tool-view.ts'

/** The capabilities of a client that decide how it is notified. */
export interface ClientFeatures {
  readonly notices: boolean
  readonly compaction: boolean
}

export function clientFeaturesOf(capabilities: ClientCapabilities | undefined): ClientFeatures {
  return {
    notices: (capabilities?.session?.notices ?? undefined) !== undefined,
    compaction: (capabilities?.session?.compaction ?? undefined) !== undefined,
  }
}

/** Translates the events of a live session into updates for the client (spec R-ACP-3). */
export class EventUpdates {
  readonly #features: ClientFeatures
  readonly #snapshot: () => SessionSnapshot
  readonly #calls: CallUpdates
  readonly #reply = new ReplyText()
  readonly #goals: GoalUpdates
  /** Subagents, by the id under which they make requests. */
  readonly #agents = new Map<string, CallingAgent>()
  #notes = 0
  #compactions = 0

  constructor(
    by: ClientFeatures,
    cwd: string,
    snapshot: () => SessionSnapshot,
    redact: (text: string) => string = (text) => text,
  ) {
    this.#features = by
    this.#snapshot = snapshot
    this.#goals = new GoalUpdates(redact)
    this.#calls = new CallUpdates(cwd, redact, (todos) => this.#goals.withTodos(todos))
  }

  updatesFor(event: SessionEvent): readonly SessionUpdate[] {
    switch (event.type) {
      case 'loop':
        return this.#runEventUpdates(event.event, mainConversation)
      case 'note':
        return this.note('info', event.text)
      case 'run_end':
        return this.#ending(event.terminal)
      case 'failed':
        if (event.isAfterRun === true) return this.note('warning', messageOf(event.error))
        return this.#closeAll('The run ended before this call finished.')
      case 'closed':
        return this.#closeAll('The run ended before this call finished.')
      case 'changed':
        return this.#goals.planUpdates(this.#snapshot().goal)
      case 'run_start':
      case 'message':
      case 'taken':
      case 'question':
      case 'question_closed':
      case 'limit_question':
      case 'limit_question_closed':
        return []
    }
  }

  /** Announces a call that a person must decide. This class adds the prefix of a subagent's calls. */
  announceQuestion({
    callId,
    agentId,
    toolName,
    input,
  }: Pick<Question, 'callId' | 'agentId' | 'toolName' | 'input'>): AnnouncedQuestion {
    const agent =
      agentId === undefined ? undefined : (this.#agents.get(agentId) ?? { agentType: 'agent', callId: agentId })
    const id = agent === undefined ? callId : agentOwner(agent).prefix + callId
    return {
      id,
      view: this.#calls.viewOf(toolName, input, agent),
      updates: this.#calls.announce(id, toolName, input, agent),
    }
  }

  /** A note for the person: as a notice if the client shows those, else as a message. */
  note(severity: Severity, text: string): readonly SessionUpdate[] {
    const title = oneLine(text, 1_000)
    if (title === '') return []
    return this.#features.notices ? [{ sessionUpdate: 'notice', severity, title }] : this.message(title)
  }

  /** The answer of a command that needs no run, as a message. */
  message(text: string): readonly SessionUpdate[] {
    this.#notes += 1
    const content = { type: 'text', text: `\n\n${text}\n\n` } as const
    return [{ sessionUpdate: 'agent_message_chunk', content, messageId: `halting-note-${this.#notes}` }]
  }

  #wait(
    event: Extract<RunEvent, { readonly type: 'budget_wait' | 'service_wait' | 'service_waited' }>,
    isMain: boolean,
  ): readonly SessionUpdate[] {
    if (event.type === 'budget_wait') {
      const text = budgetWaitText(event)
      return text === null || !this.#features.notices ? [] : this.note('info', text)
    }
    if (event.type === 'service_waited') return this.#waited(event)
    if (!event.isWaiting) return []
    const text = serviceWaitText(serviceWaitOf(event), Date.now())
    const waiter = isMain ? 'The run' : 'An agent'
    return this.note(
      'warning',
      `${waiter} is ${text}. It continues automatically; /retry retries now, and cancelling ends the run.`,
    )
  }

  #waited({ outcome, waitedMs }: Extract<RunEvent, { readonly type: 'service_waited' }>): readonly SessionUpdate[] {
    const ended = waitOutcomeTexts[outcome]
    return ended === undefined ? [] : this.note('info', `${ended} (waited ${elapsed(waitedMs)}).`)
  }

  #runEventUpdates(event: RunEvent, by: CallOwner): readonly SessionUpdate[] {
    const { prefix, agent } = by
    const isMain = agent === undefined
    switch (event.type) {
      case 'model_update':
        return isMain ? this.#modelUpdates(event) : []
      case 'model_end':
        return [usageUpdate(this.#snapshot())]
      case 'retry':
        return this.#retry(event, isMain && this.#reply.retry())
      case 'service_wait':
      case 'service_waited':
      case 'budget_wait':
        return this.#wait(event, isMain)
      case 'message':
        return this.#entryUpdates(event.entry, by)
      case 'tool_start':
        return this.#calls.start(prefix + event.callId, event.name, event.input, agent)
      case 'tool_end':
        this.#calls.end(prefix + event.callId, event.status)
        return []
      case 'tool_update':
        return this.#calls.progress(prefix + event.callId, event.data)
      case 'run_start':
        if (agent !== undefined) this.#agents.set(event.run.agentId ?? event.run.agentPath, agent)
        return []
      case 'agent':
        return this.#runEventUpdates(
          event.event,
          agentOwner({ agentType: event.agentType, callId: prefix + event.callId }),
        )
      case 'notice':
        return this.note('info', event.message)
      case 'lap':
        return this.#iteration(event)
      case 'goal_start':
      case 'goal_end':
        return isMain ? this.#goals.updatesFor(event, this.#snapshot().goal) : []
      case 'compact_start':
        return isMain ? this.#compactionBegins() : []
      case 'compact_end':
        return isMain ? this.#compactionEnds(event) : []
      case 'run_end':
      case 'turn_start':
      case 'model_start':
      case 'figures':
      case 'budget_waited':
      case 'context':
      case 'results_cleared':
      case 'question_start':
      case 'question_end':
      case 'tool_running':
      case 'permission_denied':
      case 'approval_needed':
      case 'limit_question':
      case 'limit_answered':
      case 'hook_start':
      case 'hook_end':
      case 'signal':
      case 'signals_overridden':
      case 'token_budget':
      case 'guards':
      case 'settings':
      case 'background':
        return []
    }
  }

  #modelUpdates(event: Extract<RunEvent, { readonly type: 'model_update' }>): readonly SessionUpdate[] {
    const { update } = event
    // A complete tool call is announced with its whole input.
    if (update.type === 'block' && isToolUse(update.block))
      return this.#calls.announce(update.block.id, update.block.name, update.block.input)
    return this.#reply.update(event)
  }

  /** Reports a recovery and how often it may still happen. A person who raised a limit for it needs no report. */
  #iteration({ transition, left }: Extract<RunEvent, { readonly type: 'lap' }>): readonly SessionUpdate[] {
    const isPlain = spendsTurn(transition) && transition !== 'unverified_change'
    if (isPlain || transition === 'limit_raised' || !this.#features.notices) return []
    const text = iterationText(transition) ?? transition.replaceAll('_', ' ')
    return this.note('info', `${text.slice(0, 1).toUpperCase()}${text.slice(1)} (${left[transition]} left).`)
  }

  #retry(
    { attempt, maxRetries, delayMs, error }: Extract<RunEvent, { readonly type: 'retry' }>,
    hadText: boolean,
  ): readonly SessionUpdate[] {
    const at = longRetryText({ delayMs }, Date.now())
    // An immediate retry is not reported to a client that would keep the note forever.
    if (!hadText && !this.#features.notices && at === undefined) return []
    const what = hadText ? 'The reply was interrupted' : 'The request failed'
    const retryPlan = `Retry ${attempt} of ${maxRetries} ${at ?? `in ${elapsed(delayMs)}`}.`
    return this.note('warning', `${what}: ${error.message.replace(/[.\s]+$/, '')}. ${retryPlan}`)
  }

  #entryUpdates(
    entry: Extract<RunEvent, { readonly type: 'message' }>['entry'],
    { prefix, agent }: CallOwner,
  ): readonly SessionUpdate[] {
    if (entry.kind === 'assistant') {
      const { content } = entry.message
      const replyUpdates = agent === undefined ? this.#reply.message(entry.id, content) : []
      const calls = content.filter(isToolUse)
      return [
        ...replyUpdates,
        ...calls.flatMap(({ id, name, input }) => this.#calls.announce(prefix + id, name, input, agent)),
      ]
    }
    // Addressed to people, by hooks or by the loop.
    if (entry.kind === 'attachment' && entry.attachment.type !== 'max_turns_reached' && prefix === '')
      return this.note('info', entry.attachment.message)
    if (entry.kind !== 'user' || typeof entry.message.content === 'string') return []
    return entry.message.content
      .filter(isToolResult)
      .flatMap(({ tool_use_id: id, content, is_error: isError }) =>
        this.#calls.result(prefix + id, content, isError === true, entry.details?.[id]),
      )
  }

  #compactionBegins(): readonly SessionUpdate[] {
    this.#compactions += 1
    if (!this.#features.compaction)
      return this.#features.notices ? this.note('info', 'Compacting the conversation.') : []
    return [{ sessionUpdate: 'compaction_update', compactionId: this.#compactionId, status: 'in_progress' }]
  }

  #compactionEnds({
    compacted,
    message,
  }: Extract<RunEvent, { readonly type: 'compact_end' }>): readonly SessionUpdate[] {
    if (!this.#features.compaction) return this.note(compacted ? 'info' : 'warning', message)
    const compactionId = this.#compactionId
    if (compacted) return [{ sessionUpdate: 'compaction_update', compactionId, status: 'completed' }]
    return [{ sessionUpdate: 'compaction_update', compactionId, status: 'failed', error: message }]
  }

  get #compactionId(): string {
    return `compaction-${this.#compactions}`
  }

  #closeAll(because: string): readonly SessionUpdate[] {
    return [...this.#calls.closeAll(because), ...this.#goals.close(because)]
  }

  #ending(terminal: RunResult): readonly SessionUpdate[] {
    const closed = this.#closeAll(`The run ended before this call finished: ${terminal.reason}.`)
    const severity = severityOf(terminal)
    const unchecked = uncheckedSentence(terminal)
    return [
      ...closed,
      ...(severity === undefined ? [] : this.note(severity, sentenceOf(terminal))),
      // A client without notices would store the note in the conversation, so such a client receives it only in the response to the prompt.
      ...(unchecked === '' || !this.#features.notices ? [] : this.note('info', unchecked)),
    ]
  }
}

/** Texts for outcomes of a wait. Undefined if the ending of the run reports the outcome. */
const waitOutcomeTexts: {
  readonly [outcome in Extract<RunEvent, { readonly type: 'service_waited' }>['outcome']]: string | undefined
} = {
  over: 'Retrying',
  retried: 'Retrying now',
  model: 'Asking the other model',
  stopped: undefined,
  aborted: undefined,
}

/** The owner of calls: the main conversation, or a subagent. */
interface CallOwner {
  /** A prefix for the call ids of a subagent, as these may be equal to ids of other agents. */
  readonly prefix: string
  /** The calling agent; undefined for the main conversation. */
  readonly agent?: CallingAgent
}

const mainConversation: CallOwner = { prefix: '' }

function agentOwner(agent: CallingAgent): CallOwner {
  return { prefix: `${agent.callId}/`, agent }
}

interface AnnouncedQuestion {
  readonly id: string
  /** What the client shows of the call. */
  readonly view: ToolView
  /** The updates to send before the question. */
  readonly updates: readonly SessionUpdate[]
}

/** How far the run is from its limits; sent with the usage of the context window (spec R-ACP-9). */
interface LimitsMeta {
  readonly turnsLeft: number | null
  readonly budgetUsd: number | null
  /** Settled and reserved dollars, including subagents. */
  readonly committedUsd: number
  /** The reserved dollars, and the requests that wait for them. */
  readonly reservedUsd: number
  readonly waitingRequests: number
  readonly timeLeftMs: number | null
  readonly tokensLeft: number | null
  /** The dollar limit of one run. */
  readonly runUsd: number | null
  readonly toolCallsLeft: number | null
  readonly nextStop: SessionSnapshot['nextStop']
}

type LimitsSnapshot = Pick<SessionSnapshot, 'figures' | 'limits' | 'nextStop'>

function limitsMeta({ figures, limits, nextStop }: LimitsSnapshot): LimitsMeta {
  return {
    turnsLeft: limits.maxTurns === null ? null : Math.max(0, limits.maxTurns - figures.turns),
    budgetUsd: limits.maxBudgetUsd,
    committedUsd: figures.settledUsd + figures.reservedUsd,
    reservedUsd: figures.reservedUsd,
    waitingRequests: figures.waitingRequests,
    timeLeftMs: figures.leftMs,
    tokensLeft: figures.leftTokens,
    runUsd: limits.maxRunUsd,
    toolCallsLeft: limits.maxToolCalls === null ? null : Math.max(0, limits.maxToolCalls - figures.toolCalls),
    nextStop,
  }
}

/** Sent after every settled request. An unlimited window has the largest safe integer, so that a meter stays empty. */
function usageUpdate(snapshot: LimitsSnapshot): SessionUpdate {
  const { contextTokens, contextWindow, sessionUsd } = snapshot.figures
  return {
    sessionUpdate: 'usage_update',
    used: Math.max(0, Math.round(contextTokens)),
    size: contextWindow ?? Number.MAX_SAFE_INTEGER,
    cost: { amount: sessionUsd, currency: 'USD' },
    _meta: { 'halting/limits': limitsMeta(snapshot) },
  }
}
