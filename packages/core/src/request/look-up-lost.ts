import { isJsonObject } from '../values/json.ts'
import { after, type Eventually } from '../values/eventually.ts'
import { promptTokensOf } from '../model/billed-parts.ts'
import type { LookedUpUsage, Model, ModelUpdate } from '../model/model.ts'
import { toldUsage } from '../model/told-usage.ts'
import type { Run } from '../run/run.ts'
import type { RequestPlan } from './request-plan.ts'

/** Most milliseconds that a service has to answer. */
const lookUpMs = 5_000
/** Most characters of an id that is recorded. */
const longestReplyId = 256
/** Most replies of one attempt: an adapter that asks again after a refusal begins another one. */
const mostReplies = 8
/** More US dollars than this are not the price of one request. */
const mostUsd = 100_000

type LookUpUsage = NonNullable<Model['lookUpUsage']>

/** An attempt at a request, by the name of its step. Names of what belongs to it begin with it, so that whoever abandons it abandons these too. */
interface NamedAttempt {
  readonly run: Run
  readonly plan: RequestPlan
  readonly name: string
}

// Spec R-BUD-21.
/**
 * Records the id of the reply as soon as the model reports it; nobody waits for that. Undefined for a model whose service cannot be asked later what
 * a reply came to.
 */
export function replyRecorder({ run, plan, name }: NamedAttempt): ((update: ModelUpdate) => void) | undefined {
  const { id: model } = plan.model
  if (typeof plan.model.lookUpUsage !== 'function') return undefined
  let recorded: string | undefined
  let replies = 0
  return (update) => {
    const id = replyIdIn(update)
    if (id === undefined || id === recorded || replies === mostReplies) return
    recorded = id
    replies++
    const written = run.ports.steps.control(run.key(replyName(name)), () => ({ reply: { id, model } }))
    // An engine that fails here fails at the result of the attempt, too.
    if (written instanceof Promise) written.catch(() => {})
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
 * Asks the service what a lost attempt came to, where the id of its reply is on record. Its answer is a step of its own, so that a replay asks nobody.
 * Undefined where the attempt was not lost, and where nothing is known of it.
 */
export function lookUpLost(attempt: NamedAttempt, step: Run['step']): Eventually<LookedUpUsage | undefined> {
  const { run, plan, name } = attempt
  const { steps, isRecordOnly } = run.ports
  const state = steps.peek(run.key(name))
  const replyKey = run.key(replyName(name))
  if (state === 'absent' || steps.peek(replyKey) === 'absent') return undefined
  // It is taken in any case: what stays on record unread looks like a record that goes on.
  return after(
    steps.control(replyKey, () => undefined),
    (control) => {
      const id = control?.reply?.model === plan.model.id ? control.reply.id : undefined
      const lookUpName = `${name}/lookup`
      const isAnswered = steps.peek(run.key(lookUpName)) === 'done'
      const canAsk = state === 'begun' && !isRecordOnly && typeof plan.model.lookUpUsage === 'function'
      if (!isAnswered && (id === undefined || !canAsk)) return undefined
      return after(
        step<LookedUpUsage | null>(lookUpName, async () =>
          id === undefined ? null : usable(await answerInTime(run, (signal) => ask(plan.model, id, { signal }))),
        ),
        // A record may hold anything.
        ({ value }) => usable(value) ?? undefined,
      )
    },
  )
}

async function ask(model: Model, ...asked: Parameters<LookUpUsage>): Promise<unknown> {
  return model.lookUpUsage?.(...asked)
}

/** The answer; undefined for none in time, for a failure, and where the run is aborted. */
function answerInTime({ ports, context }: Run, asked: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
  const { signal } = ports.abort
  if (signal.aborted) return Promise.resolve(undefined)
  const own = new AbortController()
  return new Promise((resolve) => {
    const end = (answer: unknown): void => {
      cancel()
      signal.removeEventListener('abort', giveUp)
      resolve(answer)
    }
    const giveUp = (): void => {
      own.abort(signal.reason)
      end(undefined)
    }
    const cancel = context.timers.after(lookUpMs, giveUp)
    signal.addEventListener('abort', giveUp, { once: true })
    asked(own.signal).then(end, () => end(undefined))
  })
}

/** What can be counted of an answer; null for nothing. */
function usable(answer: unknown): LookedUpUsage | null {
  if (!isJsonObject(answer)) return null
  const { usd, usage } = answer
  const isSum = typeof usd === 'number' && usd >= 0 && usd <= mostUsd
  const told = isJsonObject(usage) ? toldUsage(usage) : undefined
  // No request has an empty prompt: it was not counted.
  const counted = told?.isUsable === true && promptTokensOf(told.usage) > 0 ? told.usage : undefined
  if (!isSum && counted === undefined) return null
  return { ...(isSum && { usd }), ...(counted !== undefined && { usage: counted }) }
}
