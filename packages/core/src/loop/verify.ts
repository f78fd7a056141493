import { iterationsLeft } from '../limits/transition-rules.ts'
import type { AbortCause } from '../values/abort.ts'
import { endings } from '../endings/table.ts'
import { answeredUnverified } from '../endings/ending-texts.ts'
import { StopSignal } from '../endings/signal.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import type { RunContext } from '../run/run-context.ts'
import type { RunProgress } from '../state/state.ts'
import { headOf } from '../values/text.ts'
import { isAnswerValid } from '../conversation/verified-answer.ts'
import { verifiedOf, type Verified } from '../verification/progress.ts'
import { minUncheckedLines } from '../verification/verification.ts'
import { abortEnding } from '../run/pending-endings.ts'
import { isGoalMet } from './goals.ts'
import { pendingEndingOf, endWith, proceed, type PendingEnding, type Outcome, type Route } from '../run/outcome.ts'
import type { Run } from '../run/run.ts'
import { verifyRequest } from '../run/turn-texts.ts'

// Tracks whether the run's changes were checked (spec R-VERI-1). Tools report their work; at an answer the model is reminded once.

/** The record of a verification reminder: its text, or '' if no check is known, and the cause of an abort that arrived meanwhile. JSON. */
type VerifyReminder = { readonly text: string; readonly aborted?: AbortCause }

// Spec R-VERI-3.
/** At an answer that passed all other checks: asks the model once to verify its last change, or to say why not. */
export function verifyAtAnswer(run: Run, answered: () => PendingEnding): MaybePromise<Outcome | undefined> {
  const name = `verify:${run.spent.request}`
  if (!run.isRecorded(name) && !isDue(run)) return undefined
  const { unchecked = 0, check = null } = run.spent.verification ?? {}
  const step = run.step<VerifyReminder>(name, () => reminderOf(run, unchecked, check))
  return andThen(step, ({ value: { text, aborted } }) => {
    if (text !== '') return proceed([verificationRoute(text)], answered)
    const pendingEnding = aborted === undefined ? undefined : abortEnding(run, aborted, 'streaming')
    // The answer exists already, so a limit that is used up does not replace it.
    return pendingEnding?.signal.reason === 'user_requested' ? endWith(pendingEnding) : undefined
  })
}

function isDue({ context, spent, identity }: Run): boolean {
  const { verification, settings, permissions } = context
  if (verification?.mode !== 'ask' || identity.depth > 0 || settings.output !== null || spent.goal !== undefined)
    return false
  if (permissions.isPlanning?.(settings.permissionMode ?? undefined) === true) return false
  const { unchecked = 0, askedAt } = spent.verification ?? {}
  return unchecked >= minUncheckedLines && askedAt === undefined && hasRoomForCheck(context, spent)
}

/** A check needs one turn for its call, one for the answer, and one tool call. With less, the reminder would only cost the run its answer. */
function hasRoomForCheck({ limits, settings }: RunContext, { laps, toolCalls = 0 }: RunProgress): boolean {
  return iterationsLeft('next_turn', laps, limits) >= 2 && toolCalls < settings.maxToolCalls
}

async function reminderOf(run: Run, unchecked: number, lastCheck: string | null): Promise<VerifyReminder> {
  if (lastCheck !== null) return { text: verifyRequest(unchecked, inOneLine(lastCheck)) }
  const { cause } = run.ports.abort
  if (cause !== undefined) return { text: '', aborted: cause }
  return run.withGrace<unknown, VerifyReminder>(
    () => run.context.verification?.checks?.(),
    (settled) => {
      if (settled.kind === 'left') return { text: '', aborted: settled.cause }
      const known = settled.kind === 'value' ? firstCheckIn(settled.value) : undefined
      return { text: known === undefined ? '' : verifyRequest(unchecked, known) }
    },
  )
}

/** Plain JavaScript may return anything. */
function firstCheckIn(value: unknown): string | undefined {
  const checks: readonly unknown[] = Array.isArray(value) ? value : []
  const first = checks.find((each): each is string => typeof each === 'string' && each.trim() !== '')
  return first === undefined ? undefined : inOneLine(first)
}

/** Maximum characters of a command in the reminder. */
const maxCommandCharacters = 200

function inOneLine(command: string): string {
  return headOf(command.trim().replace(/\s+/g, ' '), maxCommandCharacters)
}

function verificationRoute(text: string): Route {
  return {
    transition: 'unverified_change',
    take(run) {
      appendPreservingAnswer(run, text, 'verify')
      const { verification, toolResults: askedAt } = run.spent
      if (verification !== undefined) run.update({ verification: { ...verification, askedAt } })
      return 'taken'
    },
  }
}

function appendPreservingAnswer(run: Run, text: string, name: string): void {
  const message = { role: 'user', content: text } as const
  run.append({ kind: 'user', id: run.entryId(name), message, origin: 'loop', keepsAnswer: true })
}

/** Asks the model to finish a truncated reply. While a verification reminder is open, the request also preserves the earlier answer. */
export function askToFinishReply(run: Run, text: string): void {
  if (isAnswerUnderVerification(run)) appendPreservingAnswer(run, text, 'loop')
  else run.appendUser(text, 'loop')
}

// Spec R-VERI-4.
/**
 * Whether the model was asked to verify its answer, and that answer is still the run's answer. With goals, which may be
 * set later, an answer alone is not enough.
 */
export function isAnswerUnderVerification({ spent, transcript, startLength }: Run): boolean {
  const hasCalledNone = spent.verification?.askedAt === spent.toolResults
  return hasCalledNone && spent.goal === undefined && isAnswerValid(transcript, startLength)
}

// Spec R-VERI-5.
/**
 * Ends the run as completed if it would end for another reason, such as a limit or a service failure, while its answer
 * awaits verification. A tool call since the reminder discards the answer. A person's request, such as an abort, still
 * decides the ending.
 */
export function withUnverifiedAnswer(run: Run, pendingEnding: PendingEnding): PendingEnding {
  const { reason, signal, overridable } = pendingEnding
  const { subtype, sentence } = endings[reason]
  if (subtype === 'success' || signal.reason === 'user_requested' || !isAnswerUnderVerification(run))
    return pendingEnding
  const message = answeredUnverified(sentence)
  const context = { endedBy: reason, why: signal.message }
  const completed = new StopSignal({ reason: 'completed', message, context, source: 'verification' })
  // Appends what was already paid for, such as a truncated reply.
  return pendingEndingOf('completed', completed, {
    overridable,
    ...(pendingEnding.appendOmitted !== undefined && { appendOmitted: pendingEnding.appendOmitted }),
  })
}

// Spec R-VERI-6.
/** Whether the last change was checked, for the result; undefined where verification is off. Met goals count as a check. */
export function verificationResult({ context, spent }: Run): Verified | undefined {
  if (context.verification === null) return undefined
  const verified = verifiedOf(spent.verification)
  return verified === false && isGoalMet(spent) ? true : verified
}
