import { turnsBegun } from '../limits/transition-rules.ts'
import type { AbortCause } from '../values/abort.ts'
import type { CancellationSource } from '../hooks/cancellation-source.ts'
import type { Settled } from '../values/settle.ts'
import { plainTextOf } from '../model/content.ts'
import { isInstance, messageOf } from '../values/errors.ts'
import { andThen, type MaybePromise, ignoreRejection } from '../values/maybe-promise.ts'
import { remindersOf, signalOf } from '../limits/call-guard.ts'
import { lastCallsOf } from '../limits/last-calls.ts'
import { calledName } from '../tools/definitions.ts'
import {
  defaultCheckpoints,
  type CancellationPoint,
  type GuardView,
  type Reminder,
  type Guard,
  type GuardRemaining,
} from '../limits/guard.ts'
import type { ExternalInput } from '../steps/external-input.ts'
import type { PolledExternalInput } from '../steps/step-engine.ts'
import { StopSignal, type StopSignalJson } from '../endings/signal.ts'
import { activeMs, committedUsd, type Run, isRequestRecorded, type CallPlace } from './run.ts'
import type { RecordPosition } from './tool-phase.ts'
import { endedTasks, enterTasks } from './tasks.ts'
import { repeatedIn } from '../limits/repetition.ts'

// A cancellation point reads aborts, stop signals, cancellation sources and the inbox. All external input is read
// through `StepEngine.control`, which records it.

/**
 * Reads aborts, stop requests, cancellation sources and changed settings. Raises the signals, and returns the cause of
 * an abort. It removes no messages from the inbox, so that they remain there if the run stops.
 */
export function externalInputAt(run: Run, cancellationPoint: CancellationPoint): MaybePromise<AbortCause | undefined> {
  const name = `control:${cancellationPoint}:${run.spent.request}`
  // If the record of an agent continues past this point, the agent received no input here. New input is then left for a
  // later point; otherwise recorded charges would be lost.
  const isPassed = cancellationPoint === 'before_turn' ? isRequestRecorded(run) : run.turnEnd === 'passed'
  if (isPassed && !run.isRecorded(name)) return undefined
  const key = run.key(name)
  const polled = run.ports.steps.control(key, () => pollExternalInput(run))
  if (polled === undefined) return undefined
  return andThen(polled, (externalInput) => applyExternalInput(run, externalInput, cancellationPoint))
}

// Spec R-SET-4c.
/**
 * Applies settings that were changed before a resume continues, for a call that the record leaves undecided. If the
 * record continues after this point, nothing is applied here: the next cancellation point comes after the call.
 */
export function settingsAtCall(run: Run, { index, id }: CallPlace, position: RecordPosition): MaybePromise<undefined> {
  const key = run.key(`control:call:${run.spent.request}:${index}:${id}`)
  const poll = (): ExternalInput | undefined => {
    const settings = position === 'open' ? run.ports.inbox.takeSettings() : undefined
    return settings === undefined ? undefined : { settings }
  }
  const polled = run.ports.steps.control(key, poll, { isOpen: position === 'open' })
  return andThen(polled, (externalInput) => {
    if (externalInput?.settings !== undefined) run.set(externalInput.settings)
    return undefined
  })
}

// Spec R-SERV-7.
/** Applies settings that a person changed while the run waited for a service. The next request uses them. */
export function settingsInWait(run: Run, attempt: number): MaybePromise<boolean> {
  const key = run.key(`control:service:${run.spent.request}:${attempt}`)
  const poll = (): ExternalInput | undefined => {
    const settings = run.ports.inbox.takeSettings()
    return settings === undefined ? undefined : { settings }
  }
  return andThen(run.ports.steps.control(key, poll), (externalInput) => {
    if (externalInput?.settings === undefined) return false
    run.set(externalInput.settings)
    return true
  })
}

function applyExternalInput(
  run: Run,
  externalInput: ExternalInput | undefined,
  cancellationPoint: CancellationPoint,
): AbortCause | undefined {
  if (externalInput?.settings !== undefined) run.set(externalInput.settings)
  for (const stored of externalInput?.signals ?? []) run.raise(StopSignal.fromJSON(stored), cancellationPoint)
  return externalInput?.abort
}

