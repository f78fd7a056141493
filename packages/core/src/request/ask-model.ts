import type { ServiceWaitEnd, ServiceWaits } from '../model/service-waits.ts'
import type { Emit, RunEvent } from '../state/events.ts'
import { type ModelErrorJson, ModelError } from '../model/model-error.ts'
import type { ModelUpdate } from '../model/model.ts'
import type { StepResult } from '../steps/steps.ts'
import type { Run } from '../run/run.ts'
import { after, type Eventually } from '../values/eventually.ts'
import { makeAttempt } from './attempt.ts'
import { mostShorterReplies, withShorterReply } from './reply-room.ts'
import type { Attempt, RequestPlan } from './request-plan.ts'
import { RequestWaits } from './wait-for-service.ts'
import type { AssistantMessage, ContentBlock } from '../model/messages.ts'
import { hashText } from '../values/hash.ts'

/** Who makes the request: the run itself, or a compaction. */
export interface Asker {
  /** The name of its waits between attempts, for their step keys. */
  readonly retryName: string
  // Spec R-REQ-4.
  /** Whether the fallback model takes over after overloads. */
  readonly canFallBack: boolean
  /** An attempt begins. Gives the listener for the parts of the reply. */
  begin(attempt: number): (update: ModelUpdate, emit: Emit) => void
  /** Emits that there is a wait before the next attempt. */
  tell(event: RunEvent): void
  /** An attempt ended. Its figures are entered before anything else happens. */
  enter(attempt: number, step: StepResult<Attempt>): void
  /** A wait for the service is over. */
  enterWait(waited: ServiceWaits): void
  /** The same request under what was set while it waited, such as another model; undefined where nothing was. Absent for questions, which keep their model. */
  renew?(attempt: number): Eventually<RequestPlan | undefined>
}

type Final = Extract<Attempt, { readonly kind: 'answered' | 'over_budget' | 'aborted' }>

/** How a request ended after all its attempts. `overloaded`: the fallback model is to take over. */
export type Asked =
  | Final
  | Failure
  | { readonly kind: 'overloaded'; readonly error: ModelErrorJson; readonly attempts: number }

/** A request that is not made again. */
export interface Failure {
  readonly kind: 'failed'
  readonly error: ModelErrorJson
  readonly attempts: number
  /** When the service takes requests again, in milliseconds since 1970; where it said so. */
  readonly retryAtMs?: number
  /** The run was told to stop while it waited for the service. */
  readonly wasStopped?: true
}

// Spec R-REQ-1 to R-REQ-4a.
/** Asks a model: attempts until one is answered or the failure is final. The one retry policy there is. */
export function askModel(run: Run, plan: RequestPlan, asker: Asker): Promise<Asked> {
  return new OpenRequest(run, plan, asker).ask()
}

/** One request while it is made: attempt after attempt, with what the earlier ones came to. */
class OpenRequest {
  readonly #run: Run
  readonly #plan: RequestPlan
  readonly #asker: Asker
  #waits: RequestWaits | undefined
  /** As it is asked now: with a shorter reply, or another model. */
  #asking: RequestPlan
  #lost = 0
  #overloads = 0
  #hasAskedAgain = false
  #isReached = false
  #fingerprints = noFingerprints
  #shorterReplies = 0
  /** Attempts that the model had had when the last wait for its service was over. */
  #triesBeforeWait = 0

  constructor(run: Run, plan: RequestPlan, asker: Asker) {
    this.#run = run
    this.#plan = plan
    this.#asking = plan
    this.#asker = asker
  }

