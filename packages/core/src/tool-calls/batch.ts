import { andThen, firstResult, awaitAll, repeatWhile, type MaybePromise } from '../values/maybe-promise.ts'
import { calledTool } from '../tools/definitions.ts'
import { abortedResult, notRun, toolEndOf, type ToolResult, resultBlock } from '../tools/tool-result.ts'
import type { Run } from '../run/run.ts'
import type { CallRun, InspectedCall, PreparedCall, ToolPhase } from '../run/tool-phase.ts'
import { finishCall } from './finish-call.ts'
import { inspectCall, runsAlone } from './inspect-call.ts'
import { prepareCall } from './prepare-call.ts'
import { runCall } from './run-call.ts'
import { notRunReasons } from '../tools/result-texts.ts'
import { StopSignal } from '../endings/signal.ts'
import { toolCallsTaken } from '../state/agent-figures.ts'
import { pendingEndingOf, type PendingEnding } from '../run/outcome.ts'
import { callLimitReached } from './call-texts.ts'
import { callLimit } from '../endings/ending-texts.ts'
import type { TaskNote } from '../verification/background.ts'
import { turnHash, withNewest } from '../limits/recent-turns.ts'
import type { Json } from '../values/json.ts'
import type { ToolResultBlock } from '../model/messages.ts'
import { addHookMessages } from '../request/run-hooks.ts'
import { markReportedByTools } from '../run/tasks.ts'
import { usesRepetition, repetitionAfter } from '../run/repetition.ts'
import { callsLeft } from '../run/limit-use.ts'

/** Runs the calls batch by batch, in call order. After an abort, a stop or a pending approval, no further call starts. */
export function runBatches(run: Run, phase: ToolPhase): MaybePromise<unknown> {
  const batches = new Batches(run, phase)
  const first = runNext(run, phase, batches)
  // Usually a message has one batch, and nothing waits for the next one.
  if (batches.isOver) return first
  return andThen(first, (isMore) => (isMore ? repeatWhile(() => runNext(run, phase, batches)) : undefined))
}

/** Returns false if no further call may start. */
function runNext(run: Run, phase: ToolPhase, batches: Batches): MaybePromise<boolean> {
  if (phase.pending.length > 0) return false
  const skipped = skippedResult(phase)
  if (skipped !== undefined) return batches.skipRest(skipped)
  if (batches.isAtLimit) return batches.skipRest(resultBeyondLimit(phase))
  const batch = batches.next()
  return batch.length === 0 ? false : runBatch(run, phase, batch)
}

/**
 * The calls of a message in batches. Adjacent calls that may run together form one batch of up to `toolConcurrency`
 * calls; any other call forms a batch alone. A call is inspected only when its batch is due, because a check may depend
 * on the effects of earlier calls.
 */
class Batches {
  readonly #run: Run
  readonly #phase: ToolPhase
  #index = 0
  /** The call after the last batch, if it had to be inspected to determine that it is part of the next batch. */
  #lookahead: InspectedCall | undefined

  constructor(run: Run, phase: ToolPhase) {
    this.#run = run
    this.#phase = phase
  }

  /** Whether the remaining calls exceed the limit. */
  get isAtLimit(): boolean {
    return this.#index < this.#phase.calls.length && this.#index >= this.#phase.allowedCalls
  }

  /** Whether no call is left. */
  get isOver(): boolean {
    return this.#lookahead === undefined && this.#index >= this.#phase.calls.length
  }

  /** Returns the next batch; empty when there are no more calls. */
  next(): readonly InspectedCall[] {
    const batch = this.#gather()
    this.#phase.enterBatch(this.#index)
    return batch
  }

  #gather(): readonly InspectedCall[] {
    const first = this.#takeNext()
    if (first === undefined) return []
    const batch = [first]
    if (!canShareBatch(first)) return batch
    const limit = this.#run.context.settings.toolConcurrency
    // Recorded calls may have run in parallel under another concurrency limit. Their hooks must not run before all of them have ended.
    const hasRoom = (): boolean =>
      !this.isAtLimit && (batch.length < limit || this.#phase.recorded(this.#index) !== undefined)
    while (hasRoom() && canJoinBatch(this.#run, this.#phase, this.#index)) {
      const call = this.#takeNext()
      if (call === undefined) break
      if (!canShareBatch(call)) {
        this.#lookahead = call
        this.#index--
        break
      }
      batch.push(call)
    }
    return batch
  }

  #takeNext(): InspectedCall | undefined {
    const call = this.#lookahead ?? inspectAt(this.#run, this.#phase, this.#index)
    this.#lookahead = undefined
    if (call !== undefined) this.#index++
    return call
  }

