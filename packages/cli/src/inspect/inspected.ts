import { stagesOf } from '@halting/core/after'
import { accountOf } from '@halting/core/steps'
import type { InspectedSession } from '@halting/inspector'
import type { AnySession } from '../foreign/read-session.ts'
import { styleFor } from '../io/style.ts'
import type { GoOn } from '../why/go-on.ts'
import { terminalOf } from '../why/terminal-of.ts'
import { aboutForeign, foreignAccount } from '../why/why-foreign.ts'
import { whyText } from '../why/why-text.ts'
import type { Entry } from './shelf.ts'

/** What is told of a session that was read, beside its records. */
interface Beside {
  readonly found: Entry
  /** What has its newest run go on. */
  readonly goOn?: GoOn
  /** The process that writes it. */
  readonly heldBy?: number | undefined
}

const columns = 80

/** A session that was read, as the inspector takes it. */
export function inspectedSession(session: AnySession, { found, goOn, heldBy }: Beside): InspectedSession {
  const { sessionId, cwd, runs, unpriced, foreign, title = '' } = session
  const { key, path, changedAt, isLive } = found
  return {
    key,
    sessionId,
    program: foreign?.program ?? 'halting',
    title,
    cwd,
    path,
    changedAt,
    isLive,
    runs,
    unpriced,
    notes: aboutForeign(session),
    why: (run) => whyOf(session, run, { goOn: goOn ?? { says: '' }, heldBy }),
  }
}

/** What `halting why` tells, of any run of a session. */
function whyOf(
  session: AnySession,
  run: number,
  { goOn, heldBy }: { readonly goOn: GoOn; readonly heldBy: number | undefined },
): string {
  const { sessionId, cwd, runs, foreign } = session
  const records = runs[run] ?? []
  const isNewest = run === runs.length - 1
  const account = (foreign === undefined ? accountOf : foreignAccount)(records)
  const stages = stagesOf(runs.flat().flatMap((record) => (record.type === 'stage' ? [record.stage] : [])))
  const before = runs
    .slice(0, run)
    .map((earlier, index) => `run ${index + 1} ${terminalOf(earlier)?.reason ?? 'did not end'}`)
  const told = {
    sessionId,
    cwd,
    account,
    stages: stages.filter(({ runId }) => runId === account.run.runId),
    goOn: isNewest ? goOn : { says: '' },
    before,
    about: aboutForeign(session),
    ...(isNewest && heldBy !== undefined && { heldBy }),
  }
  return whyText(told, columns, styleFor(false, {}))
}
