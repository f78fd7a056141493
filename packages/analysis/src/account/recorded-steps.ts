import type { ContentBlock, ToolStatus, TranscriptEntry } from '@halting/core'
import { isJsonObject, isToolResult, isToolUse, type ToolResultBlock, type ToolUseBlock } from '@halting/core/adapters'
import { maxOfGrant, type StepRecord } from '@halting/core/steps'

/**
 * The phases of a run's time. `checks`: checks of goals. `waiting`: permission rules, dialogs, waits between attempts and for background work.
 * `other`: the loop itself.
 */
export type Phase = 'model' | 'compaction' | 'tools' | 'hooks' | 'checks' | 'waiting' | 'other'

/** One recorded step. */
export interface RecordedStep {
  /** The phase that the step belongs to. */
  readonly phase: Phase
  /** '' for the main loop, else the path of agents. */
  readonly scope: string
  /** Name of the step within its scope: `model:3.1`, `tool:3:0:toolu_1`. */
  readonly name: string
  /** The request of the main loop or the agent that it belongs to. */
  readonly request: number
  /** When it began, in milliseconds of the session's active clock. */
  readonly at: number
  /** Milliseconds that the step took; for an open step, so far. */
  readonly durationMs: number
  /** Whether the step has no recorded result. */
  readonly isOpen: boolean
}

/** One attempt at a model request and its charge. For an open one, the charge is the amount reserved. */
export interface RecordedRequest extends RecordedStep {
  /** Id of the model. */
  readonly model: string
  /** Input and output tokens. */
  readonly tokens: number
  /** Nano-dollars: 1e-9 US dollars. */
  readonly nanos: number
  /** Tool calls in the reply. */
  readonly calls: readonly RecordedCall[]
  /** The amount reserved and the most that the request may cost. Null when the request was not granted, or the record does not say. */
  readonly grant: { readonly [field: string]: unknown } | null
  /** The recorded result; null for an open request. */
  readonly result: { readonly [field: string]: unknown } | null
}

/** One tool call and its outcome. */
export interface RecordedCall {
  /** '' for the main loop, else the path of agents. */
  readonly scope: string
  /** Id of the call. */
  readonly id: string
  /** Name of the tool. */
  readonly name: string
  /** Input of the call. */
  readonly input: unknown
  /** `open`: the call was requested and has no recorded result. */
  status: ToolStatus | 'open'
  /** Characters that the result added to the conversation. */
  resultCharacters: number
  /** Milliseconds that it took. */
  durationMs: number
}

/** All steps, requests, calls and budget waits of a run. */
export interface RecordedSteps {
  /** All steps, in order. */
  readonly steps: readonly RecordedStep[]
  /** Steps that are model requests. */
  readonly requests: readonly RecordedRequest[]
  /** All calls, in order. */
  readonly calls: readonly RecordedCall[]
  /** Waits for money, of the main loop and of agents. */
  readonly budgetWaits: readonly RecordedWait[]
}

/** A request that waited for money reserved by others. */
export interface RecordedWait {
  /** The standing budget that was exhausted; absent for a limit of the run. */
  readonly budget?: string
  /** Whether the request still did not fit after the wait. */
  readonly isRefused: boolean
  /** US dollars that others had reserved. */
  readonly reservedUsd: number
  /** Milliseconds that it waited. */
  readonly durationMs: number
}

/** Reads the steps of a run in the order in which they ended; open ones come last. */
export function recordedSteps(records: readonly StepRecord[]): RecordedSteps {
  const reader = new StepReader()
  for (const record of records) reader.read(record)
  return reader.end()
}

class StepReader {
  readonly #steps: RecordedStep[] = []
  readonly #requests: RecordedRequest[] = []
  readonly #calls: RecordedCall[] = []
  readonly #budgetWaits: RecordedWait[] = []
  /** Calls without a result, by scope and id. Services may reuse ids: the newest call wins. */
  readonly #open = new Map<string, RecordedCall>()
  /** Calls by scope, request and position. Ids are not enough: a model chooses them, and one may look like the step of another call. */
  readonly #byPlace = new Map<string, RecordedCall>()
  /** When calls that ask a model began, by scope and step name. */
  #asking: Map<string, number> | undefined
  readonly #intents = new Map<string, Extract<StepRecord, { readonly type: 'intent' }>>()
  /** Calls that rules, a mode or a person denied, by scope and id. */
  readonly #denied = new Set<string>()

  read(record: StepRecord): void {
    switch (record.type) {
      case 'intent':
        this.#intents.set(record.key, record)
        return
      case 'result':
        this.#intents.delete(record.key)
        this.#result(record)
        return
      case 'lap':
        this.#enterResults(record.lap.scope, record.lap.added)
        return
      case 'end':
        this.#enterResults(record.scope, record.added)
        return
      case 'start':
        for (const { id, name } of record.start.answers ?? []) this.#addCall(record.scope, { id, name, input: {} })
        return
      case 'control':
      case 'rewind':
      case 'stage':
    }
  }

