import { redactedValue } from '@halting/core/redact'
import { contextWindowOf, createKeyRedactor } from '@halting/models'
import type { GradingSources } from '../grades/graded-runs.ts'
import type { InspectedSession } from '../view/inspected-session.ts'
import type { Entry } from '../view/session-catalog.ts'
import { explainRuns, type RunExplanation } from '../why/explain-runs.ts'
import { aboutRecord } from '../why/foreign-account.ts'
import type { NextStep } from '../why/next-step.ts'
import type { AnySession } from './read-session.ts'

/** Details of a session in addition to its records. */
export interface InspectedDetails {
  /** The entry of the session. */
  readonly found: Entry
  /** Arguments that identify it to other commands, quoted for a shell. */
  readonly shellArguments: string
  /** How its last run can be continued. */
  readonly nextStep?: NextStep
  /** Id of the process that is writing to it. */
  readonly heldBy?: number | undefined
  /** Grades by people, and repositories of folders. */
  readonly grading?: GradingSources
  /** Explains why a run ended, in text. */
  readonly whyText: (explanation: RunExplanation) => string
  /** Whether keys have already been removed from its records. Default: false. */
  readonly isRedacted?: boolean
}

/** Prepares a session for the inspector. */
export function inspectedSession(
  session: AnySession,
  { found, shellArguments, nextStep, heldBy, grading, whyText, isRedacted = false }: InspectedDetails,
): InspectedSession {
  const { sessionId, cwd, unpriced, foreign } = session
  // Sessions of earlier versions, and of other programs, may contain keys of this machine.
  const redact = createKeyRedactor(process.env)
  const runs = isRedacted ? session.runs : redactedValue(session.runs, redact)
  const title = redact(session.title ?? '')
  const { key, path, changedAt, isLive } = found
  const about = aboutRecord(session)
  // Computed on demand, because a list never requests it.
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
      const newest = run === runs.length - 1 ? { nextStep, heldBy } : {}
      return whyText(explain(run, { ...newest, about, account }))
    },
  }
}
