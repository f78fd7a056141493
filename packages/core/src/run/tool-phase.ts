import type { AbortCause } from '../values/abort.ts'
import { waitMs } from '../limits/recent-turns.ts'
import type { HookMessage } from '../hooks/hook-outcome.ts'
import type { Json } from '../values/json.ts'
import type { ToolUseBlock } from '../model/messages.ts'
import type { StopSignal } from '../endings/signal.ts'
import type { SignalOrigin } from '../endings/terminal.ts'
import type { ToolResult } from '../tools/tool-result.ts'
import { OpenBill } from './request-bill.ts'
import type { RunProgress } from '../state/state.ts'
import type { StepResult } from '../steps/steps.ts'
import type { AnyTool } from '../tools/tool.ts'

/** A stop that a tool or one of its hooks raised. It takes effect once all tools are done. */
export interface RaisedStop {
  readonly index: number
  readonly signal: StopSignal
  readonly origin: SignalOrigin
  readonly hook: string | null
  readonly callId: string
}

/** What an agent and those below it may use of what is counted for all agents of a run. */
export interface AgentShare {
  /** Agents that they may start. */
  readonly agents: number
  /** Calls of tools; Infinity for no limit. */
  readonly toolCalls: number
}

/** A call that a person has to approve. It and the calls after it have no result yet. */
export interface PendingCall {
  readonly call: ToolUseBlock
  readonly message: string
}

/** How a resumed run's record holds a call: by the step of a leaf tool, by the steps of a subagent, or not at all. */
export type RecordedCall = 'leaf' | 'agent' | undefined

export interface ToolPhaseStart {
  readonly calls: readonly ToolUseBlock[]
  readonly early: EarlyStarts
  /** Messages that `afterInference` hooks added. The results go before them. */
  readonly remarks: readonly HookMessage[]
  readonly recorded: readonly RecordedCall[] | undefined
  /** A resume or a replay came here within its record. */
  readonly isLeft: boolean
}

const noneRan: readonly CallRun[] = Object.freeze([])

/**
 * The results of the tool calls of one message. They are kept by the place of the call in the message.
 * T1: a call is held as soon as it ended, and its result is entered once the hooks have seen it; a run that breaks is closed from here.
 * T2: stops are told in call order, whoever raised them first.
 */
export class ToolPhase {
  readonly calls: readonly ToolUseBlock[]
  readonly early: EarlyStarts
  readonly remarks: readonly HookMessage[]
  readonly isLeft: boolean
  readonly #recorded: readonly RecordedCall[] | undefined
  readonly #results: (ToolResult | undefined)[]
  #whole: (ToolResult | undefined)[] | undefined
  readonly #begun: boolean[]
  #bills: (OpenBill | undefined)[] | undefined
  #ran: CallRun[] | undefined
  /** The call that is being entered in the run. Its figures are entered; its hooks may not be done. */
  entering: CallRun | undefined = undefined
  /** Mostly a message has one call. */
  #reported: CallRun | Set<CallRun> | undefined
  /** What each agent of these calls may use of what is counted for all agents of the run. */
  agentShare: AgentShare | undefined = undefined
  /** The first calls of the message, which the limit on calls lets run. */
  allowedCalls: number = Infinity
  /** That limit, where it lets fewer calls run than there are. */
  callLimit: number = Infinity
  /** The results are on the transcript. */
  isEntered = false
  #messages: HookMessage[] | undefined
  #stops: RaisedStop[] | undefined
  #pending: PendingCall[] | undefined
  #abort: AbortCause | undefined

  /** Place of the first call behind the batch that is being run. */
  #behindBatch = 0

  constructor({ calls, early, remarks, recorded, isLeft }: ToolPhaseStart) {
    this.calls = calls
    this.#results = calls.map(() => undefined)
    this.#begun = calls.map(() => false)
    this.early = early
    this.remarks = remarks
    this.isLeft = isLeft
    this.#recorded = recorded
  }

  /** How the record of a resumed run holds the call. */
  recorded(index: number): RecordedCall {
    return this.#recorded?.[index]
  }

  /** A batch begins; `behind` is the place of the first call after it. */
  enterBatch(behind: number): void {
    this.#behindBatch = behind
  }

  // Spec R-RES-11.
  /**
   * Where the start of this call lies. `passed` when the record of a resumed run holds it or a later one: it was allowed then.
   * That a call before it is on record says nothing: another program may put into one batch what were two.
   */
  callStart(index: number): RecordPosition {
    return this.#positionOf(index)
  }

