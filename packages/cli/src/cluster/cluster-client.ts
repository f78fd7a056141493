import { HaltingError } from '@halting/core'
import { validateRecord, splitRuns, type StepRecord } from '@halting/core/steps'
import { createClusterClient, type ClusterClient } from '@halting/restate/client'
import type { Flags } from '../flags/flags.ts'
import { unpricedIn, type AnySession } from '@halting/analysis/sessions'
import { pricesFor } from '../foreign/session-prices.ts'
import { oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { clusterTokens } from './cluster-token.ts'
import { engineHint } from './engine-hint.ts'
import { workerToken } from './worker-token.ts'

type ClusterFlags = Pick<Flags, 'cluster'>

/** Creates a client of the cluster that the flags name. */
export function clusterClient({ cluster = '' }: ClusterFlags, { env }: Pick<Program, 'env'>): ClusterClient {
  const worker = workerToken(env)
  const [token] = clusterTokens(env)
  return createClusterClient({
    ingress: cluster,
    ...(token !== undefined && { token }),
    ...(worker !== undefined && { worker: { token: worker } }),
  })
}

/** Waits for an answer of the cluster. @throws UsageError that names the problem and the address */
export async function clusterAnswer<T>({ cluster = '' }: ClusterFlags, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof HaltingError)) throw error
    const { code, message } = error
    if (code === 'configuration' && message.endsWith('Register a worker first.'))
      throw new UsageError(
        `The cluster at ${cluster} has no sessions. No worker is registered there. Use halting serve --register.`,
      )
    const hinted = withHint(message)
    if (code === 'driver' || hinted !== message)
      throw new UsageError(hinted.replace('The cluster', () => `The cluster at ${new URL(cluster).origin}`))
    throw error
  }
}

/** Adds a hint if the address may be wrong, or nothing is listening there. */
function withHint(message: string): string {
  if (!/^The cluster does not answer|is not where the engine takes requests/.test(message)) return message
  return `${message.trim().replace(/(?<![.!?])$/, '.')} ${engineHint}`
}

/** The folder in which a session last worked, on its worker; `/` if it is not known yet. */
export async function folderOnWorker(flags: ClusterFlags, sessionId: string, program: Program): Promise<string> {
  const done = await clusterAnswer(flags, clusterClient(flags, program).done(sessionId))
  return done?.snapshot?.cwd ?? '/'
}

/** Reads a session of a cluster into the same form as a local session. @throws UsageError if the cluster does not have it */
export async function readClusterSession(
  flags: ClusterFlags & Pick<Flags, 'settings'>,
  sessionId: string | undefined,
  program: Program,
): Promise<AnySession> {
  if (sessionId === undefined)
    throw new UsageError(`Name the session. halting sessions --cluster ${flags.cluster} lists them.`)
  return sessionFromRecords(
    flags,
    sessionId,
    await clusterAnswer(flags, clusterClient(flags, program).records(sessionId)),
    program,
  )
}

/** Builds a session from its records, however they were read. @throws UsageError for an invalid record */
export async function sessionFromRecords(
  flags: ClusterFlags & Pick<Flags, 'settings'>,
  sessionId: string,
  records: readonly StepRecord[],
  program: Program,
): Promise<AnySession> {
  const problem = records.map(validateRecord).find((each) => each !== undefined)
  if (problem !== undefined)
    throw new UsageError(
      `The cluster at ${new URL(flags.cluster ?? '').origin} has an invalid record of session ${oneLine(sessionId, 100)}: ${oneLine(problem, 300)}.`,
    )
  const runs = splitRuns(records)
  if (runs.length === 0) throw unknownSessionError(flags, sessionId)
  const unpriced = await unpricedIn(runs, pricesFor(flags, program))
  return { sessionId, cwd: '', runs, began: runs.map(() => null), unpriced }
}

/** Why the work of a session is stalled, and what to do; undefined if it is not stalled. @throws UsageError that names the problem and the address */
export async function stallReason(
  flags: ClusterFlags,
  sessionId: string,
  program: Program,
): Promise<string | undefined> {
  const { stalled } = await clusterAnswer(flags, clusterClient(flags, program).status(sessionId))
  return stalled === undefined ? undefined : oneLine(stalled.message, 1_000)
}

/** The error for a session ID that the cluster does not have. */
export function unknownSessionError({ cluster }: Pick<Flags, 'cluster'>, sessionId: string): UsageError {
  return new UsageError(
    `No conversation found with session ID: ${oneLine(sessionId, 100)}. halting sessions --cluster ${cluster} lists those of the cluster.`,
  )
}