  end(): RecordedSteps {
    for (const { key, intent, at } of this.#intents.values()) {
      const step = recordedStep(key, at, 0, true)
      this.#steps.push(step)
      if (!isJsonObject(intent) || intent['granted'] !== true) continue
      const { model } = intent
      this.#requests.push({
        ...step,
        model: typeof model === 'string' ? model : '',
        ...(maxOfGrant(intent) ?? { tokens: 0, nanos: 0 }),
        calls: [],
        grant: intent,
        result: null,
      })
    }
    return { steps: this.#steps, requests: this.#requests, calls: this.#calls, budgetWaits: this.#budgetWaits }
  }

  #result({ key, value, at, durationMs }: Extract<StepRecord, { readonly type: 'result' }>): void {
    const step = recordedStep(key, at, durationMs, false)
    this.#steps.push(step)
    if (!isJsonObject(value)) return
    if (step.name.startsWith('tool:')) this.#toolStep(step, value)
    else if (step.name.startsWith('funds:') || isStandingBudgetWait(step, value))
      this.#budgetWaits.push(waitOf(value, durationMs))
    else if (step.phase === 'waiting') this.#decision(step, value)
    if (!isJsonObject(value['charge'])) return
    const { model, tokens, nanos } = value['charge']
    const calls = step.phase === 'model' ? this.#callsOf(step, value['message']) : []
    const { phase, scope, name, request } = step
    this.#requests.push({
      phase,
      scope,
      name,
      request,
      at,
      durationMs: step.durationMs,
      isOpen: false,
      model: typeof model === 'string' ? model : '',
      tokens: numberOf(tokens),
      nanos: numberOf(nanos),
      calls,
      grant: isJsonObject(value['grant']) ? value['grant'] : null,
      result: value,
    })
  }

  /** Reads the decision of rules, a mode or a person on a call. When a model was asked for it, the decision is in the next step. */
  #decision({ scope, name }: RecordedStep, value: { readonly [field: string]: unknown }): void {
    const isOfRules = name.startsWith('rules:')
    if (!isOfRules && !name.startsWith('permission:')) return
    const decision = isJsonObject(value['value']) ? value['value'] : value
    const isDenied = isOfRules ? typeof decision['message'] === 'string' : decision['behavior'] === 'deny'
    const call = this.#byPlace.get(`${scope}|${placeIn(name)}`)
    if (isDenied && call !== undefined) this.#denied.add(`${scope}|${call.id}`)
  }

  /** Reads the step of a call. A call that asked a model has its result in a second step, whose end gives the duration. */
  #toolStep(step: RecordedStep, value: { readonly [field: string]: unknown }): void {
    if (value['asks'] === true) {
      ;(this.#asking ??= new Map()).set(`${step.scope}|${step.name}`, step.at)
      return
    }
    const name = step.name.replace(/\/asked$/, '')
    const began = name === step.name ? undefined : this.#asking?.get(`${step.scope}|${name}`)
    const result = value['value']
    if (began === undefined) this.#toolResult(step, value)
    else if (isJsonObject(result))
      this.#toolResult({ ...step, name, durationMs: Math.max(0, step.at + step.durationMs - began) }, result)
  }

  #toolResult(
    { scope, name, durationMs }: RecordedStep,
    { status, content }: { readonly [field: string]: unknown },
  ): void {
    const call = this.#open.get(`${scope}|${callIdOf(name)}`)
    if (call === undefined) return
    // The step engine records a `ToolResult` for a call.
    call.status = status as ToolStatus
    call.durationMs = durationMs
    call.resultCharacters = charactersOf(content)
  }

  #callsOf({ scope, name, request }: RecordedStep, message: unknown): readonly RecordedCall[] {
    const content = isJsonObject(message) ? message['content'] : undefined
    if (!Array.isArray(content)) return []
    const calls = (content as readonly ContentBlock[]).filter(isToolUse).map((block) => this.#addCall(scope, block))
    // The final answer of a run counts its requests separately.
    if (name.startsWith('model:'))
      for (const [index, call] of calls.entries()) this.#byPlace.set(`${scope}|${request}:${index}`, call)
    return calls
  }

  #addCall(scope: string, { id, name, input }: Omit<ToolUseBlock, 'type'>): RecordedCall {
    const call: RecordedCall = { scope, id, name, input, status: 'open', resultCharacters: 0, durationMs: 0 }
    this.#calls.push(call)
    this.#open.set(`${scope}|${id}`, call)
    return call
  }

  /** Adds results of calls without a separate step: denied calls, calls that were not run, and calls of subagents. */
  #enterResults(scope: string, entries: readonly TranscriptEntry[]): void {
    for (const entry of entries) {
      if (entry.kind !== 'user' || typeof entry.message.content === 'string') continue
      for (const block of entry.message.content) if (isToolResult(block)) this.#enterResult(scope, block)
    }
  }

  #enterResult(scope: string, { tool_use_id: id, content, is_error: isError }: ToolResultBlock): void {
    const call = this.#open.get(`${scope}|${id}`)
    this.#open.delete(`${scope}|${id}`)
    if (call === undefined) return
    call.resultCharacters = charactersOf(content)
    if (call.status !== 'open') return
    if (isError !== true) call.status = 'done'
    else call.status = this.#denied.has(`${scope}|${id}`) ? 'denied' : statusOfText(content)
  }
}