  ask(): Promise<Asked> {
    try {
      const step = this.#attempt(1)
      // Mostly there is one attempt: nothing but it waits then.
      if (step instanceof Promise) return step.then((came) => this.#askOn(this.#enter(came, 1)))
      return Promise.resolve(this.#askOn(this.#enter(step, 1)))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Further attempts, where the first was not the last. */
  #askOn(first: Eventually<Asked | undefined>): Eventually<Asked> {
    return first instanceof Promise || first === undefined ? this.#askAgain(first) : first
  }

  async #askAgain(first: Eventually<Asked | undefined>): Promise<Asked> {
    let ended = await first
    for (let attempt = 2; ended === undefined; attempt++)
      ended = await this.#enter(await this.#attempt(attempt), attempt)
    return ended
  }

  #attempt(attempt: number): Eventually<StepResult<Attempt>> {
    return makeAttempt(this.#run, this.#asking, attempt, this.#asker.begin(attempt), this.#asker)
  }

  /** How the request ended; undefined where another attempt is made. */
  #enter(step: StepResult<Attempt>, attempt: number): Eventually<Asked | undefined> {
    if (this.#asking.isBeside !== true) this.#run.advanceClock(step)
    this.#asker.enter(attempt, step)
    return this.#after(step.value, attempt)
  }

  #after(result: Attempt, attempt: number): Eventually<Asked | undefined> {
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

  /** Attempts that the model has had: what was lost with its process is no failure of the model. */
  #triesOf(attempt: number): number {
    return attempt - this.#lost
  }

  #isNextRecorded(attempt: number): boolean {
    return isNextRecorded(this.#run, this.#plan, attempt)
  }

  /** The same is asked again without a wait. */
  #again(attempt: number, error: ModelErrorJson): undefined {
    const { request } = this.#run.spent
    this.#asker.tell({ type: 'retry', request, attempt, maxRetries: attempt, delayMs: 0, error })
    return undefined
  }

