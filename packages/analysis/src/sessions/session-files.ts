import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { ReadTogether } from '../foreign/read-together.ts'
import { withoutSubagents } from '../foreign/agent-files.ts'

/** Several sessions, and how to read each. */
export interface ManySessions<Session> {
  /** Paths of files, or names of sessions on a cluster. */
  readonly names: readonly string[]
  /** @throws HaltingError for one that cannot be read. */
  readonly read: (name: string) => Promise<Session>
}

/** Sessions in files that are read together: copied runs and lines, and files of subagents, count once. */
export async function sessionsInFiles<Session>(
  files: readonly string[],
  read: (path: string, together: ReadTogether) => Promise<Session>,
): Promise<ManySessions<Session>> {
  const together = new ReadTogether()
  return {
    names: await largestFirst(await withoutSubagents(files, together)),
    read: (file) => read(file, together),
  }
}

/**
 * Keeps the order, but puts the largest first among files with the same name. Files with the same name are copies, and a
 * longer copy contains the shorter one that it continues.
 */
async function largestFirst(files: readonly string[]): Promise<readonly string[]> {
  const named = new Map<string, string[]>()
  for (const file of files) {
    const same = named.get(basename(file))
    if (same === undefined) named.set(basename(file), [file])
    else same.push(file)
  }
  for (const [name, same] of named) {
    if (same.length === 1) continue
    const sizes = new Map<string, number>()
    for (const file of same) sizes.set(file, (await stat(file).catch(() => undefined))?.size ?? 0)
    named.set(
      name,
      same.toSorted((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0)),
    )
  }
  return files.map((file) => named.get(basename(file))?.shift() ?? file)
}
