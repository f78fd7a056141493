import { join } from 'node:path'
import { sessionFolder, sessionsOf, type SessionPlace } from '../session/session-folder.ts'

/** Where a session keeps what files were: `~/.halting/projects/<cwd>/<session id>/files`. */
export function checkpointsFolder(place: SessionPlace): string {
  const { base, parts } = sessionFolder(place)
  return join(base, ...parts, 'files')
}

/** Where all sessions are, which no command of theirs is looked at for. */
export function hiddenFromCheckpoints(place: SessionPlace): readonly string[] {
  return [sessionsOf(place).base]
}