  /** Where the end of this batch lies. `passed` when the record holds a later call: a call of this batch that is not on record is not run. */
  get batchEnd(): RecordPosition {
    return this.#positionOf(this.#behindBatch)
  }

  #positionOf(place: number): RecordPosition {
    const isPassed = this.#recorded?.some((recorded, index) => recorded !== undefined && index >= place) === true
    return isPassed ? 'passed' : 'open'
  }

  /** The tool is about to be called. From now on a call without a result has an unknown outcome. */
  begin(index: number): void {
    this.#begun[index] = true
  }

  hasBegun(index: number): boolean {
    return this.#begun[index] === true
  }

  /** What the call of this place pays for questions to models. It is entered with the call. */
  billOf(index: number): OpenBill {
    const bill = (this.#bills ??= [])[index] ?? new OpenBill()
    this.#bills[index] = bill
    return bill
  }

  /** The bill of a call that ended, once: what is taken is entered. */
  takeBill(index: number): OpenBill | undefined {
    const bill = this.#bills?.[index]
    if (bill !== undefined) delete this.#bills?.[index]
    return bill
  }

  /** The call's effect ended, whatever becomes of those beside it. */
  addRan(ran: CallRun): CallRun {
    // A list that begins empty would be made for seventeen.
    if (this.#ran === undefined) this.#ran = [ran]
    else this.#ran.push(ran)
    return ran
  }

  /** Whether the `tool_end` of the call was emitted; from now on it counts as emitted. */
  report(ran: CallRun): boolean {
    const reported = this.#reported
    if (reported === ran || (reported instanceof Set && reported.has(ran))) return true
    if (reported === undefined) this.#reported = ran
    else if (reported instanceof Set) reported.add(ran)
    else this.#reported = new Set([reported, ran])
    return false
  }

  /** Calls that ended, in the order in which they did. */
  get ran(): readonly CallRun[] {
    return this.#ran ?? noneRan
  }

  // Spec R-PROG-1a.
  /** One of the tools took so long that the turn counts as one that waits. An agent that takes long works. */
  get hasWaited(): boolean {
    return this.ran.some(({ agent, durationMs }) => agent === undefined && durationMs >= waitMs)
  }

  /** Sets the result that the model is shown. */
  setResult(index: number, result: ToolResult): void {
    this.#results[index] = result
  }

  /** The same for a result of which the model is shown a part. */
  setShortened(index: number, shown: ToolResult, whole: ToolResult): void {
    this.#results[index] = shown
    ;(this.#whole ??= [])[index] = whole
  }

  /** The result with all of its text. */
  wholeResult(index: number): ToolResult | undefined {
    return this.#whole?.[index] ?? this.#results[index]
  }

  result(index: number): ToolResult | undefined {
    return this.#results[index]
  }

  /** What the tools of the calls so far have to find again, in call order. */
  get memos(): readonly Json[] {
    return this.#results.flatMap((result) => (result?.memo === undefined ? [] : [result.memo]))
  }

  /** A message of a hook, for behind the results. */
  addMessages(messages: readonly HookMessage[]): void {
    if (messages.length > 0) (this.#messages ??= []).push(...messages)
  }

  addStop(stop: RaisedStop): void {
    ;(this.#stops ??= []).push(stop)
  }

  addPending(call: PendingCall): void {
    ;(this.#pending ??= []).push(call)
  }

  /** The first abort that cut a call or one of its hooks. */
  noteAbort(cause: AbortCause | undefined): void {
    this.#abort ??= cause
  }

  get messages(): readonly HookMessage[] {
    return this.#messages ?? none
  }

  /** In call order. */
  get stops(): readonly RaisedStop[] {
    return this.#stops === undefined ? none : this.#stops.toSorted((a, b) => a.index - b.index)
  }

  get pending(): readonly PendingCall[] {
    return this.#pending ?? none
  }

  get abort(): AbortCause | undefined {
    return this.#abort
  }

  get isStopped(): boolean {
    return this.#stops !== undefined
  }
}

const none: readonly never[] = Object.freeze([])

// The states of a tool call: inspected, prepared, run.

/** A call whose input was checked. It is checked once, and again only when a hook or a rule changes the input. */
export type InspectedCall = ValidCall | InvalidCall

export interface ValidCall {
  readonly kind: 'valid'
  /** With the name of its tool, and its input in the form that the schema wants: what rules and hooks judge. */
  readonly call: ToolUseBlock
  /** Place in the message. */
  readonly index: number
  /** The name that the model wrote, where an alias led from it to the tool. */
  readonly written: string
  readonly tool: AnyTool
  /** The input as the tool's own check left it, as frozen JSON: what hooks are shown after the call. */
  readonly taken: unknown
  /** A copy of the tool's own, checked by it: what the tool is called with. */
  readonly input: unknown
  readonly readOnly: boolean
  /** May run beside its neighbours. */
  readonly parallelSafe: boolean
  /** It was allowed to run confined alone; set where that was decided. */
  readonly confined?: true
  /** The decision of the permission rules, or a promise of it, where they were asked while the message streamed. */
  readonly said: unknown
  /** Set when it started while its message still streamed. */
  readonly started: Promise<ToolResult> | undefined
}

/** An unknown tool, or an input that its tool does not take. */
interface InvalidCall {
  readonly kind: 'invalid'
  readonly call: ToolUseBlock
  readonly index: number
  /** For the model: what is right. */
  readonly message: string
}

/** A call after permissions and pre-hooks. */
export type PreparedCall =
  | { readonly kind: 'run'; readonly inspected: ValidCall }
  /** It is on record, and in the resumed program its tool is gone or refuses this input. */
  | { readonly kind: 'recorded'; readonly call: ToolUseBlock; readonly index: number }
  /** It has its result without running: unknown tool, invalid input, denied, stopped. */
  | { readonly kind: 'answer'; readonly call: ToolUseBlock; readonly index: number; readonly result: ToolResult }

/** A call and its result. The result is recorded, and not yet entered in the run. */
export interface CallRun extends Pick<StepResult<ToolResult>, 'at' | 'durationMs'> {
  readonly call: PreparedCall
  readonly result: ToolResult
  /** Set for a subagent. */
  readonly agent?: AgentOutcome
  /** Lines that the run had changed when its subagent began. */
  readonly changedAtStart?: number
}

/** A subagent's answer and figures. */
export interface AgentOutcome {
  readonly result: ToolResult
  /** The moment of its end on the run's own clock: agents side by side take the time of the longest. */
  readonly endedAt: number
  /** What it spent; null when it never began. */
  readonly spent: RunProgress | null
}

/** Looks at calls while their message still streams. */
export interface EarlyLook {
  /** Starts the call when rules alone allow it, else it may say what it came to know. */
  lookAt(call: ToolUseBlock, index: number): InspectedCall | undefined
}

interface ConsideredCall {
  readonly made: ToolUseBlock
  readonly looked: InspectedCall
}

// Spec R-TOOL-6.
/**
 * The leading calls of a message, looked at while it still streams; read-only ones start, which is speculation and no step.
 * E1: the first call that does not start is the last that is looked at. E2: once the message is on record, what is known of a call
 * is taken over by that very call: the same place, id, tool and input. E3: what is not taken over is discarded;
 * a rejection of it is handled from the start.
 */
export class EarlyStarts {
  readonly #limit: number
  readonly #look: EarlyLook | undefined
  /** Each beside the call as the model made it: what is known of it may have its input in another form. */
  #calls: ConsideredCall[] | undefined
  #isOver = false

  constructor(limit: number, look: EarlyLook | undefined) {
    this.#limit = limit
    this.#look = look
  }

  /** A call of the message is complete. */
  consider(call: ToolUseBlock): void {
    if (this.#isOver) return
    const index = this.#calls?.length ?? 0
    const looked = index < this.#limit ? this.#look?.lookAt(call, index) : undefined
    if (looked !== undefined) this.#add({ made: call, looked })
    this.#isOver = looked?.kind !== 'valid' || looked.started === undefined
  }

  #add(call: ConsideredCall): void {
    // A list that begins empty would be made for seventeen.
    if (this.#calls === undefined) this.#calls = [call]
    else this.#calls.push(call)
  }

  /** What is known of the call in this place of the message. */
  find(call: ToolUseBlock, index: number): InspectedCall | undefined {
    const known = this.#calls?.[index]
    return known !== undefined && isSame(known.made, call) ? known.looked : undefined
  }
}

/** A driver may give the message back as a copy. */
function isSame(a: ToolUseBlock, b: ToolUseBlock): boolean {
  if (a === b) return true
  return a.id === b.id && a.name === b.name && JSON.stringify(a.input) === JSON.stringify(b.input)
}

export const noEarlyStarts: EarlyStarts = new EarlyStarts(0, undefined)

// Spec R-RES-11.
/**
 * Where a point of the run lies, as the record of a resume has it. `passed`: the record goes on behind the point. Guards,
 * hooks and rules that are not on record there are new, and do not count. `open`: the point is decided now.
 */
export type RecordPosition = 'passed' | 'open'