function pollExternalInput(run: Run): PolledExternalInput {
  const cause = run.ports.abort.causeNow()
  if (cause !== undefined) return { abort: cause }
  const signals = run.ports.inbox.takeSignals() ?? noSignals
  return run.context.cancellation.length === 0 ? externalInputOf(run, signals) : pollSources(run, signals)
}

const noSignals: readonly StopSignalJson[] = Object.freeze([])

async function pollSources(run: Run, received: readonly StopSignalJson[]): Promise<ExternalInput | undefined> {
  const signals = [...received]
  for (const source of run.context.cancellation) {
    // A source that ignored an abort has used up the grace time, so no further source is called.
    if (run.ports.abort.causeNow() !== undefined) break
    const signal = await run.withGrace(
      () => source.cancellationSignal(run.agentState),
      (settled) => signalOfSource(source, settled),
    )
    if (signal !== undefined) signals.push(signal.toJSON())
  }
  const cause = run.ports.abort.causeNow()
  return cause === undefined ? externalInputOf(run, signals) : { abort: cause }
}

/** Stop signals and changed settings; undefined when there are none. */
function externalInputOf(run: Run, signals: readonly StopSignalJson[]): ExternalInput | undefined {
  const settings = run.ports.inbox.takeSettings()
  if (settings === undefined && signals.length === 0) return undefined
  return { ...(signals.length > 0 && { signals }), ...(settings !== undefined && { settings }) }
}

/** A source that throws or returns anything but a signal ends the run as `error`, since it may have meant to stop. */
function signalOfSource(source: CancellationSource, settled: Settled<unknown>): StopSignal | undefined {
  if (settled.kind === 'left') return undefined
  if (settled.kind === 'threw') return failedSource(source, messageOf(settled.error))
  const { value } = settled
  if (value === undefined || value === null || value === false) return undefined
  return isInstance(value, StopSignal) ? value : failedSource(source, 'it returned a value that is not a StopSignal')
}

function failedSource(source: CancellationSource, problem: string): StopSignal {
  const name = nameOf(source)
  return new StopSignal({
    reason: 'error',
    message: `The cancellation source ${name} failed: ${problem}`,
    source: name,
  })
}

/** The source may be an object without a class. */
function nameOf(source: CancellationSource): string {
  try {
    return plainTextOf(source.constructor.name)
  } catch {
    return 'Object'
  }
}

/**
 * Evaluates the guards of this cancellation point, raises their signals, and returns the ids of the guards that raised
 * one. Before a turn, an overridden guard raises no signal, since the turn was granted. At a point that is `passed`, no
 * guard raises one.
 */
export function guardsAt(
  run: Run,
  cancellationPoint: CancellationPoint,
  position: RecordPosition = 'open',
): readonly string[] {
  return askGuards(run, cancellationPoint, position).raisedBy
}

/** Works like `guardsAt`, and also returns the reminders that the guards request. */
export function askGuards(run: Run, cancellationPoint: CancellationPoint, position: RecordPosition): GuardsOutcome {
  const { guards } = run.context
  if (guards.length === 0) return noGuardsAsked
  const view = guardView(run, cancellationPoint)
  if (cancellationPoint === 'before_turn') emitGuards(run, view)
  const raisedBy: string[] = []
  let reminders: readonly Reminder[] = noGuardsAsked.reminders
  for (const { id, guard } of guards) {
    if (!(guard.checkpoints ?? defaultCheckpoints).includes(cancellationPoint)) continue
    if (cancellationPoint === 'after_tools' && guard.reminds !== undefined)
      reminders = [...reminders, ...remindersOf(guard, view)]
    const signal = signalOf(guard, view)
    const { overridden } = run.spent
    const wasOverridden = overridden.includes(id)
    if (signal === undefined) {
      if (wasOverridden) run.update({ overridden: overridden.filter((other) => other !== id) })
      continue
    }
    if (position === 'passed' || (wasOverridden && cancellationPoint === 'before_turn')) continue
    raisedBy.push(id)
    run.raise(signal, cancellationPoint)
  }
  return { raisedBy, reminders }
}

/** The reminders that the guards request at a point other than this one. */
export function remindersAt(run: Run, cancellationPoint: CancellationPoint): readonly Reminder[] {
  const view = guardView(run, cancellationPoint)
  return run.context.guards.flatMap(({ guard }) => remindersOf(guard, view))
}

