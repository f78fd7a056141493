import { redactedValue } from '@halting/core/redact'
import { contextWindowOf, createKeyRedactor } from '@halting/models'
import type { GradingSources } from '../grades/graded-runs.ts'
import type { InspectedSession } from '../view/inspected-session.ts'
import type { Entry } from '../view/shelf.ts'
import { explainRuns, type RunExplanation } from '../why/explain-runs.ts'
import { aboutRecord } from '../why/foreign-account.ts'
import type { NextStep } from '../why/next-step.ts'
import type { AnySession } from './read-session.ts'

/** What is known of a session that was read, in addition to its records. */
export interface InspectedDetails {
  /** The entry of the session. */
  readonly found: Entry
  /** What names it to other commands, as a shell takes it. */
  readonly shellArguments: string
  /** How its newest run can continue. */
  readonly nextStep?: NextStep
  /** The process that writes it. */
  readonly heldBy?: number | undefined
  /** Grades of the person, and repositories of folders. */
  readonly grading?: GradingSources
  /** The words for why a run ended. */
  readonly whyText: (explanation: RunExplanation) => string
  /** Its records are without keys already. Default: they are looked through. */
  readonly isRedacted?: boolean
}

/** A session that was read, as the inspector takes it. */
export function inspectedSession(
  session: AnySession,
  { found, shellArguments, nextStep, heldBy, grading, whyText, isRedacted = false }: InspectedDetails,
): InspectedSession {
  const { sessionId, cwd, unpriced, foreign } = session
  // Sessions of earlier versions, and of other programs, may hold keys of this one.
  const redact = createKeyRedactor(process.env)
  const runs = isRedacted ? session.runs : redactedValue(session.runs, redact)
  const title = redact(session.title ?? '')
  const { key, path, changedAt, isLive } = found
  const about = aboutRecord(session)
  // A list of many asks for none of it.
  let explain: ReturnType<typeof explainRuns> | undefined
  return {
    key,
    sessionId,
    program: foreign?.program ?? 'halting',
    title,
    cwd,
    path,
    changedAt,
    isLive,
    shellArguments,
    runs,
    unpriced,
    windowOf: contextWindowOf,
    ...(grading !== undefined && { grading }),
    notes: about,
    why: (run, account) => {
      explain ??= explainRuns({ ...session, runs })
      const newest = run === runs.length - 1 ? { goOn: nextStep, heldBy } : {}
      return whyText(explain(run, { ...newest, about, account }))
    },
  }
}
