import { isJsonObject } from '../values/json.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import { promptTokensOf } from '../model/billed-parts.ts'
import type { LookedUpUsage, Model, ModelUpdate } from '../model/model.ts'
import { checkReportedUsage } from '../model/reported-usage.ts'
import type { Run } from '../run/run.ts'
import type { RequestPlan } from './request-plan.ts'

/** Maximum milliseconds to wait for the service's answer. */
const lookUpTimeoutMs = 5_000
/** Maximum characters of a recorded id. */
const longestReplyId = 256
/** Maximum number of replies of one attempt: an adapter that retries after a refusal begins another reply. */
const maxReplies = 8
/** Amounts above this cannot be the price of one request, in US dollars. */
const maxUsdPerRequest = 100_000

type LookUpUsage = NonNullable<Model['lookUpUsage']>

/** An attempt at a request, identified by its step name. Related names begin with this name, so that abandoning the attempt abandons them too. */
interface NamedAttempt {
  readonly run: Run
  readonly plan: RequestPlan
  readonly name: string
}

// Spec R-BUD-21.
/**
 * Records the id of the reply as soon as the model reports it, without waiting for the write. Undefined for a model
 * whose service cannot report the usage of a reply later.
 */
export function replyRecorder({ run, plan, name }: NamedAttempt): ((update: ModelUpdate) => void) | undefined {
  const { id: model } = plan.model
  if (typeof plan.model.lookUpUsage !== 'function') return undefined
  let recorded: string | undefined
  let replies = 0
  return (update) => {
    const id = replyIdIn(update)
    if (id === undefined || id === recorded || replies === maxReplies) return
    recorded = id
    replies++
    const write = run.ports.steps.control(run.key(replyName(name)), () => ({ reply: { id, model } }))
    // A step engine that fails here also fails when the result of the attempt is written.
    if (write instanceof Promise) write.catch(() => {})
  }
}

function replyIdIn(update: ModelUpdate): string | undefined {
  if (update.type !== 'api_event' || !isJsonObject(update.event) || update.event['type'] !== 'message_start')
    return undefined
  const { message } = update.event
  const id = isJsonObject(message) ? message['id'] : undefined
  return typeof id === 'string' && id !== '' && id.length <= longestReplyId ? id : undefined
}

function replyName(attemptName: string): string {
  return `${attemptName}/reply`
}

// Spec R-BUD-21a.
/**
 * Asks the service for the usage of a lost attempt if the id of its reply is on record. The answer is a separate step,
 * so a replay does not ask again. Undefined if the attempt was not lost, or if nothing is known about it.
 */
export function lookUpLostUsage(attempt: NamedAttempt, step: Run['step']): MaybePromise<LookedUpUsage | undefined> {
  const { run, plan, name } = attempt
  const { steps, isRecordOnly } = run.ports
  const state = steps.peek(run.key(name))
  const replyKey = run.key(replyName(name))
  if (state === 'absent' || steps.peek(replyKey) === 'absent') return undefined
  // The record is read in any case: an unread record would look like one that continues.
  return andThen(
    steps.control(replyKey, () => undefined),
    (control) => {
      const id = control?.reply?.model === plan.model.id ? control.reply.id : undefined
      const lookUpName = `${name}/lookup`
      const isAnswered = steps.peek(run.key(lookUpName)) === 'done'
      const canAsk = state === 'begun' && !isRecordOnly && typeof plan.model.lookUpUsage === 'function'
      if (!isAnswered && (id === undefined || !canAsk)) return undefined
      return andThen(
        step<LookedUpUsage | null>(lookUpName, async () =>
          id === undefined
            ? null
            : usageInAnswer(await answerInTime(run, (signal) => requestUsage(plan.model, id, { signal }))),
        ),
        // A record may contain anything.
        ({ value }) => usageInAnswer(value) ?? undefined,
      )
    },
  )
}

async function requestUsage(model: Model, ...args: Parameters<LookUpUsage>): Promise<unknown> {
  return model.lookUpUsage?.(...args)
}

/** The answer; undefined after the timeout, a failure or an abort of the run. */
function answerInTime({ ports, context }: Run, lookUp: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
  const { signal } = ports.abort
  if (signal.aborted) return Promise.resolve(undefined)
  const controller = new AbortController()
  return new Promise((resolve) => {
    const end = (answer: unknown): void => {
      cancel()
      signal.removeEventListener('abort', stopWaiting)
      resolve(answer)
    }
    const stopWaiting = (): void => {
      controller.abort(signal.reason)
      end(undefined)
    }
    const cancel = context.timers.after(lookUpTimeoutMs, stopWaiting)
    signal.addEventListener('abort', stopWaiting, { once: true })
    lookUp(controller.signal).then(end, () => end(undefined))
  })
}

/** The countable part of an answer; null if nothing can be counted. */
function usageInAnswer(answer: unknown): LookedUpUsage | null {
  if (!isJsonObject(answer)) return null
  const { usd, usage } = answer
  const isSum = typeof usd === 'number' && usd >= 0 && usd <= maxUsdPerRequest
  const reported = isJsonObject(usage) ? checkReportedUsage(usage) : undefined
  // Every request has a prompt, so a count of zero means that the service did not count.
  const counted = reported?.isUsable === true && promptTokensOf(reported.usage) > 0 ? reported.usage : undefined
  if (!isSum && counted === undefined) return null
  return { ...(isSum && { usd }), ...(counted !== undefined && { usage: counted }) }
}
