import { stagesOf } from '@halting/core/after'
import { accountOf } from '@halting/analysis'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { styleFor } from '../io/style.ts'
import { type AnySession, writerOf } from '@halting/analysis/sessions'
import { pricesFor, readNamedSession } from '../foreign/session-prices.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { findFile } from '../stored-sessions/find-session.ts'
import { terminalOf, explainRuns, aboutRecord, foreignAccount, noticesWith } from '@halting/analysis/why'
import { goOn, type GoOn } from './go-on.ts'
import { recordedTerms } from './recorded-terms.ts'
import { wayOn } from './way-on.ts'
import { whyText } from './why-text.ts'

/** `halting why [SESSION|FILE]`: why a session stopped, and where turns, tokens, dollars and time went. Asks nobody, needs no key. */
export async function why(flags: Flags, [given]: readonly string[], program: Program): Promise<number> {
  const { output, env } = program
  const { path, session } = await found(flags, given, program)
  const { sessionId, cwd: sessionCwd, runs, foreign } = session
  const newest = runs.at(-1)
  if (newest === undefined) throw new UsageError(`Session ${sessionId} has no runs yet.`)
  const terminal = terminalOf(newest)
  const isOpenHere = path !== undefined && foreign === undefined && terminal === undefined
  const heldBy = isOpenHere ? writerOf(path) : undefined
  const next = heldBy === undefined ? await nextOf(session, path, flags, program) : { says: '' }
  if (wantsJson(flags)) {
    const stages = stagesOf(runs.flat().flatMap((record) => (record.type === 'stage' ? [record.stage] : [])))
    const notices = noticesWith([], runs.flat())
    const told = {
      sessionId,
      cwd: sessionCwd,
      file: path ?? null,
      runs: runs.map(foreign === undefined ? accountOf : foreignAccount),
      ...(stages.length > 0 && { stages }),
      ...(notices.length > 0 && { notices }),
      goOn: next,
      ...(heldBy !== undefined && { heldBy }),
      unpriced: session.unpriced,
      ...ofForeign(session),
    }
    output.out(`${JSON.stringify(told)}\n`)
    return 0
  }
  const told = explainRuns(session)(runs.length - 1, { goOn: next, about: aboutRecord(session), heldBy })
  output.out(whyText(told, output.width, styleFor(output.isTerminal.stdout, env)))
  return 0
}

/** By its file, or in the cluster that is named: it has no file then. */
async function found(
  flags: Flags,
  given: string | undefined,
  program: Program,
): Promise<{ readonly path?: string; readonly session: AnySession }> {
  if (flags.cluster !== undefined) {
    const { explainedSession } = await import('../cluster/explained-session.ts')
    return { session: await explainedSession(flags, given, program) }
  }
  const path = await findFile(given, 'why', program)
  return { path, session: await readNamedSession(path, pricesFor(flags, program)) }
}

async function nextOf(session: AnySession, path: string | undefined, flags: Flags, program: Program): Promise<GoOn> {
  if (path !== undefined) return wayOn(session, path, program)
  const { sessionId, runs } = session
  const { cluster } = flags
  const terminal = terminalOf(runs.at(-1) ?? [])
  if (terminal === undefined) {
    const { whyStalled } = await import('../cluster/of-cluster.ts')
    return { says: (await whyStalled(flags, sessionId, program)) ?? 'It continues in the cluster.' }
  }
  return goOn(terminal, {
    sessionId,
    sessionCwd: '',
    cwd: '',
    ...recordedTerms(runs),
    ...(cluster !== undefined && { cluster }),
  })
}

/** What is told of a session of another program alone. */
function ofForeign({ foreign }: AnySession): object {
  if (foreign === undefined) return {}
  const { program, skipped, recordedUsd = null } = foreign
  return { program, skipped, recordedUsd }
}