  #answered(result: Extract<Attempt, { readonly kind: 'answered' }>, attempt: number): Asked | undefined {
    this.#isReached = true
    if (!isEmptyReply(result.message)) return result
    const { maxRetries } = this.#run.context.settings
    const mayAskAgain = this.#triesOf(attempt) <= maxRetries || this.#isNextRecorded(attempt)
    if (this.#hasAskedAgain || !mayAskAgain) {
      this.#asker.tell({ type: 'notice', message: 'The model returned an empty reply.' })
      return result
    }
    this.#hasAskedAgain = true
    return this.#again(attempt, emptyReplyError)
  }

  #lostAttempt(attempt: number): Failure | undefined {
    this.#lost++
    const isOver =
      (this.#lost > mostLost && !this.#isNextRecorded(attempt)) || isEndOfReplay(this.#run, this.#plan, attempt)
    return isOver ? { kind: 'failed', error: lostError, attempts: attempt } : undefined
  }

  #failed(result: FailedAttempt, attempt: number): Eventually<Asked | undefined> {
    const run = this.#run
    const { error } = result
    const { maxRetries } = run.context.settings
    const tries = this.#triesOf(attempt)
    const shorter = withShorterReply(run, this.#asking, error, result.grant)
    const mayAskShorter = this.#shorterReplies < mostShorterReplies && tries <= maxRetries
    if (shorter !== undefined && (mayAskShorter || this.#isNextRecorded(attempt))) {
      this.#shorterReplies++
      this.#asking = shorter
      return this.#again(attempt, error)
    }
    this.#overloads = error.kind === 'overloaded' ? this.#overloads + 1 : 0
    this.#isReached ||= error.neverConnected !== true || wasAnswered(run)
    const terms = { isReached: this.#isReached, fingerprints: this.#fingerprints }
    const breaksAgain = breaksAs(error, this.#fingerprints)
    const retries = retriesAfter(error, maxRetries, terms)
    if (error.fingerprint !== undefined) this.#fingerprints = new Set([...this.#fingerprints, error.fingerprint])
    const key = run.key(`${this.#asker.retryName}.${attempt}`)
    // A service that was waited for is asked once at a time; for what else fails the retries are there again.
    const again = tries - this.#triesBeforeWait
    const delayMs = retryDelayMs(again, error, key)
    const waits = (this.#waits ??= new RequestWaits(run))
    const isUsedUp = again > retries || delayMs > longestRetryWaitMs || waits.goesOnWaiting(error)
    const isFinal = isUsedUp && !this.#isNextRecorded(attempt)
    // With few retries the last attempt may come first: then every attempt must have been an overload.
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
    // Whoever is told counts attempts: those that were lost are among them.
    const { request } = run.spent
    this.#asker.tell({ type: 'retry', request, attempt, maxRetries: retries + this.#lost, delayMs, error })
    return after(run.ports.steps.sleep(key, delayMs, { signal: run.ports.abort.signal }), () => undefined)
  }

  /** What aborts a wait is told by the attempt that comes after it. */
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

/** A request that ends its process each time, as a reply that fills its memory may, is not asked for ever where somebody starts the process again. */
const mostLost = 10

const noFingerprints: ReadonlySet<string> = new Set()

/** Whether a service ever answered in this session: on record, so a resume finds the same. A subagent is called by an answer. */
function wasAnswered({ identity, spent, transcript }: Run): boolean {
  if (identity.depth > 0 || spent.compactions > 0) return true
  return transcript.messages().some(({ role }) => role === 'assistant')
}

/** A recorded attempt is read although `maxRetries` is lower now: the new limit counts from the first live attempt. */
function isNextRecorded(run: Run, { name }: RequestPlan, attempt: number): boolean {
  return run.isRecorded(`${name}.${attempt + 1}`)
}

/** An earlier version counted what was lost among the failures, and its record ends here. */
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

/** Stop reasons with which a model says that its answer is there. */
const ended: ReadonlySet<string | null> = new Set([null, 'end_turn', 'stop_sequence'])

/** True for a whole reply in which the model says nothing: no words, no call, nothing of the service's own. */
function isEmptyReply({ content, stop_reason: stopReason }: AssistantMessage): boolean {
  return ended.has(stopReason) && content.every(saysNothing)
}

function saysNothing(block: ContentBlock): boolean {
  if (block.type === 'text') return block.text.trim() === ''
  return block.type === 'thinking' || block.type === 'redacted_thinking'
}

// Spec R-REQ-11.
/** Why a request is made again after a reply that says nothing. */
const emptyReplyError: ModelErrorJson = new ModelError({
  kind: 'unknown',
  message: 'The reply was empty.',
  retryable: true,
}).toRecord()

// Spec R-REQ-2.
/** The one retry policy: 200, 400, 800 ms, then 2 s each time, or longer where the service asks for it. */
const firstDelaysMs = [200, 400, 800] as const
const laterDelayMs = 2_000

// Spec R-REQ-2a.
/** If a service asks for a longer wait than this, the run ends instead. */
const longestRetryWaitMs: number = 600_000

/** Overloads in a row after which a fallback model is taken, when there is one. */
export const overloadsBeforeFallback = 3

// Spec R-REQ-1a.
/** Further attempts while no connection ever came about: a name or an address that is wrong stays wrong. */
const retriesUnconnected = 2

/** What the attempts at one request came to before the last one. */
interface Attempted {
  /** Something of the session was answered, if only with an error. */
  readonly isReached: boolean
  /** How earlier replies to the same request broke. */
  readonly fingerprints: ReadonlySet<string>
}

// Spec R-REQ-1b.
/** It broke like this before: the same again will break again. */
function breaksAs({ fingerprint }: ModelErrorJson, before: ReadonlySet<string>): boolean {
  return fingerprint !== undefined && before.has(fingerprint)
}

// Spec R-REQ-1 to R-REQ-1b.
/** Most further attempts at a request that failed like this. */
function retriesAfter(error: ModelErrorJson, maxRetries: number, { isReached, fingerprints }: Attempted): number {
  if (!error.retryable) return 0
  if (breaksAs(error, fingerprints)) return 0
  return error.neverConnected === true && !isReached ? Math.min(maxRetries, retriesUnconnected) : maxRetries
}

/**
 * Milliseconds to wait after failed attempt number `attempt` (from 1). Up to a quarter is added so that many clients do not come back at once;
 * it is derived from `key`, since core draws no random number.
 */
export function retryDelayMs(attempt: number, error: ModelErrorJson, key: string): number {
  const base = firstDelaysMs[attempt - 1] ?? laterDelayMs
  const ownMs = base + (hashText(key, attempt) % (base / 4))
  // What an adapter tells may be no number at all.
  return error.retryAfterMs !== null && error.retryAfterMs > ownMs ? error.retryAfterMs : ownMs
}
