import { holderNow } from '@halting/journal/files'

/** The process that is writing to a session; undefined when there is none, or when the operating system does not reveal it. */
export function writerOf(path: string): number | undefined {
  try {
    return holderNow(`${path}.lock`)?.pid
  } catch {
    return undefined
  }
}
