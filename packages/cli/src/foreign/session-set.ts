import type { ReadTogether } from '@halting/analysis/foreign'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { type AnySession, type PricesFor, sessionsInFiles, type ManySessions } from '@halting/analysis/sessions'
import { pricesFor } from './session-prices.ts'

/** How to find and read sessions. */
interface SessionReaders<Session> {
  /** The session files, if no cluster is named. */
  readonly files: () => Promise<readonly string[]>
  readonly ofFile: (path: string, prices: PricesFor, together: ReadTogether) => Promise<Session>
  readonly ofCluster: (session: AnySession) => Session
}

/** Opens a set of sessions: those of a cluster, or those in files. */
export async function openSessionSet<Session>(
  flags: Flags,
  words: readonly string[],
  program: Program,
  { files, ofFile, ofCluster }: SessionReaders<Session>,
): Promise<ManySessions<Session>> {
  if (flags.cluster === undefined) {
    const prices = pricesFor(flags, program)
    return sessionsInFiles(await files(), (path, together) => ofFile(path, prices, together))
  }
  const { readClusterSession } = await import('../cluster/cluster-client.ts')
  const { readAllSessions } = await import('../cluster/session-pages.ts')
  const names = [...words]
  if (words.length === 0) for await (const { sessionId } of readAllSessions(flags)) names.push(sessionId)
  return { names, read: async (name) => ofCluster(await readClusterSession(flags, name, program)) }
}
