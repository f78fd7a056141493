import { isBuiltinHook } from '@halting/core/adapters'
import type { ContentBlock, RunEvent, ToolStatus, TranscriptEntry } from '@halting/core'
import { isJsonObject, isToolResult, isToolUse, messageOf, type ModelUpdate } from '@halting/core/adapters'
import type { SessionEvent } from '@halting/core/session'
import { followChanges } from '../../headless/file-changes.ts'
import { elapsed } from '../../io/figures.ts'
import type { Style } from '../../io/style.ts'
import type { Block, Component } from '../screen/screen-port.ts'
import { type EndedAgent, followAgents } from './agents.ts'
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
import { followTools } from './running-tools.ts'
import { replyExtras } from '../../frontends/reply-extras.ts'
import { todosAfter, type TodoItem } from '../../frontends/todos.ts'
import { toolBlock } from './tool-block.ts'
import { toolTitle } from './tool-title.ts'

/** What the model writes, as it comes: finished blocks to print, and what is not finished. */
export interface MarkdownStream {
  append(text: string): readonly Block[]
  finish(): readonly Block[]
  readonly tail: Component
}

export interface StreamViewOptions {
  readonly style: Style
  /** Paths below it are shown from there. */
  readonly cwd: string
  /** One for each text of the model. */
  readonly markdown: () => MarkdownStream
  /** Milliseconds, for how long something takes. */
  readonly now?: () => number
}

/**
 * What a session tells, as blocks to print once, in order, and what stands below while it is not finished (spec R-TERM-20 to R-TERM-23).
 * It draws nothing and keeps nothing that the session has.
 */
export interface StreamView {
  see(event: SessionEvent): readonly Block[]
  /** The tail of what the model writes, calls and agents that work. */
  readonly live: Component
  /** The list of things to do, as it was written last. */
  readonly todos: readonly TodoItem[]
  /** Files that were changed since the run began, or since the last prompt where a run of before is told: `2 files changed +12 −3`; '' for none. */
  readonly changes: string
}

interface Call {
  readonly name: string
  readonly input: unknown
  status?: ToolStatus
  durationMs?: number
}

type Entry<Kind extends TranscriptEntry['kind']> = Extract<TranscriptEntry, { readonly kind: Kind }>

