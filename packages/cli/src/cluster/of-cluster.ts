import type { FlagName, Flags } from '../flags/flags.ts'
import { flagTable } from '../flags/table.ts'
import type { AnySession } from '../foreign/read-session.ts'
import { UsageError } from '../usage-error.ts'
import { adminOf } from './admin-address.ts'
import { ClusterClient } from './client.ts'

/** The cluster that the flags name. */
export function clusterOf(flags: Pick<Flags, 'cluster' | 'admin'>): ClusterClient {
  return new ClusterClient(flags.cluster ?? '', adminOf(flags))
}

/** A session of a cluster, as one of this machine. @throws UsageError for one that it does not have. */
export async function sessionOfCluster(
  flags: Pick<Flags, 'cluster' | 'admin'>,
  sessionId: string | undefined,
): Promise<AnySession> {
  if (sessionId === undefined)
    throw new UsageError(`Name the session; halting sessions --cluster ${flags.cluster} lists those of the cluster.`)
  const runs = await clusterOf(flags).runs(sessionId)
  return { sessionId, cwd: '', runs, unpriced: runs.map(() => []) }
}

/** @throws UsageError for a flag that only the worker can heed: its sessions have what it was started with. */
export function refuseFlagsOfWorker(flags: Flags, heeded: readonly FlagName[]): void {
  // True: the keys of `Flags` are the names.
  const [name] = (Object.keys(flags) as FlagName[]).filter((each) => !heeded.includes(each))
  if (name !== undefined)
    throw new UsageError(
      `${flagTable[name].names[0]} does not go with --cluster: what sessions may do is said where their worker starts (halting serve).`,
    )
}