/** A budget that is slow to answer names no exhausted budget. */
function isStandingBudgetWait({ name }: RecordedStep, { budget }: { readonly [field: string]: unknown }): boolean {
  return name.startsWith('standing:') && budget !== ''
}

function waitOf(
  { budget, outcome, reservedUsd }: { readonly [field: string]: unknown },
  durationMs: number,
): RecordedWait {
  const isRefused = outcome === 'refused'
  return { ...(typeof budget === 'string' && { budget }), isRefused, reservedUsd: numberOf(reservedUsd), durationMs }
}

/** A call without a step of its own has only its result text that explains why it was not run. */
function statusOfText(content: unknown): ToolStatus {
  if (typeof content !== 'string') return 'failed'
  if (content.startsWith('Not run: ')) return 'not_run'
  if (content.startsWith('Interrupted by user')) return 'interrupted'
  return content.startsWith('There is no tool named ') ? 'invalid' : 'failed'
}

/** Web searches that the service billed for an attempt. */
export function searchesOf({ result: came }: RecordedRequest): number {
  const charge = isJsonObject(came?.['charge']) ? came['charge'] : {}
  const usage = isJsonObject(charge['usage']) ? charge['usage'] : {}
  const uses = isJsonObject(usage['server_tool_use']) ? usage['server_tool_use'] : {}
  return numberOf(uses['web_search_requests'])
}

/** Whether the cost was never reported: the request is open, or was charged at worst case. */
export function isAtWorst({ isOpen, result: came }: RecordedRequest): boolean {
  return isOpen || (isJsonObject(came?.['charge']) && came['charge']['known'] === false)
}

/** Phase of a step, by the beginning of its name. */
const phases: ReadonlyMap<string, Phase> = new Map([
  ['model:', 'model'],
  ['wrap_up:', 'model'],
  ['compact:', 'compaction'],
  ['stage:', 'compaction'],
  ['clear:', 'compaction'],
  ['tool:', 'tools'],
  ['save:', 'tools'],
  ['shown:', 'tools'],
  ['close:', 'tools'],
  ['hook:', 'hooks'],
  ['goal:', 'checks'],
  ...['permission', 'rules', 'approval', 'retry', 'admit', 'funds', 'standing', 'background', 'limit_answer'].flatMap(
    (name) => [[`${name}:`, 'waiting'] as const, [`${name}.`, 'waiting'] as const],
  ),
])

/** Whether this is the step that asked a service for the cost of a lost request. Its name begins with that of the request. */
export function isLookUp(name: string): boolean {
  return name.endsWith('/lookup') && (name.startsWith('model:') || name.startsWith('wrap_up:'))
}

/** Parses the key of a step. This runs for every step of every session, so it avoids regular expressions and copies where it can. */
export function recordedStep(key: string, at: number, durationMs: number, isOpen: boolean): RecordedStep {
  const run = key.indexOf('/')
  const [scope, name] = key.startsWith('agent:', run + 1) ? scopeAndName(key) : ['', key.slice(run + 1)]
  const colon = name.indexOf(':')
  const dot = name.indexOf('.')
  const end = colon < 0 || (dot >= 0 && dot < colon) ? dot : colon
  const phase = isLookUp(name) ? 'other' : (phases.get(name.slice(0, end + 1)) ?? 'other')
  return { phase, scope, name, request: requestOf(name, colon), at, durationMs: Math.max(0, durationMs), isOpen }
}

function scopeAndName(key: string): readonly [scope: string, name: string] {
  const [, scope = '', name = key] = /^[^/]*\/((?:agent:\d+:\d+:[^/]*\/)*)(.*)$/s.exec(key) ?? []
  return [scope, name]
}

/** Number of the request in a step name such as `model:3.1`, `tool:3:0:toolu_1` or `hook:onStop:2`. */
function requestOf(name: string, colon: number): number {
  const first = Number.parseInt(name.slice(colon + 1), 10)
  if (colon > 0 && first >= 0) return first
  return Number(/^[a-z_]+(?::[A-Za-z_]+)?:(\d+)/.exec(name)?.[1] ?? 0)
}

/** The call id in a step name: everything after the request and the position. It may contain colons. */
export function callIdOf(name: string): string {
  const request = name.indexOf(':')
  const place = name.indexOf(':', request + 1)
  const id = name.indexOf(':', place + 1)
  return id < 0 ? '' : name.slice(id + 1)
}

/** The request and position of a call: `3:0` in `tool:3:0:toolu_1`. */
function placeIn(name: string): string {
  return /^[a-z]+:(\d+:\d+):/.exec(name)?.[1] ?? ''
}

/** Counts text only: the tokens of an image do not depend on characters. */
function charactersOf(content: unknown): number {
  if (typeof content === 'string') return content.length
  if (!Array.isArray(content)) return 0
  return (content as readonly ContentBlock[]).reduce(
    (sum, block) => sum + ('text' in block && typeof block.text === 'string' ? block.text.length : 0),
    0,
  )
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0
}
