import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { ReadTogether, withoutSubagents } from '@halting/agent/foreign'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { pricesFor, type AnySession, type PricesFor } from './read-session.ts'

/** Sessions to look at one after another, and how one is read. */
export interface ManySessions<Session> {
  /** Files, or sessions of a cluster. */
  readonly names: readonly string[]
  /** @throws HaltingError for one that cannot be read. */
  readonly read: (name: string) => Promise<Session>
}

/** Where they are, and what is read of each. */
interface Ways<Session> {
  /** The files, where no cluster is named. */
  readonly files: () => Promise<readonly string[]>
  readonly ofFile: (path: string, prices: PricesFor, together: ReadTogether) => Promise<Session>
  readonly ofCluster: (session: AnySession) => Session
}

/** Those of a cluster, or of files. Runs and lines that several of the files hold, and files of subagents, count once. */
export async function manySessions<Session>(
  flags: Flags,
  words: readonly string[],
  program: Program,
  { files, ofFile, ofCluster }: Ways<Session>,
): Promise<ManySessions<Session>> {
  if (flags.cluster !== undefined) {
    const { sessionOfCluster } = await import('../cluster/of-cluster.ts')
    const { sessionsOfCluster } = await import('../cluster/list.ts')
    const names = words.length > 0 ? words : (await sessionsOfCluster(flags)).map(({ sessionId }) => sessionId)
    return { names, read: async (name) => ofCluster(await sessionOfCluster(flags, name, program)) }
  }
  const together = new ReadTogether()
  const prices = pricesFor(flags, program)
  return {
    names: await largestFirst(await withoutSubagents(await files(), together)),
    read: (file) => ofFile(file, prices, together),
  }
}

/** In their order, but of files of one name the largest first: they are copies, and what one has more counts with what it goes on from. */
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
