import { isBuiltinHook } from '@halting/core/adapters'
import type { ContentBlock, RunEvent, ToolStatus, TranscriptEntry } from '@halting/core'
import { isJsonObject, isToolResult, isToolUse, messageOf, type ModelUpdate } from '@halting/core/adapters'
import type { SessionEvent } from '@halting/core/session'
import { followChanges } from '../../headless/file-changes.ts'
import { elapsed } from '../../io/figures.ts'
import type { Style } from '../../io/style.ts'
import type { Block, Component } from '../screen/screen-port.ts'
import { type Agents, type EndedAgent, followAgents } from './agents.ts'
import {
  dimBlock,
  errorBlock,
  goalBlocks,
  noticeBlock,
  overriddenText,
  promptBlock,
  contextChangeBlock,
  thinkingBlock,
  modelMessageBlock,
} from './message-blocks.ts'
import { iterationText } from '../../frontends/iteration-text.ts'
import { followTools, type RunningTools } from './running-tools.ts'
import { replyExtras } from '../../frontends/reply-extras.ts'
import { todosAfter, type TodoItem } from '../../frontends/todos.ts'
import { toolBlock } from './tool-block.ts'
import { toolTitle } from './tool-title.ts'

/** Renders the model's Markdown as it arrives: finished blocks to print, and an unfinished tail. */
export interface MarkdownStream {
  append(text: string): readonly Block[]
  finish(): readonly Block[]
  readonly tail: Component
}

export interface StreamViewOptions {
  readonly style: Style
  /** The working directory; paths inside it are shown relative to it. */
  readonly cwd: string
  /** Creates a stream for each text of the model. */
  readonly markdown: () => MarkdownStream
  /** Milliseconds, for durations. */
  readonly now?: () => number
}

/**
 * Translates the events of a session into blocks that are printed once, in order, and a live component for unfinished parts (spec R-TERM-20 to R-TERM-23).
 * It draws nothing itself, and stores nothing that the session has.
 */
export interface StreamView {
  see(event: SessionEvent): readonly Block[]
  /** The unfinished text of the model, running calls and agents. */
  readonly live: Component
  /** The current todo list. */
  readonly todos: readonly TodoItem[]
  /** The files changed since the run started, or in a replayed run since the last prompt: `2 files changed +12 −3`; '' for none. */
  readonly changes: string
}

interface Call {
  readonly name: string
  readonly input: unknown
  status?: ToolStatus
  durationMs?: number
}

type Entry<Kind extends TranscriptEntry['kind']> = Extract<TranscriptEntry, { readonly kind: Kind }>

export function createStreamView(options: StreamViewOptions): StreamView {
  return new SessionStreamView(options)
}

class SessionStreamView implements StreamView {
  readonly #style: StreamViewOptions['style']
  readonly #cwd: StreamViewOptions['cwd']
  readonly #markdown: StreamViewOptions['markdown']
  readonly #now: NonNullable<StreamViewOptions['now']>
  readonly #calls = new Map<string, Call>()
  // Recorded events are repeated when a run is resumed.
  readonly #seenEntries = new Set<string>()
  /** Calls whose plan was printed. */
  readonly #plans = new Set<string>()
  readonly #tools: RunningTools
  readonly #agents: Agents
  #changes = followChanges()
  #todos: readonly TodoItem[] = []
  /** Undefined during a replay, because entries have no turn number. */
  #turn: number | undefined
  #writing: MarkdownStream | undefined
  #thinking = ''
  #thinkingSince: number | undefined
  #lastRetryMessage = ''
  readonly #goals: Goals
  /** Whether the current reply was streamed. */
  #isStreamed = false
  /** How many texts of the current reply are complete, and the streamed part of the next one. */
  #streamed = { texts: 0, text: '' }
  /** The error message of a service. The ending of the run reports it; without an ending, it is printed before the next entry. */
  #failure: Block | undefined
  readonly live: StreamView['live']

