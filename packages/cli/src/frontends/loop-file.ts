import { join } from 'node:path'
import { type SessionPlace, sessionFolder } from '@halting/journal'

/** Where the loop of a session is on record. */
export function loopFile(place: SessionPlace): string {
  const { base, parts } = sessionFolder(place)
  return join(base, ...parts, 'loop.json')
}
