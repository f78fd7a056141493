import { join } from 'node:path'
import { type SessionPlace, sessionFolder } from '@halting/journal'

/** The file with the loop of a session. */
export function loopFile(place: SessionPlace): string {
  const { base, parts } = sessionFolder(place)
  return join(base, ...parts, 'loop.json')
}