  constructor({ style, cwd, markdown, now = () => performance.now() }: StreamViewOptions) {
    this.#style = style
    this.#cwd = cwd
    this.#markdown = markdown
    this.#now = now
    this.#tools = followTools(now, cwd)
    this.#agents = followAgents(now, cwd)
    this.#goals = followGoals(style)
    this.live = {
      render: (width) => [
        ...(this.#thinkingSince === undefined
          ? []
          : [style.dim(`✻ thinking · ${elapsed(now() - this.#thinkingSince)}`.slice(0, width))]),
        ...(this.#writing?.tail.render(width) ?? []),
        ...this.#tools.lines(width, style),
        ...this.#agents.lines(width, style),
      ],
    }
  }

  see(event: SessionEvent): readonly Block[] {
    switch (event.type) {
      case 'run_start':
        this.#changes = followChanges()
        ;[this.#lastRetryMessage, this.#failure] = ['', undefined]
        return []
      case 'loop':
        return this.#onEvent(event.event)
      case 'question':
        return this.#planBlocks(event.question.callId, event.question.toolName, event.question.input)
      case 'note':
        return [noticeBlock(event.text, this.#style)]
      case 'failed':
        if (event.isAfterRun === true) return [noticeBlock(messageOf(event.error), this.#style)]
        return [...this.#endWriting(), errorBlock(messageOf(event.error), this.#style)]
      case 'run_end':
        this.#failure = undefined
        return this.#endWriting()
      default:
        return []
    }
  }

  get todos(): StreamView['todos'] {
    return this.#todos
  }

  get changes(): StreamView['changes'] {
    return this.#changes.summary
  }

  #endThinking(): readonly Block[] {
    const text = this.#thinking.trim()
    ;[this.#thinking, this.#thinkingSince] = ['', undefined]
    return text === '' ? [] : [thinkingBlock(text, this.#style)]
  }

  #write(text: string): readonly Block[] {
    const before = this.#endThinking()
    this.#writing ??= this.#markdown()
    return [...before, ...this.#writing.append(text)]
  }

  #endWriting(): readonly Block[] {
    const rest = [...this.#endThinking(), ...(this.#writing?.finish() ?? [])]
    this.#writing = undefined
    return rest
  }

  #onModelUpdate(update: ModelUpdate): readonly Block[] {
    switch (update.type) {
      case 'text_delta':
        this.#isStreamed = true
        this.#streamed.text += update.text
        return this.#write(update.text)
      case 'thinking_delta': {
        this.#isStreamed = true
        const before = this.#writing === undefined ? [] : this.#endWriting()
        this.#thinkingSince ??= this.#now()
        this.#thinking += update.text
        return before
      }
      case 'block':
        if (update.block.type !== 'text') return []
        // The next text starts a new block.
        this.#streamed = { texts: this.#streamed.texts + 1, text: '' }
        return this.#endWriting()
      default:
        return []
    }
  }

  #failureBefore(): readonly Block[] {
    const blocks = this.#failure === undefined ? [] : [this.#failure]
    this.#failure = undefined
    return blocks
  }

  #seeReply({ message, error, aborted }: Entry<'assistant'>): readonly Block[] {
    for (const block of message.content)
      if (isToolUse(block))
        this.#calls.set(block.id, { ...this.#calls.get(block.id), name: block.name, input: block.input })
    if (error !== undefined) {
      this.#failure = errorBlock(textsOf(message.content), this.#style)
      return this.#endWriting()
    }
    const replyBlocks = this.#isStreamed
      ? this.#missedText(message.content)
      : message.content.flatMap((block) => [...this.#writeBlock(block), ...this.#endWriting()])
    this.#beginReply()
    const before = [...this.#endWriting(), ...replyBlocks]
    const extras = replyExtras(message.content).flatMap((extra) => [...this.#write(extra), ...this.#endWriting()])
    return [...before, ...extras, ...(aborted === true ? [dimBlock('  ', '(cut off here)', this.#style)] : [])]
  }

  #beginReply(): void {
    this.#isStreamed = false
    this.#streamed = { texts: 0, text: '' }
  }

  /** The part of a reply that was not received while the connection was interrupted. */
  #missedText(content: readonly ContentBlock[]): readonly Block[] {
    let { text: streamedText } = this.#streamed
    return writtenTexts(content)
      .slice(this.#streamed.texts)
      .flatMap((text) => {
        if (streamedText.startsWith(text)) {
          streamedText = streamedText.slice(text.length)
          return []
        }
        const isGoneOnWith = text.startsWith(streamedText)
        const rest = isGoneOnWith ? text.slice(streamedText.length) : ''
        streamedText = isGoneOnWith ? '' : streamedText
        return rest === '' ? [] : [...this.#write(rest), ...this.#endWriting()]
      })
  }

  #writeBlock(block: ContentBlock): readonly Block[] {
    if (block.type === 'text' && typeof block.text === 'string') return this.#write(block.text)
    if (block.type === 'thinking' && typeof block.thinking === 'string') this.#thinking = block.thinking
    return []
  }

  /** A plan is printed completely, once, because the question has no room for it. */
  #planBlocks(callId: string, tool: string, input: unknown): readonly Block[] {
    if (tool !== 'ExitPlanMode' || this.#plans.has(callId)) return []
    this.#plans.add(callId)
    if (!isJsonObject(input) || typeof input['plan'] !== 'string') return []
    return [
      ...this.#endWriting(),
      dimBlock('⏺ ', 'Plan', this.#style),
      ...this.#write(input['plan']),
      ...this.#endWriting(),
    ]
  }

  #seeResults({ message, details = {} }: Entry<'user'>): readonly Block[] {
    const blocks = typeof message.content === 'string' ? [] : message.content.filter(isToolResult)
    return blocks.flatMap((block) => {
      const call = this.#calls.get(block.tool_use_id) ?? { name: 'call', input: {} }
      const result = details[block.tool_use_id]
      const { name, input, durationMs, status = block.is_error === true ? 'failed' : 'done' } = call
      this.#calls.delete(block.tool_use_id)
      this.#tools.onResult(block.tool_use_id)
      this.#agents.onResult(block.tool_use_id)
      this.#todos = (status === 'done' ? todosAfter(name, result) : undefined) ?? this.#todos
      if (result !== undefined) this.#changes.add(result)
      const title = toolTitle(name, input, this.#cwd)
      const shown = { tool: name, title, status, content: block.content, details: result, durationMs }
      return [...this.#planBlocks(block.tool_use_id, name, input), toolBlock(shown, this.#style)]
    })
  }

  #seeUser(entry: Entry<'user'>): readonly Block[] {
    const { content } = entry.message
    switch (entry.origin) {
      case 'prompt':
        this.#changes = followChanges()
        return [promptBlock(content, this.#style)]
      case 'steer':
      case 'follow_up':
        return [promptBlock(content, this.#style, takenText(entry.origin, this.#turn))]
      case 'tool_results':
        return this.#seeResults(entry)
      case 'hook':
        // Built-in hooks are not shown; the pager shows them.
        return entry.hook !== undefined && isBuiltinHook(entry.hook)
          ? []
          : [modelMessageBlock('hook', content, this.#style)]
      case 'loop':
        return this.#goals.takeReported() ? [] : [modelMessageBlock('sent to the model', content, this.#style)]
      case 'interruption':
        // The ending of the run reports it.
        return []
    }
  }

  #seeEntry(entry: TranscriptEntry): readonly Block[] {
    if (this.#seenEntries.has(entry.id)) return []
    this.#seenEntries.add(entry.id)
    return [...this.#failureBefore(), ...this.#seeNew(entry)]
  }

  #seeNew(entry: TranscriptEntry): readonly Block[] {
    switch (entry.kind) {
      case 'assistant':
        return this.#seeReply(entry)
      case 'user':
        return [...this.#endWriting(), ...this.#seeUser(entry), ...taskBlocks(entry.tasks, this.#style)]
      case 'attachment': {
        const { attachment, tasks } = entry
        // Remaining tasks are reported one by one, without the summary.
        const isReported =
          attachment.type === 'max_turns_reached' || tasks?.some(({ type }) => type === 'left') === true
        return [
          ...(isReported ? [] : [noticeBlock(attachment.message, this.#style)]),
          ...taskBlocks(tasks, this.#style),
        ]
      }
      case 'media_removed':
        return [noticeBlock(entry.note, this.#style)]
      default:
        return []
    }
  }

  #onEvent(event: RunEvent): readonly Block[] {
    this.#tools.onEvent(event)
    const room =
      event.type === 'message' && this.#seenEntries.has(event.entry.id)
        ? undefined
        : contextChangeBlock(event, this.#style)
    const before = room === undefined ? [] : [...this.#endWriting(), room]
    switch (event.type) {
      case 'run_start': {
        const continues = event.isResumed === true ? undefined : event.run.continues
        return continues === undefined
          ? []
          : [dimBlock('↻ ', `continuing ${continues}, with its counters`, this.#style)]
      }
      case 'turn_start':
        this.#turn = event.turn
        this.#goals.takeReported()
        return before
      case 'model_start': {
        // A reply was interrupted: another worker of the cluster repeats the request.
        const cut = this.#isStreamed ? [...this.#endWriting(), dimBlock('  ', '(interrupted here)', this.#style)] : []
        this.#beginReply()
        return [...cut, ...before]
      }
      case 'model_update':
        return this.#onModelUpdate(event.update)
      case 'message':
        this.#lastRetryMessage = ''
        return [...before, ...this.#seeEntry(event.entry)]
      case 'tool_start':
        this.#calls.set(event.callId, { ...this.#calls.get(event.callId), name: event.name, input: event.input })
        return []
      case 'tool_end': {
        const call = this.#calls.get(event.callId)
        if (call !== undefined) [call.status, call.durationMs] = [event.status, event.durationMs]
        return []
      }
      case 'retry': {
        const { message } = event.error
        const notice =
          message === this.#lastRetryMessage ? [] : [noticeBlock(`${message} (${retryText(event)})`, this.#style)]
        this.#lastRetryMessage = message
        // The partial reply stays visible, and is repeated.
        const cut = this.#isStreamed ? [dimBlock('  ', '(interrupted here)', this.#style)] : []
        this.#beginReply()
        return [...this.#endWriting(), ...cut, ...notice]
      }
      case 'notice':
        return [...before, noticeBlock(event.message, this.#style)]
      case 'background':
        return event.error === null ? [] : [noticeBlock(`${event.name} failed: ${event.error}`, this.#style)]
      case 'goal_start':
      case 'goal_end':
        return [...this.#endWriting(), ...this.#goals.see(event)]
      case 'signals_overridden':
        return [dimBlock('↻ ', overriddenText(event), this.#style)]
      case 'lap':
        return lapBlocks(event, this.#style)
      case 'agent':
        return agentBlocks(this.#agents.onEvent(event), this.#style)
      default:
        return before
    }
  }
}

function textsOf(content: readonly ContentBlock[]): string {
  return writtenTexts(content).join('\n')
}

function writtenTexts(content: readonly ContentBlock[]): readonly string[] {
  return content.flatMap((block) => (block.type === 'text' && typeof block.text === 'string' ? [block.text] : []))
}

/** The text for a message that a run received: a steering message at the start of a turn, a follow-up before one. */
function takenText(origin: 'steer' | 'follow_up', turn: number | undefined): string {
  if (origin === 'steer') return turn === undefined ? 'delivered during a run' : `delivered at turn ${turn}`
  return turn === undefined
    ? 'delivered when the run would have ended'
    : `delivered at turn ${turn + 1}, when the run would have ended`
}

function retryText({ attempt, maxRetries, delayMs }: Extract<RunEvent, { readonly type: 'retry' }>): string {
  return `retry ${attempt} of ${maxRetries} ${delayMs > 0 ? `in ${elapsed(delayMs)}` : 'now'}`
}

function lapBlocks({ transition, left }: Extract<RunEvent, { readonly type: 'lap' }>, style: Style): readonly Block[] {
  const text = iterationText(transition)
  if (text === undefined) return []
  const more = left[transition]
  return [dimBlock('↻ ', more === null ? text : `${text} (${more} left)`, style)]
}

function agentBlocks(ended: EndedAgent | undefined, style: Style): readonly Block[] {
  if (ended === undefined) return []
  const why = ended.message === '' ? '' : ` (${ended.message})`
  return [dimBlock('⏺ ', `Agent ${ended.name} ended: ${ended.reason}${why}`, style)]
}

type GoalEvent = Extract<RunEvent, { readonly type: 'goal_start' | 'goal_end' }>

interface Goals {
  see(event: GoalEvent): readonly Block[]
  /** True once after a round: the next message of the loop repeats the text of the round's line. */
  takeReported(): boolean
}

/** Rounds of goal checks, reported when they end. */
function followGoals(style: Style): Goals {
  let goals: readonly string[] = []
  let wasReported = false
  return {
    see(event) {
      wasReported = event.type === 'goal_end'
      if (event.type === 'goal_end') return goalBlocks(goals, event, style)
      goals = event.goals
      return []
    },
    takeReported() {
      const was = wasReported
      wasReported = false
      return was
    },
  }
}

function taskBlocks(tasks: Entry<'user'>['tasks'] = [], style: Style): readonly Block[] {
  return tasks.flatMap((task) => {
    switch (task.type) {
      case 'started':
        return []
      case 'ended':
        return [dimBlock('⏺ ', task.summary, style)]
      case 'left':
        return [dimBlock('⏺ ', `${leftWords[task.how]}: ${task.description}`, style)]
    }
  })
}

const leftWords = { stopped: 'Stopped with the run', kept: 'Still running', ended: 'Ended' } as const
