import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { sessionScope } from '@halting/agent/session-settings'
import { messageOf } from '@halting/core/adapters'
import {
  copySession,
  readSessionHead,
  sessionFile,
  sessionStoreVariable,
  storedSessions,
  type StoredSessionFile,
} from '@halting/journal'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { many, programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { parseSessionStore } from '../session-store/parse-store.ts'
import { openSessionStore } from '../session-store/open-store.ts'
import { findSession } from '../stored-sessions/find-session.ts'
import { UsageError } from '../usage-error.ts'
import { versionOf } from '../version.ts'

/** The result of a copy, per session. */
interface CopyOutcome {
  readonly copied: string[]
  /** IDs of sessions that the target already has. */
  readonly skipped: string[]
  readonly failed: { readonly session_id: string; readonly problem: string }[]
}

/** `halting sessions copy [ID] --to STORE`: copies sessions to a store or to files. Returns 1 if one could not be copied. */
export async function copySessions(flags: Flags, id: string | undefined, program: Program): Promise<number> {
  const { to, all } = flags
  if (to === undefined)
    throw new UsageError('halting sessions copy needs --to: sqlite:PATH, postgres://HOST/DATABASE, or files.')
  if (id !== undefined && all === true) throw new UsageError('Give an ID or --all, not both.')
  const target = parseSessionStore(to, '--to', program)
  if (target?.value === program.sessionStore?.value)
    throw new UsageError('--to names the place where the sessions are. Name another one.')
  const files =
    id === undefined
      ? await storedSessions(sessionScope(program), all === true ? 'all' : 'of this folder')
      : [await findSession(id, program)]
  const elsewhere = { ...program, env: { ...program.env, [sessionStoreVariable]: target?.value ?? '' } }
  const opened = target === undefined ? undefined : openSessionStore(target, elsewhere)
  try {
    const ids = opened === undefined ? undefined : new Set((await opened.copies.list()).map((each) => each.sessionId))
    return printOutcome(await copyAll(files, elsewhere, ids), target?.name ?? 'files', flags, program)
  } finally {
    await opened?.close()
  }
}

/** `present` contains the IDs that the store has; undefined for files. */
async function copyAll(
  files: readonly StoredSessionFile[],
  elsewhere: Program,
  present: ReadonlySet<string> | undefined,
): Promise<CopyOutcome> {
  const outcome: CopyOutcome = { copied: [], skipped: [], failed: [] }
  for (const { path, sessionId } of files) {
    try {
      const { cwd } = readSessionHead(path)
      const place = { ...sessionScope({ ...elsewhere, cwd: resolve(cwd) }), sessionId }
      const target = sessionFile(place)
      if (present === undefined ? existsSync(target) : present.has(sessionId)) outcome.skipped.push(sessionId)
      else {
        await copySession(path, { path: target, version: versionOf(elsewhere) })
        outcome.copied.push(sessionId)
      }
    } catch (thrown) {
      outcome.failed.push({ session_id: sessionId, problem: messageOf(thrown) })
    }
  }
  return outcome
}

function printOutcome(
  { copied, skipped, failed }: CopyOutcome,
  name: string,
  flags: Flags,
  { output }: Program,
): number {
  if (wantsJson(flags)) output.out(`${JSON.stringify({ to: name, copied, skipped, failed })}\n`)
  else {
    output.out(`Copied: ${many(copied.length, 'session')} to ${name}\n`)
    if (skipped.length > 0) output.err(programMessage(`already there, not copied: ${skipped.join(', ')}`))
  }
  for (const { session_id: id, problem } of failed) output.err(programMessage(`not copied: ${id}: ${problem}`))
  return failed.length === 0 ? 0 : 1
}
