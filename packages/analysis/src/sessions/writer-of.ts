import { holderNow } from '@halting/journal/files'

/** The process that writes a session; undefined where none does, and where the system does not let us know. */
export function writerOf(path: string): number | undefined {
  try {
    return holderNow(`${path}.lock`)?.pid
  } catch {
    return undefined
  }
}
