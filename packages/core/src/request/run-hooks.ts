import type { AgentState } from '../hooks/agent-state.ts'
import type { AbortCause } from '../values/abort.ts'
import { estimateMessages } from '../model/tokens.ts'
import { isInstance, messageOf } from '../values/errors.ts'
import { andThen, ignoreRejection, firstResult, type MaybePromise } from '../values/maybe-promise.ts'
import type { Settled } from '../values/settle.ts'
import { HookContext, type HookCompaction, type HookContextInit, type HookToolOutput } from '../hooks/hook-context.ts'
import type { HookFigures } from '../hooks/hook-figures.ts'
import type { Hook, RegisteredHook } from '../hooks/hook.ts'
import type { HookMessage, HookOutcome, HookTrigger } from '../hooks/hook-outcome.ts'
import type { AskModel } from '../model/questions.ts'
import type { ModelMessage, ToolUseBlock } from '../model/messages.ts'
import { noCount, type RunProgress, type RunState } from '../state/state.ts'
import type { StepResult } from '../steps/step-engine.ts'
import { AgentStopException } from '../endings/stop-exception.ts'
import { StopSignal } from '../endings/signal.ts'
import { stopSignalOf } from '../tools/tool-result.ts'
import type { ErrorPolicy, RunContext } from '../run/run-context.ts'
import { hookFigures } from '../run/limit-use.ts'
import type { Run } from '../run/run.ts'
import type { RecordPosition } from '../run/tool-phase.ts'
import { stepWithQuestions, type QuestionCaller } from './step-with-questions.ts'
import { withheldByHook } from '../tools/result-texts.ts'

/** The combined result of all hooks of one trigger. */
export interface HookRun {
  /** Messages for the model that are not in the transcript yet, since no message may be placed between a call and its result. */
  readonly messages: readonly HookMessage[]
  readonly outcomes: readonly { readonly hook: string; readonly outcome: HookOutcome }[]
  /** Signals that hooks raised, or that the error policy raised for a failed hook. They are already raised in the run. */
  readonly raised: readonly { readonly hook: string; readonly signal: StopSignal }[]
  /** The hook that requested to continue, if any. */
  readonly continuedBy: string | null
  /** Set if a hook was aborted, or was not called because of an abort. The cause is recorded, and the run ends with it. */
  readonly aborted: AbortCause | undefined
}

const noHooks: HookRun = Object.freeze<HookRun>({
  messages: Object.freeze([]),
  outcomes: Object.freeze([]),
  raised: Object.freeze([]),
  continuedBy: null,
  aborted: undefined,
})

export type HookSubject = Pick<HookContextInit, 'toolCall' | 'toolOutput' | 'compaction' | 'error'> & {
  readonly callIndex?: number
  /** The number of a compaction within its request, since one request may have two with the same trigger. */
  readonly place?: string
  /** Whether an abort is ending the run, so that no model may be asked any more. */
  readonly isAfterAbort?: true
  /** For the `onError` hook: the trigger at which the hook failed. */
  readonly failedAt?: HookTrigger
}

export const noSubject: HookSubject = Object.freeze({})

/**
 * Calls the hooks of a trigger in order. Each hook is a separate step and receives the changes of the hooks before it.
 * Signals and metadata are in the run when this returns; the phase appends the messages. If the point is `passed`, hooks
 * that are not on record are not called.
 */
export function runHooks(
  run: Run,
  trigger: HookTrigger,
  subject: HookSubject = noSubject,
  position: RecordPosition = 'open',
): MaybePromise<HookRun> {
  const hooks = run.context.hooks.for(trigger, subject.toolCall?.name)
  if (hooks.length === 0) return noHooks
  const calls = new HookCalls(run, trigger, subject, position)
  return andThen(
    firstResult(hooks, (hook) => calls.call(hook)),
    () => calls,
  )
}

/** Works like `runHooks`, for hooks on a tool call. Their signals are raised later, when all tools have ended. */
export function runToolHooks(
  run: Run,
  trigger: HookTrigger,
  subject: HookSubject,
  position: RecordPosition,
): MaybePromise<HookRun> {
  const standing = run.signals
  return andThen(runHooks(run, trigger, subject, position), (hooks) => {
    if (hooks.raised.length > 0) run.setContinuation(run.continuation.withStopSignals(standing))
    return hooks
  })
}

