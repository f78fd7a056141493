import { basename, dirname, join } from 'node:path'
import { sessionFolder, sessionsOf, type SessionPlace } from '@halting/journal'

/** Where a session stores earlier file contents: `~/.halting/projects/<cwd>-<hash>/<session id>/files`. */
export function checkpointsFolder(place: SessionPlace): string {
  const { base, parts } = sessionFolder(place)
  return join(base, ...parts, 'files')
}

/** The same folder for the session with this file. */
export function checkpointsOfFile(path: string): string {
  return join(dirname(path), basename(path, '.jsonl'), 'files')
}

/** The folder of all sessions, in which changes by commands are not tracked. */
export function hiddenFromCheckpoints(place: SessionPlace): readonly string[] {
  return [sessionsOf(place).base]
}
