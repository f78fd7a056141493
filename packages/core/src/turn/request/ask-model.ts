import type { Emit, RunEvent } from '../../events.ts'
import type { ModelErrorJson } from '../../model/model-error.ts'
import { emptyReplyError, isEmptyReply } from '../../model/empty-reply.ts'
import type { ModelUpdate } from '../../model/model.ts'
import { longestRetryWaitMs, overloadsBeforeFallback, retriesAfter, retryDelayMs } from '../../model/retry.ts'
import type { StepResult } from '../../steps/steps.ts'
import type { Run } from '../run.ts'
import { makeAttempt } from './attempt.ts'
import { mostShorterReplies, withShorterReply } from './reply-room.ts'
import type { Attempt, RequestPlan } from './request-plan.ts'

/** Who makes the request: the run itself, or a compaction. */
export interface Asker {
  /** The name of its waits between attempts, for their step keys. */
  readonly retryName: string
  /** Whether the fallback model takes over after overloads (spec R-REQ-4). */
  readonly canFallBack: boolean
  /** An attempt begins. Gives the listener for the parts of the reply. */
  begin(attempt: number): (update: ModelUpdate, emit: Emit) => void
  /** Emits that there is a wait before the next attempt. */
  tell(event: RunEvent): void
  /** An attempt ended. Its figures are entered before anything else happens. */
  enter(attempt: number, step: StepResult<Attempt>): void
}

type Final = Extract<Attempt, { readonly kind: 'answered' | 'over_budget' | 'aborted' }>

/** How a request ended after all its attempts. `overloaded`: the fallback model is to take over. */
export type Asked =
  | Final
  | { readonly kind: 'failed' | 'overloaded'; readonly error: ModelErrorJson; readonly attempts: number }

/** Asks a model: attempts until one is answered or the failure is final (spec R-REQ-1 to R-REQ-4a). The one retry policy there is. */
export async function askModel(run: Run, plan: RequestPlan, asker: Asker): Promise<Asked> {
  const { maxRetries } = run.context.settings
  const { request } = run.spent
  let lost = 0
  let overloads = 0
  let hasAskedAgain = false
  let isReached = false
  let fingerprints = noFingerprints
  let asking = plan
  let shorterReplies = 0
  for (let attempt = 1; ; attempt++) {
    const step = await makeAttempt(run, asking, attempt, asker.begin(attempt), (event) => asker.tell(event))
    asker.enter(attempt, step)
    const result = step.value
    if (result.kind === 'unknown') lost++
    // Attempts that the model has had: what was lost with its process is no failure of the model.
    const tries = attempt - lost
    switch (result.kind) {
      case 'answered': {
        isReached = true
        if (!isEmptyReply(result.message)) return result
        const mayAskAgain = tries <= maxRetries || isNextRecorded(run, plan, attempt)
        if (hasAskedAgain || !mayAskAgain) {
          asker.tell({ type: 'notice', message: 'The model gave an empty reply.' })
          return result
        }
        hasAskedAgain = true
        asker.tell({ type: 'retry', request, attempt, maxRetries: attempt, delayMs: 0, error: emptyReplyError })
        continue
      }
      case 'over_budget':
      case 'aborted':
        return result
      case 'unknown':
        if ((lost > mostLost && !isNextRecorded(run, plan, attempt)) || isEndOfReplay(run, plan, attempt))
          return { kind: 'failed', error: lostError, attempts: attempt }
        continue
      case 'failed': {
        const { error } = result
        const shorter = withShorterReply(run, asking, error, result.grant)
        const mayAskShorter = shorterReplies < mostShorterReplies && tries <= maxRetries
        if (shorter !== undefined && (mayAskShorter || isNextRecorded(run, plan, attempt))) {
          shorterReplies++
          asking = shorter
          asker.tell({ type: 'retry', request, attempt, maxRetries: attempt, delayMs: 0, error })
          continue
        }
        overloads = error.kind === 'overloaded' ? overloads + 1 : 0
        const key = run.key(`${asker.retryName}.${attempt}`)
        const delayMs = retryDelayMs(tries, error, key)
        isReached ||= error.neverConnected !== true || wasAnswered(run)
        const retries = retriesAfter(error, maxRetries, { isReached, fingerprints })
        if (error.fingerprint !== undefined) fingerprints = new Set([...fingerprints, error.fingerprint])
        const isFinal = (tries > retries || delayMs > longestRetryWaitMs) && !isNextRecorded(run, plan, attempt)
        // With few retries the last attempt may come first: then every attempt must have been an overload.
        const isOverloaded = overloads >= overloadsBeforeFallback || (isFinal && overloads === tries)
        if (isOverloaded && asker.canFallBack && !isNextRecorded(run, plan, attempt))
          return { kind: 'overloaded', error, attempts: tries }
        if (isFinal) return { kind: 'failed', error, attempts: tries }
        // Whoever is told counts attempts: those that were lost are among them.
        asker.tell({ type: 'retry', request, attempt, maxRetries: retries + lost, delayMs, error })
        await run.ports.steps.sleep(key, delayMs, { signal: run.ports.abort.signal })
        continue
      }
    }
  }
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
  message: 'The process ended again and again while the model was asked; what it answered is not known.',
  status: null,
  retryable: false,
  retryAfterMs: null,
  requestId: null,
  usage: null,
  billed: 'unknown',
}