/** The hooks of one trigger, called in sequence. */
class HookCalls implements HookRun {
  readonly messages: HookMessage[] = []
  readonly outcomes: { hook: string; outcome: HookOutcome }[] = []
  readonly raised: { hook: string; signal: StopSignal }[] = []
  continuedBy: string | null = null
  aborted: AbortCause | undefined
  readonly #run: Run
  readonly #trigger: HookTrigger
  readonly #position: RecordPosition
  #subject: HookSubject

  constructor(run: Run, trigger: HookTrigger, subject: HookSubject, position: RecordPosition) {
    this.#run = run
    this.#position = position
    this.#trigger = trigger
    this.#subject = subject
  }

  /** Returns true if no further hook is to be called: the tool call was blocked, or the run was aborted. */
  call(hook: RegisteredHook): MaybePromise<true | undefined> {
    const name = stepNameOf(this.#run, hook, this.#trigger, this.#subject)
    if (this.#position === 'passed' && !this.#run.isRecorded(name)) return undefined
    this.#run.emit({ type: 'hook_start', hook: hook.id, trigger: this.#trigger, callId: this.#callId })
    return andThen(callHook(this.#run, name, hook, this.#trigger, this.#subject), (step) => this.#enter(hook.id, step))
  }

  get #callId(): string | null {
    return this.#subject.toolCall?.id ?? null
  }

  #enter(hook: string, { value: outcome, durationMs }: StepResult<HookOutcome>): MaybePromise<true | undefined> {
    const run = this.#run
    const trigger = this.#trigger
    const signals = signalsOf(run, outcome, hook)
    for (const signal of signals) this.raised.push({ hook, signal })
    applyOutcome(run, outcome, signals)
    if (outcome.continued === true) this.continuedBy = hook
    for (const content of outcome.messages ?? []) this.messages.push({ hook, content })
    if (outcome.beforePrompt !== undefined)
      this.messages.push({ hook, content: outcome.beforePrompt, ...(trigger === 'beforeExecution' && beforePrompt) })
    this.#subject = withChanges(this.#subject, outcome)
    this.outcomes.push({ hook, outcome })
    run.emit({ type: 'hook_end', hook, trigger, callId: this.#callId, outcome, durationMs })
    const isLast = outcome.blocked !== undefined || outcome.aborted !== undefined ? true : undefined
    this.aborted = outcome.aborted
    if (outcome.error === undefined || trigger === 'onError') return isLast
    const error = { source: 'hook', name: hook, message: outcome.error } as const
    return andThen(
      runHooks(run, 'onError', { ...this.#subject, error, failedAt: trigger }, this.#position),
      (errorHooks) => {
        this.messages.push(...errorHooks.messages)
        this.raised.push(...errorHooks.raised)
        return isLast
      },
    )
  }
}

/** Applies the changes of a hook, so that the next hook receives the changed input and output. */
function withChanges(subject: HookSubject, { input, output }: HookOutcome): HookSubject {
  let changed = subject
  if (input !== undefined && subject.toolCall !== undefined)
    changed = { ...changed, toolCall: { ...subject.toolCall, input: input.value } }
  if (output !== undefined && subject.toolOutput !== undefined)
    changed = { ...changed, toolOutput: { ...subject.toolOutput, text: output } }
  return changed
}

function stepNameOf({ spent }: Run, { id }: RegisteredHook, trigger: HookTrigger, subject: HookSubject): string {
  const call = subject.toolCall === undefined ? '' : `${subject.callIndex ?? 0}:${subject.toolCall.id}`
  const failed = subject.failedAt === undefined ? '' : `${subject.failedAt}:${subject.error?.name ?? ''}:`
  const about = subject.place === undefined ? failed : `${failed}${subject.place}:`
  return `hook:${trigger}:${spent.request}:${call}:${about}${id}`
}

function callHook(
  run: Run,
  name: string,
  { hook }: RegisteredHook,
  trigger: HookTrigger,
  subject: HookSubject,
): MaybePromise<StepResult<HookOutcome>> {
  return stepWithQuestions<HookOutcome>(run, name, new HookCaller(run, hook, trigger, subject))
}

/** A hook that is called in a step and may ask a model. */
class HookCaller implements QuestionCaller<HookOutcome> {
  readonly #run: Run
  readonly #hook: Hook
  readonly #trigger: HookTrigger
  readonly #subject: HookSubject
  /**
   * The figures that the hook receives are from before the step. A resume calls the hook after the step ended, and the
   * hook must ask the same questions again.
   */
  readonly #before: RunProgress

  constructor(run: Run, hook: Hook, trigger: HookTrigger, subject: HookSubject) {
    this.#run = run
    this.#hook = hook
    this.#trigger = trigger
    this.#subject = subject
    this.#before = run.state.spent
  }

  get #isOfTheEnd(): boolean {
    return this.#trigger === 'afterExecution' || this.#trigger === 'onError'
  }

  call(ask: AskModel): MaybePromise<HookOutcome> {
    const run = this.#run
    const hook = this.#hook
    const trigger = this.#trigger
    const { cause } = run.ports.abort
    // After an abort, only hooks that report an ending are called.
    if (cause !== undefined && !this.#isOfTheEnd) return { aborted: cause }
    const askFor = this.#subject.isAfterAbort === true ? refuseQuestions : ask
    const context = new HookContext(new LazyHookContext(run, trigger, this.#subject, askFor, this.#before))
    return run.withGrace(
      () => hook.handle(context),
      (settled) => {
        const outcome = hookOutcomeOf(settled, context)
        return withholdsOnError(hook, trigger) ? withheldOutcome(outcome, settled) : outcome
      },
    )
  }

  /** The abort takes precedence over the hook's result, because it may only be recorded in this outcome. */
  cut(outcome: HookOutcome, aborted: AbortCause): HookOutcome {
    return this.#isOfTheEnd ? outcome : { aborted }
  }
}

function withholdsOnError(hook: Hook, trigger: HookTrigger): boolean {
  return trigger === 'afterToolUse' && hook.onError === 'withhold'
}

// Spec R-HOOK-17.
/** The outcome of a failed hook, whose result is withheld: the error may quote any part of the result. */
function withheldOutcome(outcome: HookOutcome, { kind }: Settled<unknown>): HookOutcome {
  if (outcome.error !== undefined) return { ...outcome, error: withheldError, output: withheldByHook }
  // The hook threw a stop before it could return the result.
  return kind === 'threw' ? { ...outcome, output: withheldByHook } : outcome
}

const withheldError = 'it redacts results, and it failed. The error is withheld because it may quote the result.'

const refuseQuestions: AskModel = () => Promise.resolve({ kind: 'aborted' })

/**
 * The context of a hook. Most hooks read only a small part of it. Expensive parts are computed when they are read, from
 * the state of the run at the time of the call.
 */
class LazyHookContext implements HookContextInit {
  readonly trigger: HookTrigger
  readonly signal: AbortSignal
  readonly agentType: string | null
  readonly ask: AskModel
  declare readonly toolCall?: ToolUseBlock
  declare readonly toolOutput?: HookToolOutput
  declare readonly compaction?: HookCompaction
  declare readonly error?: NonNullable<HookContextInit['error']>
  readonly #run: Run
  readonly #state: RunState
  readonly #context: RunContext
  readonly #before: RunProgress
  #agentState: AgentState | undefined
  #figures: HookFigures | undefined

  constructor(
    run: Run,
    trigger: HookTrigger,
    { toolCall, toolOutput, compaction, error }: HookSubject,
    ask: AskModel,
    before: RunProgress,
  ) {
    this.trigger = trigger
    this.signal = run.ports.abort.signal
    this.agentType = run.agentType
    this.ask = ask
    this.#run = run
    this.#state = run.state
    this.#context = run.context
    this.#before = before
    if (toolCall !== undefined) this.toolCall = toolCall
    if (toolOutput !== undefined) this.toolOutput = toolOutput
    if (compaction !== undefined) this.compaction = compaction
    if (error !== undefined) this.error = error
  }

  get state(): AgentState {
    return (this.#agentState ??= this.#run.agentStateIn(this.#state))
  }

  figures(): HookFigures {
    const { identity, ports } = this.#run
    return (this.#figures ??= hookFigures({ spent: this.#before, context: this.#context, identity, ports }))
  }

  estimateTokens(messages: readonly ModelMessage[]): number {
    return estimateMessages(this.#context.tokens, messages)
  }
}

function hookOutcomeOf(settled: Settled<HookContext | void>, hookContext: HookContext): HookOutcome {
  switch (settled.kind) {
    case 'value':
      return outcomeOfValue(settled.value ?? hookContext)
    case 'threw':
      return outcomeOfThrow(settled.error)
    case 'left':
      return { aborted: settled.cause }
  }
}

/** JavaScript code may return anything, and a context may contain anything. */
function outcomeOfValue(returned: unknown): HookOutcome {
  if (!isInstance(returned, HookContext)) return { error: 'A hook must return the context it was given, or nothing.' }
  try {
    return returned.outcome()
  } catch (error) {
    return { error: messageOf(error) }
  }
}

function outcomeOfThrow(thrown: unknown): HookOutcome {
  if (isInstance(thrown, AgentStopException)) return { signals: [stopSignalOf(thrown).toJSON()] }
  return { error: messageOf(thrown) }
}

/** The signals that a hook raised. For a failed hook, the error policy may raise one. */
function signalsOf(run: Run, outcome: HookOutcome, hook: string): readonly StopSignal[] {
  if (outcome.signals !== undefined) return outcome.signals.map((stored) => StopSignal.fromJSON(stored))
  if (outcome.error === undefined) return noSignals
  return isForbidden(run, { source: 'hook', name: hook, message: outcome.error })
    ? [policySignal('hook', hook, outcome.error)]
    : noSignals
}

const noSignals: readonly StopSignal[] = Object.freeze([])

function applyOutcome(run: Run, outcome: HookOutcome, signals: readonly StopSignal[]): void {
  let { continuation } = run
  for (const signal of signals) continuation = continuation.withNewStopSignal(signal)
  if (outcome.continued === true) continuation = continuation.withContinuationRequested(true)
  run.setContinuation(continuation)
  if (outcome.metadata !== undefined) run.update({ metadata: outcome.metadata })
  if (outcome.replaced !== undefined) replaceMessages(run, outcome.replaced)
  for (const attachment of outcome.attachments ?? []) run.attach(attachment)
}

/** Replaces the messages that the model sees from then on. The transcript retains the old ones. The provider's token count no longer applies. */
function replaceMessages(run: Run, replaced: NonNullable<HookOutcome['replaced']>): void {
  run.append({ kind: 'compact_boundary', id: run.entryId('compact'), ...replaced, trigger: 'hook' })
  run.update({ compactions: run.spent.compactions + 1, counted: noCount })
}

/** Whether the error policy ends the run for this failure. Only the answer `true` does. */
export function isForbidden({ context }: Run, failure: Parameters<ErrorPolicy>[0]): boolean {
  const forbids: unknown = context.settings.errorPolicy?.(failure)
  ignoreRejection(forbids)
  return forbids === true
}

/** The signal for an error on which the error policy ends the run. */
export function policySignal(source: 'tool' | 'hook', name: string, message: string): StopSignal {
  return new StopSignal({
    reason: 'error',
    message: `${source} ${name} failed: ${message}`,
    context: { source, name },
    source: name,
  })
}

/** Appends messages of hooks to the transcript. Call it only when every tool call has a result. */
export function addHookMessages(run: Run, messages: readonly HookMessage[]): void {
  for (const { hook, content, isBeforePrompt = false } of messages) {
    const message = { role: 'user', content } as const
    const place = isBeforePrompt ? { messagesAfter: messagesSincePrompt(run) } : {}
    run.append({ kind: 'user', id: run.entryId('hook'), message, origin: 'hook', hook, ...place })
  }
}

const beforePrompt = { isBeforePrompt: true } as const

/** Number of messages from the last prompt on; 0 if the newest messages do not begin with a prompt. */
function messagesSincePrompt({ state: { transcript } }: Run): number {
  let count = 0
  for (let index = transcript.length - 1; index >= 0; index--) {
    const entry = transcript.at(index)
    if (entry?.kind === 'attachment') continue
    if (entry?.kind !== 'user') return 0
    if (entry.messagesAfter === undefined) count++
    if (entry.origin === 'prompt') return count
  }
  return 0
}
