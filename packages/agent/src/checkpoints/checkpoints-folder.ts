import { basename, dirname, join } from 'node:path'
import { sessionFolder, sessionsOf, type SessionPlace } from '@halting/journal'

/** Where a session keeps what files were: `~/.halting/projects/<cwd>-<hash>/<session id>/files`. */
export function checkpointsFolder(place: SessionPlace): string {
  const { base, parts } = sessionFolder(place)
  return join(base, ...parts, 'files')
}

/** The same, of a session whose file this is. */
export function checkpointsBeside(path: string): string {
  return join(dirname(path), basename(path, '.jsonl'), 'files')
}

/** Where all sessions are, which no command of theirs is looked at for. */
export function hiddenFromCheckpoints(place: SessionPlace): readonly string[] {
  return [sessionsOf(place).base]
}