export function createStreamView({
  style,
  cwd,
  markdown,
  now = () => performance.now(),
}: StreamViewOptions): StreamView {
  const calls = new Map<string, Call>()
  // An event that is not live comes again where a run is resumed.
  const seen = new Set<string>()
  /** Calls whose plan was printed. */
  const plans = new Set<string>()
  const tools = followTools(now, cwd)
  const agents = followAgents(now, cwd)
  let changes = followChanges()
  let todos: readonly TodoItem[] = []
  /** Undefined while what is told is from before: an entry does not name its turn. */
  let turn: number | undefined
  let writing: MarkdownStream | undefined
  let thinking = ''
  let thinkingSince: number | undefined
  let retryTold = ''
  const goals = followGoals(style)
  /** The reply that is coming was told as it came. */
  let isStreamed = false
  /** Of it: how many texts are whole, and what came of the next one. */
  let streamed = { texts: 0, text: '' }

  const endThinking = (): readonly Block[] => {
    const text = thinking.trim()
    ;[thinking, thinkingSince] = ['', undefined]
    return text === '' ? [] : [thinkingBlock(text, style)]
  }
  const write = (text: string): readonly Block[] => {
    const before = endThinking()
    writing ??= markdown()
    return [...before, ...writing.append(text)]
  }
  const endWriting = (): readonly Block[] => {
    const rest = [...endThinking(), ...(writing?.finish() ?? [])]
    writing = undefined
    return rest
  }

  const hearUpdate = (update: ModelUpdate): readonly Block[] => {
    switch (update.type) {
      case 'text_delta':
        isStreamed = true
        streamed.text += update.text
        return write(update.text)
      case 'thinking_delta': {
        isStreamed = true
        const before = writing === undefined ? [] : endWriting()
        thinkingSince ??= now()
        thinking += update.text
        return before
      }
      case 'block':
        if (update.block.type !== 'text') return []
        // The next text is one of its own.
        streamed = { texts: streamed.texts + 1, text: '' }
        return endWriting()
      default:
        return []
    }
  }

  /** What the service said in the place of a reply: the ending of the run says it; where none is shown, it stands before what comes next. */
  let failure: Block | undefined
  const failureBefore = (): readonly Block[] => {
    const told = failure === undefined ? [] : [failure]
    failure = undefined
    return told
  }

  const seeReply = ({ message, error, aborted }: Entry<'assistant'>): readonly Block[] => {
    for (const block of message.content)
      if (isToolUse(block)) calls.set(block.id, { ...calls.get(block.id), name: block.name, input: block.input })
    if (error !== undefined) {
      failure = errorBlock(textsOf(message.content), style)
      return endWriting()
    }
    const told = isStreamed
      ? restOf(message.content)
      : message.content.flatMap((block) => [...said(block), ...endWriting()])
    beginReply()
    const before = [...endWriting(), ...told]
    const extras = replyExtras(message.content).flatMap((extra) => [...write(extra), ...endWriting()])
    return [...before, ...extras, ...(aborted === true ? [dimBlock('  ', '(cut off here)', style)] : [])]
  }
  const beginReply = (): void => {
    isStreamed = false
    streamed = { texts: 0, text: '' }
  }
  /** What went by where the connection to a session was cut in the middle of a reply. */
  const restOf = (content: readonly ContentBlock[]): readonly Block[] => {
    let { text: came } = streamed
    return writtenTexts(content)
      .slice(streamed.texts)
      .flatMap((text) => {
        if (came.startsWith(text)) {
          came = came.slice(text.length)
          return []
        }
        const isGoneOnWith = text.startsWith(came)
        const rest = isGoneOnWith ? text.slice(came.length) : ''
        came = isGoneOnWith ? '' : came
        return rest === '' ? [] : [...write(rest), ...endWriting()]
      })
  }
  const said = (block: ContentBlock): readonly Block[] => {
    if (block.type === 'text' && typeof block.text === 'string') return write(block.text)
    if (block.type === 'thinking' && typeof block.thinking === 'string') thinking = block.thinking
    return []
  }

  /** A plan is printed whole, once: the question about it has no room for it. A session that goes on has none. */
  const planBlocks = (callId: string, tool: string, input: unknown): readonly Block[] => {
    if (tool !== 'ExitPlanMode' || plans.has(callId)) return []
    plans.add(callId)
    if (!isJsonObject(input) || typeof input['plan'] !== 'string') return []
    return [...endWriting(), dimBlock('⏺ ', 'Plan', style), ...write(input['plan']), ...endWriting()]
  }

  const seeResults = ({ message, details = {} }: Entry<'user'>): readonly Block[] => {
    const blocks = typeof message.content === 'string' ? [] : message.content.filter(isToolResult)
    return blocks.flatMap((block) => {
      const call = calls.get(block.tool_use_id) ?? { name: 'call', input: {} }
      const result = details[block.tool_use_id]
      const { name, input, durationMs, status = block.is_error === true ? 'failed' : 'done' } = call
      calls.delete(block.tool_use_id)
      tools.over(block.tool_use_id)
      agents.over(block.tool_use_id)
      todos = (status === 'done' ? todosAfter(name, result) : undefined) ?? todos
      if (result !== undefined) changes.add(result)
      const title = toolTitle(name, input, cwd)
      const shown = { tool: name, title, status, content: block.content, details: result, durationMs }
      return [...planBlocks(block.tool_use_id, name, input), toolBlock(shown, style)]
    })
  }

  const seeUser = (entry: Entry<'user'>): readonly Block[] => {
    const { content } = entry.message
    switch (entry.origin) {
      case 'prompt':
        changes = followChanges()
        return [promptBlock(content, style)]
      case 'steer':
      case 'follow_up':
        return [promptBlock(content, style, takenText(entry.origin, turn))]
      case 'tool_results':
        return seeResults(entry)
      case 'hook':
        // Of the program itself: a person knows the folder. The pager shows it.
        return entry.hook !== undefined && isBuiltinHook(entry.hook) ? [] : [modelMessageBlock('hook', content, style)]
      case 'loop':
        return goals.hasTold() ? [] : [modelMessageBlock('sent to the model', content, style)]
      case 'interruption':
        // The ending tells it.
        return []
    }
  }

  const seeEntry = (entry: TranscriptEntry): readonly Block[] => {
    if (seen.has(entry.id)) return []
    seen.add(entry.id)
    return [...failureBefore(), ...seeNew(entry)]
  }

  const seeNew = (entry: TranscriptEntry): readonly Block[] => {
    switch (entry.kind) {
      case 'assistant':
        return seeReply(entry)
      case 'user':
        return [...endWriting(), ...seeUser(entry), ...taskBlocks(entry.tasks, style)]
      case 'attachment': {
        const { attachment, tasks } = entry
        // What is left at the end is told one by one, and not in a sentence too.
        const isTold = attachment.type === 'max_turns_reached' || tasks?.some(({ type }) => type === 'left') === true
        return [...(isTold ? [] : [noticeBlock(attachment.message, style)]), ...taskBlocks(tasks, style)]
      }
      case 'media_removed':
        return [noticeBlock(entry.note, style)]
      default:
        return []
    }
  }

  const onEvent = (event: RunEvent): readonly Block[] => {
    tools.onEvent(event)
    const room = event.type === 'message' && seen.has(event.entry.id) ? undefined : contextChangeBlock(event, style)
    const before = room === undefined ? [] : [...endWriting(), room]
    switch (event.type) {
      case 'run_start': {
        const continues = event.isResumed === true ? undefined : event.run.continues
        return continues === undefined ? [] : [dimBlock('↻ ', `continuing ${continues}, with its counters`, style)]
      }
      case 'turn_start':
        turn = event.turn
        goals.hasTold()
        return before
      case 'model_start': {
        // Whoever was asked is gone: another worker of a cluster asks again.
        const cut = isStreamed ? [...endWriting(), dimBlock('  ', '(interrupted here)', style)] : []
        beginReply()
        return [...cut, ...before]
      }
      case 'model_update':
        return hearUpdate(event.update)
      case 'message':
        retryTold = ''
        return [...before, ...seeEntry(event.entry)]
      case 'tool_start':
        calls.set(event.callId, { ...calls.get(event.callId), name: event.name, input: event.input })
        return []
      case 'tool_end': {
        const call = calls.get(event.callId)
        if (call !== undefined) [call.status, call.durationMs] = [event.status, event.durationMs]
        return []
      }
      case 'retry': {
        const { message } = event.error
        const told = message === retryTold ? [] : [noticeBlock(`${message} (${retryText(event)})`, style)]
        retryTold = message
        // What came of the reply stays where it is, and comes again.
        const cut = isStreamed ? [dimBlock('  ', '(interrupted here)', style)] : []
        beginReply()
        return [...endWriting(), ...cut, ...told]
      }
      case 'notice':
        return [...before, noticeBlock(event.message, style)]
      case 'background':
        return event.error === null ? [] : [noticeBlock(`${event.name} failed: ${event.error}`, style)]
      case 'goal_start':
      case 'goal_end':
        return [...endWriting(), ...goals.see(event)]
      case 'signals_overridden':
        return [dimBlock('↻ ', overriddenText(event), style)]
      case 'lap':
        return lapBlocks(event, style)
      case 'agent':
        return agentBlocks(agents.onEvent(event), style)
      default:
        return before
    }
  }

  return {
    see(event) {
      switch (event.type) {
        case 'run_start':
          changes = followChanges()
          ;[retryTold, failure] = ['', undefined]
          return []
        case 'loop':
          return onEvent(event.event)
        case 'question':
          return planBlocks(event.question.callId, event.question.toolName, event.question.input)
        case 'note':
          return [noticeBlock(event.text, style)]
        case 'failed':
          if (event.isAfterRun === true) return [noticeBlock(messageOf(event.error), style)]
          return [...endWriting(), errorBlock(messageOf(event.error), style)]
        case 'run_end':
          failure = undefined
          return endWriting()
        default:
          return []
      }
    },
    live: {
      render: (width) => [
        ...(thinkingSince === undefined
          ? []
          : [style.dim(`✻ thinking · ${elapsed(now() - thinkingSince)}`.slice(0, width))]),
        ...(writing?.tail.render(width) ?? []),
        ...tools.lines(width, style),
        ...agents.lines(width, style),
      ],
    },
    get todos() {
      return todos
    },
    get changes() {
      return changes.summary
    },
  }
}

function textsOf(content: readonly ContentBlock[]): string {
  return writtenTexts(content).join('\n')
}

function writtenTexts(content: readonly ContentBlock[]): readonly string[] {
  return content.flatMap((block) => (block.type === 'text' && typeof block.text === 'string' ? [block.text] : []))
}

/** What is steered is taken when a turn has begun; what follows up, before one does. */
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
  /** True once after a round: the next words of the loop say to the model what the line of the round says to people. */
  hasTold(): boolean
}

/** The rounds of checks: what each came to is told when it is over. */
function followGoals(style: Style): Goals {
  let goals: readonly string[] = []
  let isTold = false
  return {
    see(event) {
      isTold = event.type === 'goal_end'
      if (event.type === 'goal_end') return goalBlocks(goals, event, style)
      goals = event.goals
      return []
    },
    hasTold() {
      const was = isTold
      isTold = false
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