/** The outcome of evaluating the guards of a cancellation point. */
interface GuardsOutcome {
  /** Ids of the guards that raised a signal. */
  readonly raisedBy: readonly string[]
  readonly reminders: readonly Reminder[]
}

const noGuardsAsked: GuardsOutcome = Object.freeze({ raisedBy: [], reminders: [] })

function guardView({ spent, transcript, context }: Run, cancellationPoint: CancellationPoint): GuardView {
  // Continuations by stop hooks and by the token target count as turns in the figures, but not against a limit.
  const turns = turnsBegun(spent.laps) + (spent.laps.inRun.continuation_requested ?? 0)
  return {
    checkpoint: cancellationPoint,
    steps: cancellationPoint === 'before_turn' ? turns - 1 : turns,
    usage: spent.usage,
    totalTokens: spent.totalTokens,
    costUsd: committedUsd(spent),
    activeMs: activeMs(spent),
    finishReason: spent.lastStopReason,
    recentTurns: spent.recentTurns,
    repeated: repeatedIn(spent.repetition),
    lastCalls: lastCallsOf(transcript.messages(), (written) => calledName(written, context)),
  }
}

/**
 * Moves messages from the inbox to the transcript: steering messages, and at the end also follow-ups and messages about
 * ended background tasks. Returns true when there were any.
 */
export function inboxAt(run: Run, place: 'before_turn' | 'end'): MaybePromise<boolean> {
  const key = run.key(`inbox:${place}:${run.spent.request}`)
  const polled = run.ports.steps.control(key, () => {
    const messages = run.ports.inbox.takeMessages(place === 'end')
    const ended = endedTasks(run, place)
    if (messages === undefined && ended === undefined) return undefined
    return { ...(messages !== undefined && { messages }), ...ended }
  })
  if (polled === undefined) return false
  return andThen(polled, (externalInput) => applyInbox(run, externalInput, place))
}

function applyInbox(run: Run, externalInput: ExternalInput | undefined, place: 'before_turn' | 'end'): boolean {
  if (externalInput?.messages === undefined && externalInput?.tasks === undefined) return false
  const { messages = [] } = externalInput
  enterTasks(run, externalInput, place)
  run.ports.inbox.markTaken(messages)
  for (const message of messages) run.appendInboxMessage(message)
  const { goal, toolResults: resultsBefore } = run.spent
  if (messages.length > 0 && goal !== undefined) run.update({ goal: { ...goal, resultsBefore } })
  // New input counts as progress; a background task that ends during a turn does not.
  if (messages.length > 0 || place === 'end') run.update({ recentTurns: [], repetition: undefined })
  return true
}

// Spec R-GUARD-10.
/** Emits how near each guard is to firing. The event is for display only, so a guard whose `remaining` fails is omitted. */
function emitGuards(run: Run, view: GuardView): void {
  if (!run.ports.hasListener()) return
  let remaining: GuardRemaining[] | undefined
  for (const { guard } of run.context.guards) {
    const guardFigures = remainingOf(guard, view)
    if (guardFigures !== undefined) (remaining ??= []).push(guardFigures)
  }
  if (remaining !== undefined) run.emit({ type: 'guards', remaining })
}

function remainingOf(guard: Guard, view: GuardView): GuardRemaining | undefined {
  if (guard.remaining === undefined) return undefined
  try {
    const guardFigures: unknown = guard.remaining(view)
    if (isRemaining(guardFigures))
      return { guard: guardFigures.guard, used: guardFigures.used, limit: guardFigures.limit, unit: guardFigures.unit }
    ignoreRejection(guardFigures)
  } catch {
    // `evaluate` decides whether the run continues, so a failure here is ignored.
  }
  return undefined
}

/** Plain JavaScript may return anything. The event must be JSON. */
function isRemaining(guardFigures: unknown): guardFigures is GuardRemaining {
  if (typeof guardFigures !== 'object' || guardFigures === null) return false
  // The validation below refuses an invalid number.
  const { guard, used, limit, unit } = guardFigures as { readonly [key in keyof GuardRemaining]?: unknown }
  return typeof guard === 'string' && Number.isFinite(used) && Number.isFinite(limit) && typeof unit === 'string'
}
