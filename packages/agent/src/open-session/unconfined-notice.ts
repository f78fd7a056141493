import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Session, SessionEvent } from '@halting/core/session'
import type { SessionNotice } from './ports.ts'
import type { Toolbox } from './toolbox.ts'

// Spec R-EFRONT-4.
/**
 * Tells a person what is missing when the first command asks in `acceptEdits` that could run confined: once a session, and once for each reason on a machine.
 * What a setting or a program turned off is not told.
 */
export function noticeUnconfined(
  session: Pick<Session, 'listen'>,
  { permissions, workspace }: Pick<Toolbox, 'permissions' | 'workspace'>,
  notify: (notices: readonly SessionNotice[]) => void,
): void {
  const stop = session.listen((event) => {
    if (permissions.mode !== 'acceptEdits' || !asksAboutCommand(event)) return
    stop()
    const { wall } = workspace
    const edits = wall?.edits()
    if (wall === undefined || edits?.kind !== 'off' || edits.todo === undefined) return
    if (isKnown(join(dirname(wall.memory), 'confinement-notice'), edits.why)) return
    notify([{ kind: 'edits_unconfined', why: edits.why, todo: edits.todo }])
  })
}

function asksAboutCommand(event: SessionEvent): boolean {
  if (event.type === 'question') return event.question.toolName === 'Bash'
  return event.type === 'loop' && event.event.type === 'permission_denied' && event.event.name === 'Bash'
}

/** Whether it was told before, and puts down that it was. Without a folder of this program nothing is put down. */
function isKnown(file: string, why: string): boolean {
  try {
    if (readFileSync(file, 'utf8').trim() === why) return true
  } catch {
    // It was told of nothing yet.
  }
  try {
    writeFileSync(file, `${why}\n`, { mode: 0o600 })
  } catch {
    // The next session tells it again.
  }
  return false
}