  /** Gives this result to all remaining calls. */
  skipRest(result: ToolResult): false {
    for (; this.#index < this.#phase.calls.length; this.#index++) skipCall(this.#run, this.#phase, this.#index, result)
    return false
  }
}

function inspectAt(run: Run, { calls, early }: ToolPhase, index: number): InspectedCall | undefined {
  const call = calls[index]
  return call === undefined ? undefined : (early.find(call, index) ?? inspectCall(run, call, index))
}

/** Whether the call may share a batch. A call of an unknown tool or with an invalid input runs nothing, so it may be in any batch. */
function canShareBatch(inspected: InspectedCall): boolean {
  return inspected.kind === 'valid' ? inspected.parallelSafe : true
}

/** Whether the next call may belong to this batch. A call of a tool that always runs alone is inspected later, in its own batch. */
function canJoinBatch({ context }: Run, { calls }: ToolPhase, index: number): boolean {
  const call = calls[index]
  if (call === undefined) return false
  const tool = calledTool(call.name, context)
  return tool === undefined || !runsAlone(tool)
}

function skippedResult(phase: ToolPhase): ToolResult | undefined {
  if (phase.abort !== undefined) return abortedResult(phase.abort, 'settled')
  return phase.isStopped ? notRun(notRunReasons.runStopped) : undefined
}

function skipCall(run: Run, phase: ToolPhase, index: number, result: ToolResult): void {
  phase.setResult(index, result)
  const call = phase.calls[index]
  if (call === undefined) return
  run.emit(toolEndOf(call, result, 0))
}

// Spec R-TOOL-4.
/** Runs a batch: permissions and pre-hooks in call order, then the tools together, then post-hooks in call order. */
function runBatch(run: Run, phase: ToolPhase, batch: readonly InspectedCall[]): MaybePromise<true> {
  const only = batch.length === 1 ? batch[0] : undefined
  return only === undefined ? runMany(run, phase, batch) : runOne(run, phase, only)
}

function runOne(run: Run, phase: ToolPhase, inspected: InspectedCall): MaybePromise<true> {
  return andThen(prepareCall(run, phase, inspected), (call) => {
    if (call === 'pending') return true
    return andThen(runCall(run, phase, call), (ran) => andThen(finishCall(run, phase, ran), () => true))
  })
}

function runMany(run: Run, phase: ToolPhase, batch: readonly InspectedCall[]): MaybePromise<true> {
  const prepared: PreparedCall[] = []
  const preparing = firstResult(batch, (inspected) =>
    andThen(prepareCall(run, phase, inspected), (call): true | undefined => {
      if (call === 'pending') return true
      prepared.push(call)
      return undefined
    }),
  )
  return andThen(preparing, () =>
    andThen(runPrepared(run, phase, prepared), (runs) =>
      andThen(
        firstResult(runs, (each) => finishCall(run, phase, each)),
        () => true,
      ),
    ),
  )
}

/** Runs the tools together. If a hook changed a call to a writing one, they run one after another. */
function runPrepared(run: Run, phase: ToolPhase, prepared: readonly PreparedCall[]): MaybePromise<readonly CallRun[]> {
  if (prepared.length === 1 || prepared.every((call) => call.kind !== 'run' || call.inspected.parallelSafe))
    return awaitAll(prepared.map((call) => runCall(run, phase, call)))
  const runs: CallRun[] = []
  const running = firstResult(prepared, (call) => {
    const cut = runs.find(({ result }) => result.abort !== undefined)?.result.abort
    const next: MaybePromise<CallRun> =
      cut === undefined
        ? runCall(run, phase, call)
        : { call, result: abortedResult(cut, 'settled'), at: 0, durationMs: 0 }
    return andThen(next, (ran): undefined => {
      runs.push(ran)
    })
  })
  return andThen(running, () => runs)
}

/**
 * Limits the calls of the message to the number that is left. If fewer calls are left than the message contains, the
 * number is recorded before any call runs, so that a resume with another limit uses the same number. Calls that are
 * recorded as run were allowed.
 */
export function limitCalls(run: Run, phase: ToolPhase): MaybePromise<void> {
  const remainingCalls = callsLeft(run)
  const name = `call_limit:${run.spent.request}`
  const isRecorded = run.isRecorded(name)
  if (!isRecorded && (remainingCalls >= phase.calls.length || isPassed(run, phase, remainingCalls))) return undefined
  return andThen(
    run.step<number>(name, () => remainingCalls),
    ({ value }) => {
      phase.allowedCalls = value
      phase.callLimit = limitOf(run, value)
    },
  )
}

/** The limit that allowed this many calls, even if another limit was set since. */
function limitOf({ context, spent }: Run, allowed: number): number {
  const takenCalls = toolCallsTaken(spent)
  return allowed > 0 ? takenCalls + allowed : Math.min(takenCalls, context.settings.maxToolCalls)
}

/** Whether a call beyond the limit is on record, or the end of the turn is. */
function isPassed(run: Run, phase: ToolPhase, remainingCalls: number): boolean {
  return run.turnEnd === 'passed' || phase.callStart(remainingCalls) === 'passed'
}

/** The result of a call beyond the limit. */
function resultBeyondLimit({ callLimit }: ToolPhase): ToolResult {
  return notRun(callLimitReached(callLimit))
}

/** The pending ending if the message requested more calls than were left; undefined otherwise. */
export function callLimitEnding({ spent }: Run, phase: ToolPhase): PendingEnding | undefined {
  const refused = phase.calls.length - phase.allowedCalls
  if (refused <= 0) return undefined
  const { callLimit: limit } = phase
  const usedCalls = toolCallsTaken(spent)
  const signal = new StopSignal({
    reason: 'steps_limit',
    message: callLimit(limit, refused),
    context: { used: usedCalls, limit, refused },
    source: 'max_tool_calls',
  })
  return pendingEndingOf('max_tool_calls', signal, { raisedBy: ['limit:tool_calls'], isOwnLimit: true })
}

/** Enters one user message with every result, in call order. Calls that wait for a person have no result yet. */
export function enterResults(run: Run, phase: ToolPhase): void {
  phase.isEntered = true
  const blocks: ToolResultBlock[] = []
  // The name of a stored result differs in every turn, and must not make an equal result appear new.
  const compared: ToolResultBlock[] = []
  let details: { [callId: string]: Json } | undefined
  let memos: { [callId: string]: Json } | undefined
  const tasks: TaskNote[] = []
  let { stillRunning } = run.spent
  for (const [index, { id }] of phase.calls.entries()) {
    const result = phase.result(index)
    if (result === undefined) continue
    const block = resultBlock(id, result)
    const whole = phase.fullResult(index)
    blocks.push(block)
    compared.push(whole === undefined || whole === result ? block : resultBlock(id, whole))
    if (result.details !== undefined) (details ??= {})[id] = result.details
    if (result.memo !== undefined) (memos ??= {})[id] = result.memo
    // Background work that a subagent started already contains the id of its call.
    for (const news of result.tasks ?? []) if (!hasEnd(tasks, news)) tasks.push({ callId: id, ...news })
    if (result.stillRunning === true) stillRunning = [...stillRunning, id]
  }
  if (blocks.length > 0) {
    const id = run.entryId('tool_results')
    const message = { role: 'user', content: blocks } as const
    const entry = { kind: 'user', id, message, origin: 'tool_results' } as const
    run.append({
      ...entry,
      ...(details !== undefined && { details }),
      ...(memos !== undefined && { memos }),
      ...(tasks.length > 0 && { tasks }),
    })
    if (tasks.length > 0) markReportedByTools(run, tasks)
  }
  const { toolResults, recentTurns, toolCalls = 0 } = run.spent
  // Calls that wait for a person have no result yet. They count once they have one.
  const countedCalls = Math.min(blocks.length, phase.allowedCalls)
  const looksAtTurns = usesRepetition(run)
  run.update({
    ...(looksAtTurns && repetitionAfter(run, phase.calls, compared)),
    toolResults: toolResults + blocks.length,
    ...(countedCalls > 0 && { toolCalls: toolCalls + countedCalls }),
    recentTurns: looksAtTurns ? withNewest(recentTurns, turnHash(phase.calls, compared, phase.hasWaited)) : recentTurns,
    stillRunning,
  })
  addHookMessages(run, phase.messages)
  addHookMessages(run, phase.remarks)
}

/** If two calls of a message report the same end, the first one counts. */
function hasEnd(tasks: readonly TaskNote[], { type, id }: TaskNote): boolean {
  return type === 'ended' && tasks.some((each) => each.type === 'ended' && each.id === id)
}
