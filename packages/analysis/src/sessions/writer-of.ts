import { holderNow } from '@halting/journal/files'

/** The process that is writing to a session; undefined if no process does, or if the operating system does not reveal it. */
export function writerOf(path: string): number | undefined {
  try {
    return holderNow(`${path}.lock`)?.pid
  } catch {
    return undefined
  }
}
