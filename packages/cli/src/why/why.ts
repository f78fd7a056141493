import { stagesOf } from '@halting/core/after'
import { accountOf } from '@halting/analysis'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { styleFor } from '../io/style.ts'
import { type AnySession, writerOf } from '@halting/analysis/sessions'
import { pricesFor, readNamedSession } from '../foreign/session-prices.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { findSessionFile } from '../stored-sessions/find-session.ts'
import { terminalOf, explainRuns, aboutRecord, foreignAccount, noticesWith } from '@halting/analysis/why'
import { resumeCommand, type ResumeHint } from './resume-command.ts'
import { recordedResumeContext } from './recorded-resume-context.ts'
import { resumeHint } from './resume-hint.ts'
import { whyText } from './why-text.ts'

/** `halting why [SESSION|FILE]`: explains why a session stopped, and where its turns, tokens, dollars and time went. Makes no request and needs no key. */
export async function why(flags: Flags, [name]: readonly string[], program: Program): Promise<number> {
  const { output, env } = program
  const { path, session } = await findSession(flags, name, program)
  const { sessionId, cwd: sessionCwd, runs, foreign } = session
  const newest = runs.at(-1)
  if (newest === undefined) throw new UsageError(`Session ${sessionId} has no runs yet.`)
  const terminal = terminalOf(newest)
  const isOpenHere = path !== undefined && foreign === undefined && terminal === undefined
  const heldBy = isOpenHere ? writerOf(path) : undefined
  const next = heldBy === undefined ? await readResumeHint(session, path, flags, program) : { says: '' }
  if (wantsJson(flags)) {
    const stages = stagesOf(runs.flat().flatMap((record) => (record.type === 'stage' ? [record.stage] : [])))
    const notices = noticesWith([], runs.flat())
    const json = {
      sessionId,
      cwd: sessionCwd,
      file: path ?? null,
      runs: runs.map(foreign === undefined ? accountOf : foreignAccount),
      ...(stages.length > 0 && { stages }),
      ...(notices.length > 0 && { notices }),
      goOn: next,
      ...(heldBy !== undefined && { heldBy }),
      unpriced: session.unpriced,
      ...foreignFields(session),
    }
    output.out(`${JSON.stringify(json)}\n`)
    return 0
  }
  const explanation = explainRuns(session)(runs.length - 1, { nextStep: next, about: aboutRecord(session), heldBy })
  output.out(whyText(explanation, output.width, styleFor(output.isTerminal.stdout, env)))
  return 0
}

/** Reads a session by its file, or from the named cluster, where it has no file. */
async function findSession(
  flags: Flags,
  name: string | undefined,
  program: Program,
): Promise<{ readonly path?: string; readonly session: AnySession }> {
  if (flags.cluster !== undefined) {
    const { sessionToExplain } = await import('../cluster/session-to-explain.ts')
    return { session: await sessionToExplain(flags, name, program) }
  }
  const path = await findSessionFile(name, 'why', program)
  return { path, session: await readNamedSession(path, pricesFor(flags, program)) }
}

async function readResumeHint(
  session: AnySession,
  path: string | undefined,
  flags: Flags,
  program: Program,
): Promise<ResumeHint> {
  if (path !== undefined) return resumeHint(session, path, program)
  const { sessionId, runs } = session
  const { cluster } = flags
  const terminal = terminalOf(runs.at(-1) ?? [])
  if (terminal === undefined) {
    const { stallReason } = await import('../cluster/cluster-client.ts')
    return { says: (await stallReason(flags, sessionId, program)) ?? 'It continues in the cluster.' }
  }
  return resumeCommand(terminal, {
    sessionId,
    sessionCwd: '',
    cwd: '',
    ...recordedResumeContext(runs),
    ...(cluster !== undefined && { cluster }),
  })
}

/** Additional fields for sessions of other programs. */
function foreignFields({ foreign }: AnySession): object {
  if (foreign === undefined) return {}
  const { program, skipped, recordedUsd = null } = foreign
  return { program, skipped, recordedUsd }
}
