import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Session } from '@halting/core/session'
import type { ClusterClient } from '@halting/restate/client'
import type { FlagName, Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { limitsFromFlags } from '../flags/limit-flags.ts'
import { UsageError } from '../usage-error.ts'
import { clusterAnswer, clusterClient, unknownSessionError } from './cluster-client.ts'
import { openingFromFlags } from './session-opening.ts'
import { withStallNotice } from './stall-notice.ts'
import { flagTable } from '../flags/table.ts'

/** A session of a cluster, for a frontend. */
export interface RemoteSession {
  readonly session: Session
  readonly client: ClusterClient
  readonly isNew: boolean
  /** Number of records when it was opened: the session emits only later records. */
  readonly recordCount: number
  /** Whether a run was active when it was opened. */
  readonly isWorking: boolean
}

export interface RemoteOptions {
  /** Flags that the frontend supports in addition to those that open a session. */
  readonly supportedFlags: readonly FlagName[]
  /** Receives notes for the user before the session is shown. */
  readonly note: (text: string) => void
  /** Number of records that the frontend already has (default: all that exist now). */
  readonly since?: number
}

/** Flags that open a session of a cluster, or change one that exists. */
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
 * Opens the cluster session that the flags name: a new one, or that of `--resume` with the limits and the model of these
 * flags. The worker resolves commands and files in prompts. `close` leaves the session on the cluster.
 * @throws UsageError for flags that only a worker supports, and for a session ID that is unknown or already in use
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
  // An existing session keeps its limits; those of these flags are set in it.
  const limits = limitsFromFlags(flags)
  const { model } = flags
  if (!isNew && (model !== undefined || Object.keys(limits).length > 0))
    session.set({ limits, ...(model !== undefined && { model }) })
  return { session, client, isNew, recordCount: status.records, isWorking: status.isWorking }
}

/** How long to wait for the state of an existing session. */
const snapshotTimeoutMs = 3_000

/** Resolves when a worker has reported the state of the session (model, mode, limits), or after 3 s. */
export async function waitForSnapshot(session: Pick<Session, 'snapshot'>): Promise<void> {
  for (let waitedMs = 0; session.snapshot.model === '' && waitedMs < snapshotTimeoutMs; waitedMs += 25) await pause(25)
}

/** @throws UsageError for a flag that only a worker supports: its sessions have the flags that it was started with */
function refuseWorkerFlags(flags: Flags, supportedFlags: readonly FlagName[]): void {
  // This cast is safe: the keys of `Flags` are the names of flags.
  const [name] = (Object.keys(flags) as FlagName[]).filter((each) => !supportedFlags.includes(each))
  if (name !== undefined)
    throw new UsageError(
      `${flagTable[name].names[0]} cannot be combined with --cluster: permissions and servers are set where the worker starts (halting serve).`,
    )
}
