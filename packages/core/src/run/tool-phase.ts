import type { AbortCause } from '../values/abort.ts'
import { waitThresholdMs } from '../limits/recent-turns.ts'
import type { HookMessage } from '../hooks/hook-outcome.ts'
import type { Json } from '../values/json.ts'
import type { ToolUseBlock } from '../model/messages.ts'
import type { StopSignal } from '../endings/signal.ts'
import type { SignalOrigin } from '../endings/run-result.ts'
import type { ToolResult } from '../tools/tool-result.ts'
import { OpenBill } from './request-bill.ts'
import type { RunProgress } from '../state/state.ts'
import type { StepResult } from '../steps/step-engine.ts'
import type { AnyTool } from '../tools/tool.ts'

/** A stop that a tool or one of its hooks raised. It takes effect once all tools are done. */
export interface RaisedStop {
  readonly index: number
  readonly signal: StopSignal
  readonly origin: SignalOrigin
  readonly hook: string | null
  readonly callId: string
}

/** The limits on agents and calls that one agent and its descendants may use, as a share of the run-wide limits. */
export interface AgentShare {
  /** Agents that they may start. */
  readonly agents: number
  /** Tool calls; Infinity for no limit. */
  readonly toolCalls: number
}

/** A call that a person has to approve. Neither this call nor the calls after it have a result yet. */
export interface PendingCall {
  readonly call: ToolUseBlock
  readonly message: string
}

/** How the record of a resumed run contains a call: as the step of a leaf tool, as the steps of a subagent, or not at all. */
export type RecordedCall = 'leaf' | 'agent' | undefined

export interface ToolPhaseStart {
  readonly calls: readonly ToolUseBlock[]
  readonly early: EarlyStarts
  /** Messages that `afterInference` hooks added. They are appended after the results. */
  readonly remarks: readonly HookMessage[]
  readonly recorded: readonly RecordedCall[] | undefined
  /** A resume or a replay was still reading its record when this phase began. */
  readonly startedInReplay: boolean
}

const noneRan: readonly CallRun[] = Object.freeze([])

/**
 * The results of the tool calls of one message, indexed by the position of the call. T1: a call is stored as soon as it
 * ends, and its result is entered once the hooks have seen it. A run that breaks
 * takes its results from here. T2: stops are
 * reported in call order, whichever was raised first.
 */
export class ToolPhase {
  readonly calls: readonly ToolUseBlock[]
  readonly early: EarlyStarts
  readonly remarks: readonly HookMessage[]
  readonly startedInReplay: boolean
  readonly #recorded: readonly RecordedCall[] | undefined
  readonly #results: (ToolResult | undefined)[]
  #whole: (ToolResult | undefined)[] | undefined
  readonly #begun: boolean[]
  #bills: (OpenBill | undefined)[] | undefined
  #ran: CallRun[] | undefined
  /** The call whose outcome is being entered in the run. Its figures are entered already; its hooks may not be done. */
  entering: CallRun | undefined = undefined
  /** Stored as a single value in the common case of one call. */
  #reported: CallRun | Set<CallRun> | undefined
  /** The share of each agent of these calls in the run-wide limits. */
  agentShare: AgentShare | undefined = undefined
  /** Number of leading calls that may run under the limit on calls. */
  allowedCalls: number = Infinity
  /** The limit on calls, if it is lower than the number of calls. */
  callLimit: number = Infinity
  /** Whether the results are in the transcript. */
  isEntered = false
  #messages: HookMessage[] | undefined
  #stops: RaisedStop[] | undefined
  #pending: PendingCall[] | undefined
  #abort: AbortCause | undefined

  /** Position of the first call after the current batch. */
  #afterBatch = 0

  constructor({ calls, early, remarks, recorded, startedInReplay }: ToolPhaseStart) {
    this.calls = calls
    this.#results = calls.map(() => undefined)
    this.#begun = calls.map(() => false)
    this.early = early
    this.remarks = remarks
    this.startedInReplay = startedInReplay
    this.#recorded = recorded
  }

  /** How the record of a resumed run contains the call. */
  recorded(index: number): RecordedCall {
    return this.#recorded?.[index]
  }

  /** Starts a batch. `end` is the position of the first call after it. */
  enterBatch(end: number): void {
    this.#afterBatch = end
  }

