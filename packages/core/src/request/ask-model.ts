import type { ServiceWaitEnd, ServiceWaits } from '../model/service-waits.ts'
import type { Emit, RunEvent } from '../state/events.ts'
import { type ModelErrorJson, ModelError } from '../model/model-error.ts'
import type { ModelUpdate } from '../model/model.ts'
import type { StepResult } from '../steps/step-engine.ts'
import type { Run } from '../run/run.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import { makeAttempt } from './attempt.ts'
import { maxShorterReplies, withShorterReply } from './reply-cap.ts'
import type { Attempt, RequestPlan } from './request-plan.ts'
import { RequestWaits } from './wait-for-service.ts'
import type { AssistantMessage, ContentBlock } from '../model/messages.ts'
import { hashText } from '../values/hash.ts'

/** The originator of a request: the run itself, or a compaction. */
export interface Requester {
  /** Prefix of the step keys of the waits between attempts. */
  readonly retryName: string
  // Spec R-REQ-4.
  /** Whether the fallback model takes over after overloads. */
  readonly canFallBack: boolean
  /** Called when an attempt begins. Returns the listener for parts of the reply. */
  begin(attempt: number): (update: ModelUpdate, emit: Emit) => void
  /** Emits an event, such as the one for a wait before the next attempt. */
  report(event: RunEvent): void
  /** Called when an attempt ended, to enter its figures before anything else happens. */
  enter(attempt: number, step: StepResult<Attempt>): void
  /** Called when a wait for the service is over. */
  enterWait(waited: ServiceWaits): void
  /**
   * Returns the same request with settings that changed during a wait, such as another model; undefined if nothing
   * changed. Absent for questions, which do not change their model.
   */
  renew?(attempt: number): MaybePromise<RequestPlan | undefined>
}

type Final = Extract<Attempt, { readonly kind: 'answered' | 'over_budget' | 'aborted' }>

/** How a request ended after all its attempts. `overloaded`: the fallback model is used from then on. */
export type RequestOutcome =
  | Final
  | Failure
  | { readonly kind: 'overloaded'; readonly error: ModelErrorJson; readonly attempts: number }

/** A request whose failure is final. */
export interface Failure {
  readonly kind: 'failed'
  readonly error: ModelErrorJson
  readonly attempts: number
  /** When the service accepts requests again, in milliseconds since 1970, if it reported that. */
  readonly retryAtMs?: number
  /** The run was asked to stop while it waited for the service. */
  readonly wasStopped?: true
}

// Spec R-REQ-1 to R-REQ-4a.
/** Asks a model, and makes attempts until one is answered or the failure is final. This is the only retry policy of the loop. */
export function askModel(run: Run, plan: RequestPlan, asker: Requester): Promise<RequestOutcome> {
  return new OpenRequest(run, plan, asker).ask()
}

/** One request in progress: its attempts and the outcome of the earlier ones. */
class OpenRequest {
  readonly #run: Run
  readonly #plan: RequestPlan
  readonly #asker: Requester
  #waits: RequestWaits | undefined
  /** The request as the next attempt sends it: possibly with a lower reply cap, or to another model. */
  #asking: RequestPlan
  #lost = 0
  #overloads = 0
  #hasAskedAgain = false
  #isReached = false
  #fingerprints = noFingerprints
  #shorterReplies = 0
  /** Number of attempts that had reached the model when the last wait for its service ended. */
  #triesBeforeWait = 0

  constructor(run: Run, plan: RequestPlan, asker: Requester) {
    this.#run = run
    this.#plan = plan
    this.#asking = plan
    this.#asker = asker
  }

  ask(): Promise<RequestOutcome> {
    try {
      const step = this.#attempt(1)
      // Usually there is one attempt, and only that promise is awaited.
      if (step instanceof Promise) return step.then((stepResult) => this.#continueAfter(this.#enter(stepResult, 1)))
      return Promise.resolve(this.#continueAfter(this.#enter(step, 1)))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Makes further attempts if the first was not the last. */
  #continueAfter(first: MaybePromise<RequestOutcome | undefined>): MaybePromise<RequestOutcome> {
    return first instanceof Promise || first === undefined ? this.#retryUntilDone(first) : first
  }

  async #retryUntilDone(first: MaybePromise<RequestOutcome | undefined>): Promise<RequestOutcome> {
    let ended = await first
    for (let attempt = 2; ended === undefined; attempt++)
      ended = await this.#enter(await this.#attempt(attempt), attempt)
    return ended
  }

  #attempt(attempt: number): MaybePromise<StepResult<Attempt>> {
    return makeAttempt(this.#run, this.#asking, attempt, this.#asker.begin(attempt), this.#asker)
  }

  /** How the request ended; undefined if another attempt follows. */
  #enter(step: StepResult<Attempt>, attempt: number): MaybePromise<RequestOutcome | undefined> {
    if (this.#asking.isConcurrent !== true) this.#run.advanceClock(step)
    this.#asker.enter(attempt, step)
    return this.#handleAttempt(step.value, attempt)
  }

  #handleAttempt(result: Attempt, attempt: number): MaybePromise<RequestOutcome | undefined> {
    switch (result.kind) {
      case 'answered':
        return this.#answered(result, attempt)
      case 'over_budget':
      case 'aborted':
        return result
      case 'unknown':
        return this.#lostAttempt(attempt)
      case 'failed':
        return this.#failed(result, attempt)
    }
  }

  /** Number of attempts that reached the model. An attempt that was lost with its process is not a failure of the model. */
  #triesOf(attempt: number): number {
    return attempt - this.#lost
  }

