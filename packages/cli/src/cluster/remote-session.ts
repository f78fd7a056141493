import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Session } from '@halting/core/session'
import type { ClusterClient } from '@halting/restate/client'
import type { FlagName, Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { limitsIn } from '../flags/limit-flags.ts'
import { UsageError } from '../usage-error.ts'
import { clusterAnswer, clusterClient, unknownSessionError } from './cluster-client.ts'
import { openingFromFlags } from './session-opening.ts'
import { withStallNotice } from './stall-notice.ts'
import { flagTable } from '../flags/table.ts'

/** A session of a cluster, for a face. */
export interface RemoteSession {
  readonly session: Session
  readonly client: ClusterClient
  readonly isNew: boolean
  /** How many records it had when it was opened: the session tells what comes after them. */
  readonly recordCount: number
  /** A run went on when it was opened. */
  readonly isWorking: boolean
}

export interface RemoteOptions {
  /** What the face heeds beside what opens a session. */
  readonly supportedFlags: readonly FlagName[]
  /** Told what a person should know of the session before it is shown. */
  readonly note: (text: string) => void
  /** The number of records that the face has; those that there are by now when absent. */
  readonly since?: number
}

/** What opens a session of a cluster, or is set in one that goes on. */
const commonFlags: readonly FlagName[] = [
  'cluster',
  'admin',
  'sessionId',
  'resume',
  'model',
  'maxTurns',
  'maxBudgetUsd',
  'maxRunUsd',
  'maxToolCalls',
  'maxTokens',
  'maxDuration',
  'onLimit',
  'pauseFor',
  'waitForLimits',
  'tenant',
]

/**
 * Opens a session of the cluster that the flags name: a new one, or that of `--resume`, with what the flags say set in it. Commands and files that a prompt names are
 * looked up by the worker. `close` of it leaves it on the cluster as it is.
 * @throws UsageError for flags that only the worker can heed, and for a session that is not there, or is there already.
 */
export async function openRemoteSession(
  flags: Flags,
  program: Program,
  options: RemoteOptions,
): Promise<RemoteSession> {
  const { supportedFlags, note } = options
  const { resume, cluster } = flags
  refuseWorkerFlags(flags, [...commonFlags, ...supportedFlags])
  if (resume === '')
    throw new UsageError(`--resume needs the ID of a session; halting sessions --cluster ${cluster} lists them.`)
  const client = clusterClient(flags, program)
  const sessionId = resume ?? flags.sessionId ?? randomUUID()
  const status = await clusterAnswer(flags, withStallNotice(client.status(sessionId), { flags, sessionId, note }))
  const isNew = status.records === 0 && !status.isWorking && status.waiting === 0
  if (resume !== undefined && isNew) throw unknownSessionError(flags, sessionId)
  if (resume === undefined && !isNew)
    throw new UsageError(`The session ID ${sessionId} is already in use. Continue it with --resume ${sessionId}`)
  if (!isNew && flags.tenant !== undefined)
    throw new UsageError(`The tenant of session ${sessionId} cannot be changed. Remove --tenant.`)
  if (!isNew && flags.waitForLimits !== undefined)
    throw new UsageError(`The wait limit of session ${sessionId} cannot be changed. Remove --wait-for-limits.`)
  if (status.isClosed) throw new UsageError(`The session ${sessionId} is closed.`)
  if (status.isWorking) note('a run is active in this session.')
  const session = client.session(sessionId, isNew ? { ...openingFromFlags(flags) } : undefined, {
    since: options.since ?? status.records,
    ...(status.runId !== undefined && { runId: status.runId }),
  })
  // A session that is there has its own; what is said now is set in it.
  const limits = limitsIn(flags)
  const { model } = flags
  if (!isNew && (model !== undefined || Object.keys(limits).length > 0))
    session.set({ limits, ...(model !== undefined && { model }) })
  return { session, client, isNew, recordCount: status.records, isWorking: status.isWorking }
}

/** So long a session that is there is waited for until something is known of it. */
const snapshotTimeoutMs = 3_000

/** Resolves when its worker, or its last one, has shown what stands in the session (model, mode, limits), or after 3 s: a cluster that does not answer is not waited for. */
export async function waitForSnapshot(session: Pick<Session, 'snapshot'>): Promise<void> {
  for (let waitedMs = 0; session.snapshot.model === '' && waitedMs < snapshotTimeoutMs; waitedMs += 25) await pause(25)
}

/** @throws UsageError for a flag that only the worker can heed: its sessions have what it was started with. */
function refuseWorkerFlags(flags: Flags, supportedFlags: readonly FlagName[]): void {
  // True: the keys of `Flags` are the names.
  const [name] = (Object.keys(flags) as FlagName[]).filter((each) => !supportedFlags.includes(each))
  if (name !== undefined)
    throw new UsageError(
      `${flagTable[name].names[0]} cannot be combined with --cluster: permissions and servers are set where the worker starts (halting serve).`,
    )
}