  // Spec R-RES-11.
  /**
   * The position of the start of this call. `passed` when the record of a resumed run contains this call or a later one:
   * the call was allowed at that time. A recorded earlier call is not sufficient, since another program may merge two
   * batches into one.
   */
  callStart(index: number): RecordPosition {
    return this.#positionOf(index)
  }

  /** The position of the end of this batch. `passed` when the record contains a later call. Unrecorded calls of this batch are not run then. */
  get batchEnd(): RecordPosition {
    return this.#positionOf(this.#afterBatch)
  }

  #positionOf(place: number): RecordPosition {
    const isPassed = this.#recorded?.some((recorded, index) => recorded !== undefined && index >= place) === true
    return isPassed ? 'passed' : 'open'
  }

  /** Marks the call as begun: the tool is about to be called. From then on, a call without a result has an unknown outcome. */
  begin(index: number): void {
    this.#begun[index] = true
  }

  hasBegun(index: number): boolean {
    return this.#begun[index] === true
  }

  /** The cost of the model requests that the call makes. It is entered with the call. */
  billOf(index: number): OpenBill {
    const bill = (this.#bills ??= [])[index] ?? new OpenBill()
    this.#bills[index] = bill
    return bill
  }

  /** Removes the bill of an ended call and returns it, so that it is entered once. */
  takeBill(index: number): OpenBill | undefined {
    const bill = this.#bills?.[index]
    if (bill !== undefined) delete this.#bills?.[index]
    return bill
  }

  /** Records that the call's side effect ended, independently of the other calls. */
  addRan(ran: CallRun): CallRun {
    // Pushing to an empty list would allocate space for seventeen elements.
    if (this.#ran === undefined) this.#ran = [ran]
    else this.#ran.push(ran)
    return ran
  }

  /** Whether `tool_end` was already emitted for the call; marks it as emitted. */
  report(ran: CallRun): boolean {
    const reported = this.#reported
    if (reported === ran || (reported instanceof Set && reported.has(ran))) return true
    if (reported === undefined) this.#reported = ran
    else if (reported instanceof Set) reported.add(ran)
    else this.#reported = new Set([reported, ran])
    return false
  }

  /** Calls that ended, in the order in which they ended. */
  get ran(): readonly CallRun[] {
    return this.#ran ?? noneRan
  }

  // Spec R-PROG-1a.
  /** Whether a tool took so long that the turn counts as waiting. A slow agent does not make it count as waiting. */
  get hasWaited(): boolean {
    return this.ran.some(({ agent, durationMs }) => agent === undefined && durationMs >= waitThresholdMs)
  }

  /** Sets the result for the model. */
  setResult(index: number, result: ToolResult): void {
    this.#results[index] = result
  }

  /** Sets a result that is shortened for the model. */
  setShortened(index: number, shortened: ToolResult, full: ToolResult): void {
    this.#results[index] = shortened
    ;(this.#whole ??= [])[index] = full
  }

  /** The complete result, before shortening. */
  fullResult(index: number): ToolResult | undefined {
    return this.#whole?.[index] ?? this.#results[index]
  }

  result(index: number): ToolResult | undefined {
    return this.#results[index]
  }

  /** The memos of the tools so far, in call order. */
  get memos(): readonly Json[] {
    return this.#results.flatMap((result) => (result?.memo === undefined ? [] : [result.memo]))
  }

  /** Adds messages of a hook. They are appended after the results. */
  addMessages(messages: readonly HookMessage[]): void {
    if (messages.length > 0) (this.#messages ??= []).push(...messages)
  }

  addStop(stop: RaisedStop): void {
    ;(this.#stops ??= []).push(stop)
  }

  addPending(call: PendingCall): void {
    ;(this.#pending ??= []).push(call)
  }

  /** Stores the first abort that interrupted a call or one of its hooks. */
  noteAbort(cause: AbortCause | undefined): void {
    this.#abort ??= cause
  }

  get messages(): readonly HookMessage[] {
    return this.#messages ?? none
  }

  /** The raised stops in call order. */
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

/** A call whose input was checked. The input is checked only once, unless a hook or a rule changes it. */
export type InspectedCall = ValidCall | InvalidCall

export interface ValidCall {
  readonly kind: 'valid'
  /** The call with the name of its tool, and its input in the form that the schema defines. Rules and hooks receive this object. */
  readonly call: ToolUseBlock
  /** Position in the message. */
  readonly index: number
  /** The name that the model wrote, which may be an alias of the tool. */
  readonly writtenName: string
  readonly tool: AnyTool
  /** The input after validation by the tool, as frozen JSON. Hooks receive it after the call. */
  readonly validatedInput: unknown
  /** A separate validated copy, for the tool itself. */
  readonly input: unknown
  readonly readOnly: boolean
  /** Whether the call may run in parallel with adjacent calls. */
  readonly parallelSafe: boolean
  /** Set when the call may only run in the sandbox. */
  readonly confined?: true
  /** The decision of the permission rules, or a promise of it, if the rules were evaluated while the message streamed. */
  readonly earlyDecision: unknown
  /** The promise of the result, set when the call started while its message was still streaming. */
  readonly started: Promise<ToolResult> | undefined
}

/** An unknown tool, or an input that its tool does not accept. */
interface InvalidCall {
  readonly kind: 'invalid'
  readonly call: ToolUseBlock
  readonly index: number
  /** An explanation for the model of what is correct. */
  readonly message: string
}

/** A call after permissions and pre-hooks. */
export type PreparedCall =
  | { readonly kind: 'run'; readonly inspected: ValidCall }
  /** The call is recorded, but in the resumed program its tool is missing or refuses this input. */
  | { readonly kind: 'recorded'; readonly call: ToolUseBlock; readonly index: number }
  /** The call gets its result without running: unknown tool, invalid input, denied, or stopped. */
  | { readonly kind: 'answer'; readonly call: ToolUseBlock; readonly index: number; readonly result: ToolResult }

/** A call and its result. The result is recorded, and is not entered in the run yet. */
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
  /** The time at which it ended, on the clock of the parent run. Concurrent agents together take the time of the longest. */
  readonly endedAt: number
  /** What it spent; null when it never began. */
  readonly spent: RunProgress | null
}

/** Inspects calls while their message still streams. */
export interface EarlyInspector {
  /** Starts the call if the rules alone allow it. Otherwise it may return the results of its inspection. */
  inspect(call: ToolUseBlock, index: number): InspectedCall | undefined
}

interface ConsideredCall {
  readonly original: ToolUseBlock
  readonly inspected: InspectedCall
}

// Spec R-TOOL-6.
/**
 * The leading calls of a message, inspected while it still streams. Read-only calls start speculatively, without a step.
 * E1: the first call that does not start is the last to be inspected. E2: once the message is recorded, an inspection is
 * reused only for the same call: same position, id, tool and input. E3: an unused inspection is discarded; a rejection
 * of its promise is handled from the start.
 */
export class EarlyStarts {
  readonly #limit: number
  readonly #inspector: EarlyInspector | undefined
  /** Each inspection with the original call, since the inspected call may have its input in another form. */
  #calls: ConsideredCall[] | undefined
  #isOver = false

  constructor(limit: number, inspector: EarlyInspector | undefined) {
    this.#limit = limit
    this.#inspector = inspector
  }

  /** Inspects the next call of the message, which has been received completely. */
  consider(call: ToolUseBlock): void {
    if (this.#isOver) return
    const index = this.#calls?.length ?? 0
    const inspected = index < this.#limit ? this.#inspector?.inspect(call, index) : undefined
    if (inspected !== undefined) this.#add({ original: call, inspected })
    this.#isOver = inspected?.kind !== 'valid' || inspected.started === undefined
  }

  #add(call: ConsideredCall): void {
    // Pushing to an empty list would allocate space for seventeen elements.
    if (this.#calls === undefined) this.#calls = [call]
    else this.#calls.push(call)
  }

  /** The inspection of the call at this position of the message. */
  find(call: ToolUseBlock, index: number): InspectedCall | undefined {
    const known = this.#calls?.[index]
    return known !== undefined && isSame(known.original, call) ? known.inspected : undefined
  }
}

/** Compares two calls by value, since a step engine may return the message as a copy. */
function isSame(a: ToolUseBlock, b: ToolUseBlock): boolean {
  if (a === b) return true
  return a.id === b.id && a.name === b.name && JSON.stringify(a.input) === JSON.stringify(b.input)
}

export const noEarlyStarts: EarlyStarts = new EarlyStarts(0, undefined)

// Spec R-RES-11.
/**
 * The position of a point in the record of a resumed run. `passed`: the record continues after the point. Guards, hooks
 * and rules that are not recorded at that point are new, and are ignored. `open`: the point is decided now.
 */
export type RecordPosition = 'passed' | 'open'
