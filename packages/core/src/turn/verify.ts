import { endings } from '../endings/table.ts'
import { answeredUnverified } from '../endings/ending-texts.ts'
import { StopSignal } from '../endings/signal.ts'
import { after, type Eventually } from '../eventually.ts'
import { fewestUncheckedLines } from '../verification/verification.ts'
import { verifiedOf, type Verified, type VerificationProgress } from '../verification/progress.ts'
import type { FileWork } from '../verification/file-work.ts'
import { afterAgent, afterWork } from '../verification/progress.ts'
import { plainTextOf } from '../content.ts'
import { lapsLeft } from '../allowance.ts'
import { isGoalMet } from './goals.ts'
import { draftOf, goesOn, type Draft, type Outcome, type Route } from './outcome.ts'
import type { Run } from './run.ts'
import { verifyRequest } from './turn-texts.ts'

// Whether what a run changed was checked since (spec R-VERI-1). Tools tell what they did; at an answer the model is asked once.

/** What the step of a question to verify has on record: the question, or '' where no check is known. JSON. */
type VerifyQuestion = { readonly text: string }

/** Enters what a call did to files. */
export function noteFileWork(run: Run, work: FileWork): void {
  if (run.context.verification === null) return
  run.update({ verification: afterWork(run.spent.verification, work) })
}

/** Enters what a subagent did to files. */
export function noteFileWorkOfAgent(run: Run, agent: VerificationProgress | undefined): void {
  if (run.context.verification === null || agent === undefined) return
  run.update({ verification: afterAgent(run.spent.verification, agent) })
}

// Spec R-VERI-3.
/** At an answer that nothing else sends back: asks the model once to verify its last change, or to say why not. */
export function verifyAtAnswer(run: Run, answered: () => Draft): Eventually<Outcome | undefined> {
  const name = `verify:${run.spent.request}`
  const isRecorded = run.isRecorded(name)
  if (!isRecorded && (run.turnEnd === 'passed' || !isDue(run))) return undefined
  const { unchecked = 0, check = null } = run.spent.verification ?? {}
  const step = run.step<VerifyQuestion>(name, () => questionOf(run, unchecked, check))
  return after(step, ({ value: { text } }) => (text === '' ? undefined : goesOn([askingOnce(text)], answered)))
}

function isDue({ context, spent, identity }: Run): boolean {
  const { verification, settings, permissions, limits } = context
  if (verification?.mode !== 'ask' || identity.depth > 0 || settings.output !== null || spent.goal !== undefined)
    return false
  if (permissions.isPlanning?.(settings.permissionMode ?? undefined) === true) return false
  const unchecked = spent.verification?.unchecked ?? 0
  return unchecked >= fewestUncheckedLines && lapsLeft('unverified_change', spent.laps, limits) > 0
}

async function questionOf(run: Run, unchecked: number, ran: string | null): Promise<VerifyQuestion> {
  const known = ran ?? (await firstCheckOf(run))
  return { text: known === undefined ? '' : verifyRequest(unchecked, known) }
}

async function firstCheckOf({ context }: Run): Promise<string | undefined> {
  try {
    const checks: unknown = await context.verification?.checks?.()
    const [first] = Array.isArray(checks) ? (checks as readonly unknown[]) : []
    const command = plainTextOf(first ?? '').trim()
    return command === '' ? undefined : command
  } catch {
    return undefined
  }
}

function askingOnce(text: string): Route {
  return {
    transition: 'unverified_change',
    take(run) {
      const { verification, toolResults: askedAt } = run.spent
      const message = { role: 'user', content: text } as const
      run.append({ kind: 'user', id: run.entryId('verify'), message, origin: 'loop', keepsAnswer: true })
      if (verification !== undefined) run.update({ verification: { ...verification, askedAt } })
      return 'taken'
    },
  }
}

// Spec R-VERI-5.
/**
 * The answer that the model was asked to verify stands unless it called a tool since: whatever else would end the run then, a limit or a service that fails,
 * leaves it completed. A person's word, such as an abort, counts all the same.
 */
export function answerBeforeVerifying(run: Run, draft: Draft): Draft {
  const { verification, toolResults } = run.spent
  if (verification?.askedAt !== toolResults || endings[draft.reason].subtype === 'success') return draft
  if (draft.signal.reason === 'user_requested') return draft
  const message = answeredUnverified(endings[draft.reason].sentence)
  return draftOf('completed', new StopSignal({ reason: 'completed', message, source: 'verification' }))
}

// Spec R-VERI-6.
/** Whether the last change was checked, for the result; undefined where nobody looks at that. Goals that hold are a check. */
export function verifiedIn({ context, spent }: Run): Verified | undefined {
  if (context.verification === null) return undefined
  const verified = verifiedOf(spent.verification)
  return verified === false && isGoalMet(spent) ? true : verified
}
