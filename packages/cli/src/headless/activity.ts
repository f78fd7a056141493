import type { RunEvent } from '@halting/core'
import { figuresIn, isJsonObject, type ModelUpdate } from '@halting/core/adapters'
import { columnsOf } from '../io/columns.ts'
import { money, oneLine, rounded, stopwatch } from '../io/figures.ts'
import { inputSummary } from '@halting/analysis/words'
import {
  countdownText,
  serviceCountdown,
  type ToolWait,
  toolWaitIn,
  serviceWaitOf,
  waitText,
} from '../frontends/wait-text.ts'
import type { Output } from '../io/output.ts'

/** What a run is doing, as one line. */
export interface Activity {
  onEvent(event: RunEvent): void
  /** The line, at most `columns` wide. */
  line(columns: number): string
  /** Milliseconds until the line should be drawn again. */
  paceMs(): number
}

/** An activity in progress. */
interface ActiveTask {
  readonly describe: (now: number) => string
  readonly since: number
  /** Whether its own duration is shown once it is long. */
  readonly isTimed: boolean
}

/** Minimum duration that is shown, in milliseconds. */
const shownDurationMs = 3_000

export function followActivity(now: () => number = () => performance.now()): Activity {
  return new RunActivity(now)
}

class RunActivity implements Activity {
  readonly #now: () => number
  readonly #startedAt: number
  // Running calls, by the calls of the agents they belong to and their own id, because agents may reuse ids.
  // Also contains waits for services, under keys of their own.
  readonly #tools = new Map<string, ActiveTask>()
  #own: ActiveTask
  #turn = 0
  #tokens = 0
  #usd = 0
  #reserved = 0
  #window: Window | undefined
  #isCompacting = false

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#startedAt = now()
    this.#own = { describe: () => 'starting', since: this.#startedAt, isTimed: false }
  }

  line(columns: number): string {
    return layOut(this.#parts(), columns)
  }

  paceMs(): number {
    return paceOf(this.#tools)
  }

  #begin(what: string | undefined): void {
    // An activity that continues keeps its start time.
    if (what !== undefined && this.#own.describe(0) !== what)
      this.#own = { describe: () => what, since: this.#now(), isTimed: true }
  }

  #onModelUpdate(update: ModelUpdate): void {
    if (update.type === 'thinking_delta') this.#begin('thinking')
    if (update.type === 'text_delta') this.#begin('writing')
    if (update.type !== 'api_event' || update.event['type'] !== 'content_block_start') return
    const { content_block: block } = update.event
    if (block === undefined || !isJsonObject(block) || block['type'] !== 'tool_use') return
    this.#begin(typeof block['name'] === 'string' ? `writing a tool call (${block['name']})` : 'writing a tool call')
  }

  #onEvent(event: RunEvent, agents: string): void {
    const isOwn = agents === ''
    switch (event.type) {
      case 'agent':
        return this.#onEvent(event.event, `${agents}${event.callId}/`)
      case 'tool_start':
        this.#tools.set(agents + event.callId, doingCall(event, this.#now()))
        return
      case 'tool_update': {
        const [wait, doing] = [toolWaitIn(event.data), this.#tools.get(agents + event.callId)]
        if (wait !== undefined && doing !== undefined)
          this.#tools.set(agents + event.callId, waitingCall(doing, wait, this.#now() + wait.leftMs))
        return
      }
      case 'tool_end':
        this.#tools.delete(agents + event.callId)
        return this.#begin('working')
      case 'retry':
        this.#own = { describe: retryText(event, this.#now()), since: this.#now(), isTimed: false }
        return
      case 'service_wait':
        followWait(this.#tools, agents + waitKey, event, this.#now())
        return this.#begin(isOwn && !event.isWaiting ? 'asking the model' : undefined)
      case 'turn_start':
        if (isOwn) this.#turn = event.turn
        return
      case 'model_update':
        this.#onModelUpdate(event.update)
        return
      case 'compact_start':
        this.#begin(`compacting ${rounded(event.tokens)} tokens`)
        this.#isCompacting = isOwn
        return
      case 'message':
        // An estimate until the next reply reports its tokens.
        if (isOwn && this.#window !== undefined && event.entry.kind === 'compact_boundary')
          this.#window = { ...this.#window, used: event.entry.postTokens }
        return
      case 'compact_end':
        this.#isCompacting = false
        return this.#begin('working')
      default:
        this.#begin(whatBegins(event))
    }
  }

  #parts(): Parts {
    return {
      turn: this.#turn > 0 ? `turn ${this.#turn}` : '',
      doing: doingText([...this.#tools.values()], this.#own, this.#now()),
      time: stopwatch(this.#now() - this.#startedAt),
      // During a compaction, the text of the activity already shows the size.
      context: this.#isCompacting ? '' : contextText(this.#window),
      tokens: this.#tokens > 0 ? `${rounded(this.#tokens)} tokens` : '',
      cost: costText(this.#usd, this.#reserved),
    }
  }

  onEvent(event: RunEvent): void {
    const update = figuresIn(event)
    if (update === undefined) return this.#onEvent(event, '')
    const { settledTokens, settledUsd, reservedUsd, contextTokens, contextWindow } = update.figures
    ;[this.#tokens, this.#usd, this.#reserved] = [settledTokens, settledUsd, reservedUsd]
    if (update.isOwn) this.#window = { used: contextTokens, size: contextWindow }
  }
}

function doingCall({ name, input }: Extract<RunEvent, { readonly type: 'tool_start' }>, since: number): ActiveTask {
  return { describe: () => `${name} ${inputSummary(input)}`.trimEnd(), since, isTimed: true }
}

function waitingCall(doing: ActiveTask, { what }: ToolWait, untilMs: number): ActiveTask {
  return { ...doing, describe: (now) => countdownText(what, untilMs - now) }
}

function followWait(
  doing: Map<string, ActiveTask>,
  key: string,
  event: Extract<RunEvent, { readonly type: 'service_wait' }>,
  since: number,
): void {
  const wait = serviceWaitOf(event)
  if (event.isWaiting) doing.set(key, { describe: () => serviceCountdown(wait, Date.now()), since, isTimed: false })
  else doing.delete(key)
}

/** Intervals between redraws: ten times a second; once a second while only a countdown changes, since a wait may take hours. */
const [paceMs, waitingPaceMs] = [100, 1_000]

function paceOf(doing: ReadonlyMap<string, ActiveTask>): number {
  return [...doing.keys()].some((key) => key.endsWith(waitKey)) ? waitingPaceMs : paceMs
}

/** Key suffix for the wait of an agent; no call id has this suffix. */
const waitKey = ' waits'

/** The activity that other events start. */
function whatBegins(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'model_start':
      return `waiting for ${event.model}`
    case 'budget_wait':
      return event.isWaiting ? waitText(event) : 'asking the model'
    case 'goal_start':
      return `checking ${event.goals.join(', ')}`
    case 'goal_end':
      return 'working'
    default:
      return undefined
  }
}

/** `$0.0028 (+$0.05 reserved)` */
function costText(usd: number, reserved: number): string {
  const reservedText = reserved > 0 ? ` (+${money(reserved)} reserved)` : ''
  return usd > 0 || reserved > 0 ? money(usd) + reservedText : ''
}

/** Tokens of the next request, and the size of the context window; null for an unlimited one. */
interface Window {
  readonly used: number
  readonly size: number | null
}

function contextText(window: Window | undefined): string {
  if (window === undefined || window.size === null) return ''
  const percent = Math.round((window.used / window.size) * 100)
  return percent < 1 ? '' : `ctx ${percent} %`
}

function doingText(tools: readonly ActiveTask[], own: ActiveTask, now: number): string {
  const { describe: what, since, isTimed } = tools.at(-1) ?? own
  const others = tools.length > 1 ? ` (and ${tools.length - 1} more)` : ''
  const ms = now - since
  return `${what(now)}${others}${isTimed && ms >= shownDurationMs ? ` (${Math.floor(ms / 1_000)} s)` : ''}`
}

function retryText(
  { attempt, maxRetries, delayMs, error }: Extract<RunEvent, { readonly type: 'retry' }>,
  heardAt: number,
): (now: number) => string {
  const what = `${error.status ?? ''} ${error.kind.replaceAll('_', ' ')}`.trimStart()
  return (now) => {
    const left = Math.ceil((heardAt + delayMs - now) / 1_000)
    const when = left > 0 ? `in ${left} s` : 'now'
    return `retry ${attempt}/${maxRetries} ${when}: ${what}`
  }
}

interface Parts {
  readonly turn: string
  readonly doing: string
  readonly time: string
  /** How full the context window is. */
  readonly context: string
  readonly tokens: string
  readonly cost: string
}

/** Parts that are omitted, in this order, if there is not enough room. */
const dispensable = ['tokens', 'context', 'turn', 'cost'] as const satisfies readonly (keyof Parts)[]
/** Columns that the activity is guaranteed. */
const doingColumns = 24

function layOut(parts: Parts, columns: number): string {
  let shown = parts
  for (const name of dispensable) {
    if (columnsOf(joined({ ...shown, doing: oneLine(shown.doing, doingColumns) })) <= columns) break
    shown = { ...shown, [name]: '' }
  }
  const room = columns - columnsOf(joined({ ...shown, doing: '' })) - columnsOf(separator)
  return oneLine(joined({ ...shown, doing: oneLine(shown.doing, Math.max(8, room)) }), columns)
}

const separator = ' · '

function joined({ turn, doing, time, context, tokens, cost }: Parts): string {
  return [turn, doing, time, context, tokens, cost].filter((part) => part !== '').join(separator)
}

/** Shows the activity on the terminal until the returned function is called. */
export function showActivity(activity: Activity, output: Output): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const wait = (): void => {
    // Does not keep the process alive.
    timer = setTimeout(draw, activity.paceMs()).unref()
  }
  const draw = (): void => {
    output.showLive(activity.line(output.width - 1))
    wait()
  }
  wait()
  return () => {
    clearTimeout(timer)
    output.showLive('')
  }
}
