import { isJsonObject } from '@halting/core/adapters'
import { proofHeaders } from '@halting/restate/client'
import type { Flags } from '../flags/flags.ts'
import { oneLine } from '../io/figures.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { adminAddress } from './admin-address.ts'
import { clusterTokens } from './cluster-token.ts'
import { sqlLiteral, queryEngine } from './engine-query.ts'
import { requestEngine } from './engine-request.ts'
import { clusterAnswer, clusterClient, unknownSessionError } from './cluster-client.ts'

const setAsideQuery = `select service_key, value_utf8 from state where service_name = 'halting_attempts' and key = 'set_aside'`

/** Sessions that were set aside because their work ended several workers, with the reason. @throws UsageError that names the problem and the address */
export async function reasonsSetAside(flags: Pick<Flags, 'cluster' | 'admin'>): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const { service_key: key, value_utf8: text } of await queryEngine(flags, setAsideQuery)) {
    const because = typeof text === 'string' ? parseReason(text) : undefined
    if (typeof key === 'string' && because !== undefined) found.set(key, because)
  }
  return found
}

/** Parses a value that a worker wrote. */
function parseReason(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (isJsonObject(value) && typeof value['because'] === 'string') return oneLine(value['because'], 300)
  } catch {
    // The value is not JSON.
  }
  return undefined
}

/** The command that retries a session that was set aside. Session IDs come from clients, so they are quoted for the shell. */
export function releaseCommand(sessionId: string, cluster = 'URL'): string {
  if (sessionId.startsWith('-'))
    return `halting ${shellQuoted(['sessions', 'release', '--cluster', cluster, '--', sessionId])}`
  return `halting ${shellQuoted(['sessions', 'release', sessionId, '--cluster', cluster])}`
}

/** `halting sessions release ID --cluster URL`: retries a session that was set aside. */
export async function releaseOnCluster(
  flags: Flags,
  [sessionId, ...more]: readonly string[],
  program: Program,
): Promise<number> {
  if (sessionId === undefined || sessionId.trim() === '' || more.length > 0)
    throw new UsageError(`Usage: ${releaseCommand('ID')}. halting sessions --cluster URL lists them.`)
  const { stalled, records, isWorking } = await clusterAnswer(flags, clusterClient(flags, program).status(sessionId))
  const path = `/halting_attempts/${encodeURIComponent(sessionId)}/release`
  const [token] = clusterTokens(program.env)
  const isReleased = await requestEngine({ base: flags.cluster ?? '', path, headers: proofHeaders(token, path) })
  // The session may have been released earlier without being resumed.
  if (isReleased !== true && stalled?.kind !== 'set_aside') {
    if (records === 0 && !isWorking) throw unknownSessionError(flags, sessionId)
    const name = oneLine(sessionId, 100)
    throw new UsageError(
      `The session ${name} is not set aside. ${stalled === undefined ? `halting why ${name} --cluster ${flags.cluster} shows its state.` : oneLine(stalled.message, 500)}`,
    )
  }
  for (const invocation of await stoppedInvocations(flags, sessionId))
    await requestEngine({ base: adminAddress(flags), path: `/invocations/${invocation}/resume`, method: 'PATCH' })
  program.output.out(`Released: ${oneLine(sessionId, 100)}. Its work continues.\n`)
  return 0
}

/** Kills the stalled work of a session, so that the session can be removed. Nothing is run again. */
export async function killStoppedWork(flags: Flags, sessionId: string): Promise<void> {
  for (const invocation of await stoppedInvocations(flags, sessionId))
    await requestEngine({ base: adminAddress(flags), path: `/invocations/${invocation}/kill`, method: 'PATCH' })
}

/** IDs of the session's invocations that are paused or waiting for a retry. */
async function stoppedInvocations(flags: Flags, sessionId: string): Promise<readonly string[]> {
  const query = `select id from sys_invocation where target_service_name = 'halting_session' and target_service_key = ${sqlLiteral(sessionId)} and target_handler_name = 'work' and status in ('paused', 'backing-off')`
  return (await queryEngine(flags, query)).flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
}
