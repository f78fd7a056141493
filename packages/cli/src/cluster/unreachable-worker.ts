import type { Flags } from '../flags/flags.ts'
import { clockText, elapsed, oneLine } from '../io/figures.ts'
import { sqlLiteral, queryEngine, type EngineRow } from './engine-query.ts'

/** A worker that the engine is trying to reach. */
export interface UnreachableWorker {
  readonly worker: string
  /** Time since which the engine cannot reach it, in milliseconds since 1970; absent if unknown. */
  readonly sinceMs?: number
}

/** Why a session is stalled, according to the engine. */
export interface SessionTrouble {
  /** The error of the last attempt. */
  readonly failure?: string
  /** The worker, if the last attempt failed because the engine cannot reach it. */
  readonly unreachable?: UnreachableWorker
}

/** The engine's error code for a worker that it cannot reach. */
const unreachableCode = 'RT0010'

/** Why the engine is retrying the work of these sessions, by session ID, in one query. @throws UsageError that names the problem and the address */
export async function readSessionTrouble(
  flags: Pick<Flags, 'cluster' | 'admin'>,
  sessions: readonly string[],
): Promise<ReadonlyMap<string, SessionTrouble>> {
  const found = new Map<string, SessionTrouble>()
  if (sessions.length === 0) return found
  for (const row of await queryEngine(flags, troubleQuery(sessions))) {
    const { session = sessions[0] } = row
    const trouble = parseTrouble(row)
    const isBetter = trouble.unreachable !== undefined || (trouble.failure !== undefined && !found.has(String(session)))
    if (typeof session === 'string' && isBetter) found.set(session, trouble)
  }
  return found
}

/** A worker counts as unreachable since the first failure in the latest series of failures. */
function troubleQuery(sessions: readonly string[]): string {
  const names = sessions.map(sqlLiteral).join(', ')
  return `with tried as (
  select id, target_service_name, target_service_key, journal_size, last_failure, last_failure_error_code as code, coalesce(pinned_deployment_id, last_attempt_deployment_id) as at
  from sys_invocation where status = 'backing-off' and last_failure is not null
), since as (
  select tried.at as deployment, min(arrow_cast(e.appended_at, 'Int64')) as since_ms
  from tried join sys_journal_events e on e.id = tried.id
  where e.event_type = 'TransientError' and tried.code = '${unreachableCode}' and e.after_journal_entry_index >= tried.journal_size - 1
  group by tried.at
)
select tried.target_service_key as session, tried.last_failure, tried.code, d.endpoint, since.since_ms
from tried left join sys_deployment d on d.id = tried.at left join since on since.deployment = tried.at
where tried.target_service_name in ('halting_session', 'halting_mailbox') and tried.target_service_key in (${names})`
}

function parseTrouble({ last_failure: failure, code, endpoint, since_ms: since }: EngineRow): SessionTrouble {
  const isUnreachable = code === unreachableCode && typeof endpoint === 'string'
  return {
    ...(typeof failure === 'string' && { failure }),
    ...(isUnreachable && {
      unreachable: {
        worker: endpoint.replace(/\/+$/, ''),
        ...(typeof since === 'number' && Number.isFinite(since) && { sinceMs: since }),
      },
    }),
  }
}

/** Formats the worker: `waits for worker http://10.0.0.7:9080 since 14:02 (3 min)`. */
export function unreachableWorkerText({ worker, sinceMs }: UnreachableWorker, now: number): string {
  const since =
    sinceMs === undefined ? '' : ` since ${clockText(sinceMs, now)} (${elapsed(Math.max(0, now - sinceMs))})`
  return `waits for worker ${oneLine(worker, 200)}${since}`
}

/** What to do if no other worker has taken over the session. */
export const unreachableWorkerRemedy = 'start that worker again, or another one: halting serve --register'
