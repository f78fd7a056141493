import { holderOf } from '@halting/journal/files'

/** The process that writes a session; undefined where none does, and where the system does not let us know. */
export async function writerOf(path: string): Promise<number | undefined> {
  return (await holderOf(`${path}.lock`).catch(() => undefined))?.pid
}
