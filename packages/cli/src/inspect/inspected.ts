import { redactedValue } from '@halting/core/redact'
import type { InspectedSession, Entry } from '@halting/analysis/view'
import { contextWindowOf, createKeyRedactor } from '@halting/models'
import type { AnySession } from '@halting/analysis/sessions'
import { styleFor } from '../io/style.ts'
import type { GoOn } from '../why/go-on.ts'
import { explainRuns, aboutRecord } from '@halting/analysis/why'
import { whyText } from '../why/why-text.ts'

/** What is told of a session that was read, beside its records. */
interface Beside {
  readonly found: Entry
  /** What names it to other commands, as a shell takes it. */
  readonly shellArguments: string
  /** What has its newest run go on. */
  readonly goOn?: GoOn
  /** The process that writes it. */
  readonly heldBy?: number | undefined
}

const columns = 80

/** A session that was read, as the inspector takes it. */
export function inspectedSession(
  session: AnySession,
  { found, shellArguments, goOn, heldBy }: Beside,
): InspectedSession {
  const { sessionId, cwd, unpriced, foreign } = session
  // Sessions of earlier versions, and of other programs, may hold keys of this one.
  const redact = createKeyRedactor(process.env)
  const runs = redactedValue(session.runs, redact)
  const title = redact(session.title ?? '')
  const { key, path, changedAt, isLive } = found
  const about = aboutRecord(session)
  // A list of many asks for none of it.
  let told: ReturnType<typeof explainRuns> | undefined
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
    notes: about,
    why: (run) => {
      told ??= explainRuns({ ...session, runs })
      const beside = run === runs.length - 1 ? { goOn, heldBy } : {}
      return whyText(told(run, { ...beside, about }), columns, styleFor(false, {}))
    },
  }
}