  #isNextRecorded(attempt: number): boolean {
    return isNextRecorded(this.#run, this.#plan, attempt)
  }

  /** Retries without a wait. */
  #retryNow(attempt: number, error: ModelErrorJson): undefined {
    const { request } = this.#run.spent
    this.#asker.report({ type: 'retry', request, attempt, maxRetries: attempt, delayMs: 0, error })
    return undefined
  }

  #answered(result: Extract<Attempt, { readonly kind: 'answered' }>, attempt: number): RequestOutcome | undefined {
    this.#isReached = true
    if (!isEmptyReply(result.message)) return result
    const { maxRetries } = this.#run.context.settings
    const mayAskAgain = this.#triesOf(attempt) <= maxRetries || this.#isNextRecorded(attempt)
    if (this.#hasAskedAgain || !mayAskAgain) {
      this.#asker.report({ type: 'notice', message: 'The model returned an empty reply.' })
      return result
    }
    this.#hasAskedAgain = true
    return this.#retryNow(attempt, emptyReplyError)
  }

  #lostAttempt(attempt: number): Failure | undefined {
    this.#lost++
    const isOver =
      (this.#lost > maxLostAttempts && !this.#isNextRecorded(attempt)) || isEndOfReplay(this.#run, this.#plan, attempt)
    return isOver ? { kind: 'failed', error: lostError, attempts: attempt } : undefined
  }

  #failed(result: FailedAttempt, attempt: number): MaybePromise<RequestOutcome | undefined> {
    const run = this.#run
    const { error } = result
    const { maxRetries } = run.context.settings
    const tries = this.#triesOf(attempt)
    const shorter = withShorterReply(run, this.#asking, error, result.grant)
    const mayAskShorter = this.#shorterReplies < maxShorterReplies && tries <= maxRetries
    if (shorter !== undefined && (mayAskShorter || this.#isNextRecorded(attempt))) {
      this.#shorterReplies++
      this.#asking = shorter
      return this.#retryNow(attempt, error)
    }
    this.#overloads = error.kind === 'overloaded' ? this.#overloads + 1 : 0
    this.#isReached ||= error.neverConnected !== true || wasAnswered(run)
    const terms = { isReached: this.#isReached, fingerprints: this.#fingerprints }
    const breaksAgain = brokeTheSame(error, this.#fingerprints)
    const retries = retriesAfter(error, maxRetries, terms)
    if (error.fingerprint !== undefined) this.#fingerprints = new Set([...this.#fingerprints, error.fingerprint])
    const key = run.key(`${this.#asker.retryName}.${attempt}`)
    // After a wait, a service that is still unavailable gets one attempt at a time. After other failures the full number
    // of retries is available again.
    const attemptsSinceWait = tries - this.#triesBeforeWait
    const delayMs = retryDelayMs(attemptsSinceWait, error, key)
    const waits = (this.#waits ??= new RequestWaits(run))
    const isUsedUp = attemptsSinceWait > retries || delayMs > longestRetryWaitMs || waits.continuesWaiting(error)
    const isFinal = isUsedUp && !this.#isNextRecorded(attempt)
    // If few retries are allowed, the last attempt may precede the required number of overloads. Every attempt must have been an overload then.
    const isOverloaded = this.#overloads >= overloadsBeforeFallback || (isFinal && this.#overloads === tries)
    if (isOverloaded && this.#asker.canFallBack && !this.#isNextRecorded(attempt))
      return { kind: 'overloaded', error, attempts: tries }
    const mayFallBack = this.#asker.canFallBack && error.kind === 'overloaded'
    const { mayWait } = result
    const isRenewable = this.#asker.renew !== undefined
    const wait = { plan: this.#asking, error, mayWait, retryKey: key, isFinal: isUsedUp, mayFallBack, isRenewable }
    const waitMs = breaksAgain ? undefined : waits.dueMs(wait)
    const failure = failureOf(result, tries)
    if (waitMs !== undefined) return this.#wait(waits.wait(wait, waitMs, this.#asker), attempt, failure)
    if (isFinal) return failure
    // The event counts all attempts, including lost ones.
    const { request } = run.spent
    this.#asker.report({ type: 'retry', request, attempt, maxRetries: retries + this.#lost, delayMs, error })
    return andThen(run.ports.steps.sleep(key, delayMs, { signal: run.ports.abort.signal }), () => undefined)
  }

  /** An abort during the wait is reported by the next attempt. */
  async #wait(waiting: Promise<ServiceWaitEnd>, attempt: number, failure: Failure): Promise<Failure | undefined> {
    const end = await waiting
    if (end === 'stopped') return { ...failure, wasStopped: true }
    this.#triesBeforeWait = this.#triesOf(attempt)
    if (end !== 'aborted') this.#asking = (await this.#asker.renew?.(attempt)) ?? this.#asking
    return undefined
  }
}

type FailedAttempt = Extract<Attempt, { readonly kind: 'failed' }>

function failureOf({ error, retryAtMs }: FailedAttempt, attempts: number): Failure {
  return { kind: 'failed', error, attempts, ...(retryAtMs !== undefined && { retryAtMs }) }
}

/**
 * Limits a request that kills its process each time, for example with a reply that fills its memory. Otherwise a
 * supervisor that restarts the process would repeat it forever.
 */
const maxLostAttempts = 10

const noFingerprints: ReadonlySet<string> = new Set()

/** Whether a service has answered in this session. Based on the record, so a resume gets the same result. A subagent is always started by an answer. */
function wasAnswered({ identity, spent, transcript }: Run): boolean {
  if (identity.depth > 0 || spent.compactions > 0) return true
  return transcript.messages().some(({ role }) => role === 'assistant')
}

/** Whether the next attempt is recorded. It is replayed even if `maxRetries` is lower now. The new limit counts from the first live attempt. */
function isNextRecorded(run: Run, { name }: RequestPlan, attempt: number): boolean {
  return run.isRecorded(`${name}.${attempt + 1}`)
}

/** An earlier version counted lost attempts as failures, and its record ends here. */
function isEndOfReplay(run: Run, { name }: RequestPlan, attempt: number): boolean {
  const { isResumed, steps } = run.ports
  if (isResumed || attempt <= run.context.settings.maxRetries) return false
  return steps.peek(run.key(`${name}.${attempt + 1}`)) === 'absent'
}

const lostError: ModelErrorJson = {
  kind: 'unknown',
  message: 'The process ended repeatedly during this model request; the reply is unknown.',
  status: null,
  retryable: false,
  retryAfterMs: null,
  requestId: null,
  usage: null,
  billed: 'unknown',
}

/** Stop reasons that mark a complete answer. */
const completeStopReasons: ReadonlySet<string | null> = new Set([null, 'end_turn', 'stop_sequence'])

/** Whether a complete reply is empty: it contains no text, no call, and no block of the service's own tools. */
function isEmptyReply({ content, stop_reason: stopReason }: AssistantMessage): boolean {
  return completeStopReasons.has(stopReason) && content.every(isEmptyBlock)
}

function isEmptyBlock(block: ContentBlock): boolean {
  if (block.type === 'text') return block.text.trim() === ''
  return block.type === 'thinking' || block.type === 'redacted_thinking'
}

// Spec R-REQ-11.
/** The reason for retrying after an empty reply. */
const emptyReplyError: ModelErrorJson = new ModelError({
  kind: 'unknown',
  message: 'The reply was empty.',
  retryable: true,
}).toRecord()

// Spec R-REQ-2.
/** The retry delays: 200, 400, 800 ms, then 2 s each time, or longer if the service asks for it. */
const initialDelaysMs = [200, 400, 800] as const
const laterDelayMs = 2_000

// Spec R-REQ-2a.
/** If a service asks for a longer wait than this, the run ends. */
const longestRetryWaitMs: number = 600_000

/** Consecutive overloads after which the fallback model takes over, if there is one. */
export const overloadsBeforeFallback = 3

// Spec R-REQ-1a.
/** Number of retries while no connection was ever established: a wrong name or address does not become valid. */
const retriesUnconnected = 2

/** The outcome of earlier attempts at one request. */
interface EarlierAttempts {
  /** Whether the session ever got a response, even an error. */
  readonly isReached: boolean
  /** Fingerprints of earlier broken replies to the same request. */
  readonly fingerprints: ReadonlySet<string>
}

// Spec R-REQ-1b.
/** Whether an earlier reply broke in the same way. Another request would break again. */
function brokeTheSame({ fingerprint }: ModelErrorJson, before: ReadonlySet<string>): boolean {
  return fingerprint !== undefined && before.has(fingerprint)
}

// Spec R-REQ-1 to R-REQ-1b.
/** Maximum number of further attempts after this failure. */
function retriesAfter(error: ModelErrorJson, maxRetries: number, { isReached, fingerprints }: EarlierAttempts): number {
  if (!error.retryable) return 0
  if (brokeTheSame(error, fingerprints)) return 0
  return error.neverConnected === true && !isReached ? Math.min(maxRetries, retriesUnconnected) : maxRetries
}

/**
 * Milliseconds to wait after failed attempt number `attempt` (from 1). Adds up to a quarter so that many clients do not
 * retry at once. The jitter is derived from `key`, because core generates no random numbers.
 */
export function retryDelayMs(attempt: number, error: ModelErrorJson, key: string): number {
  const base = initialDelaysMs[attempt - 1] ?? laterDelayMs
  const backoffMs = base + (hashText(key, attempt) % (base / 4))
  // The value of an adapter may not be a number at all.
  return error.retryAfterMs !== null && error.retryAfterMs > backoffMs ? error.retryAfterMs : backoffMs
}
