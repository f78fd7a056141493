import { isJsonObject } from '@halting/core/adapters'
import type { SessionStatus } from '@halting/restate'
import type { Flags, ListedState } from '../flags/flags.ts'
import { oneLine } from '../io/figures.ts'
import { UsageError } from '../usage-error.ts'
import { adminAddress } from './admin-address.ts'
import { readSessionTrouble, type UnreachableWorker } from './unreachable-worker.ts'
import { sqlLiteral, queryEngine, type EngineRow } from './engine-query.ts'
import { reasonsSetAside } from './release.ts'

/** A row of the session list. */
export interface ListedSession extends SessionStatus {
  readonly sessionId: string
  /** The invocation, if the engine has paused its work; resuming the invocation continues the session. */
  readonly pausedInvocation?: string
  /** The worker that the session waits for because the engine cannot reach it. */
  readonly awaited?: UnreachableWorker
  /** Why the session is set aside, as a clause; absent if it is not. */
  readonly setAside?: string
}

/** Filters and position of a page. */
export interface PageRequest {
  /** Maximum number of sessions. */
  readonly limit: number
  /** `nextCursor` of the previous page. */
  readonly cursor?: string
  readonly state?: ListedState
  readonly tenant?: string
  /** Only sessions whose last record was stored before this time, in milliseconds since 1970. */
  readonly changedBefore?: number
  /** Only these sessions. */
  readonly ids?: readonly string[]
  /** Searches only this partition of the engine. */
  readonly partition?: string
}

export interface SessionPage {
  readonly sessions: readonly ListedSession[]
  /** By session, the engine partition that stores it. */
  readonly partitions: ReadonlyMap<string, string>
  /** Number of sessions on all pages. */
  readonly total: number
  /** Absent on the last page. */
  readonly nextCursor?: string
}

type Admin = Pick<Flags, 'cluster' | 'admin'>

/** The status of a session without records. */
const emptyStatus: SessionStatus = { state: 'idle', turns: 0, usd: 0, tokens: 0, questions: [], records: 0 }

/** Sort order of the list: sessions that need an operator, then sessions that need an answer, then the rest. */
const ranks: { readonly [state in ListedState]: number } = { paused: 0, waiting: 1, running: 2, idle: 2 }

/**
 * Reads one page of a cluster's sessions: paused ones first, then those that wait for a user, then the rest; within each
 * group the latest change first. The engine sorts and selects the rows, so only one page is transferred.
 * @throws UsageError that names the problem and the address
 */
export async function readSessionPage(flags: Admin, request: PageRequest): Promise<SessionPage> {
  const { origin } = new URL(adminAddress(flags))
  const rows = (await queryEngine(flags, pageQuery(request))).map((row) => parseRow(row, origin))
  const pageRows = rows.slice(0, request.limit)
  const last = rows.length > request.limit ? pageRows.at(-1) : undefined
  const sessions = pageRows.map(({ session }) => session)
  // Sessions that are set aside have paused work.
  const isAnyPaused = sessions.some(({ state }) => state === 'paused')
  const setAside = isAnyPaused ? await reasonsSetAside(flags) : new Map<string, string>()
  const retrying = pageRows.filter(({ isRetrying: isTried }) => isTried).map(({ session }) => session.sessionId)
  const trouble = await readSessionTrouble(flags, retrying)
  return {
    sessions: sessions.map((session) => {
      const because = session.state === 'paused' ? setAside.get(session.sessionId) : undefined
      const awaited = trouble.get(session.sessionId)?.unreachable
      return {
        ...session,
        ...(because !== undefined && { setAside: because }),
        ...(awaited !== undefined && { awaited }),
      }
    }),
    partitions: new Map(
      pageRows.flatMap(({ session, partition }) => (partition === null ? [] : [[session.sessionId, partition]])),
    ),
    total: rows[0]?.total ?? 0,
    ...(last !== undefined && { nextCursor: cursorAfter(last) }),
  }
}

/** Page size for reading all sessions. */
const largePageSize = 1_000

/** Reads all sessions of a cluster, page by page. @throws UsageError */
export async function* readAllSessions(flags: Admin): AsyncGenerator<ListedSession, void, undefined> {
  let cursor: string | undefined
  do {
    const page = await readSessionPage(flags, { limit: largePageSize, ...(cursor !== undefined && { cursor }) })
    yield* page.sessions
    cursor = page.nextCursor
  } while (cursor !== undefined)
}

/** Totals of all runs of a session. Sessions of earlier versions report only the last run. */
export function totalsOf({ turns, usd, tokens, earlier }: SessionStatus): {
  readonly turns: number
  readonly usd: number
  readonly tokens: number
} {
  if (earlier === undefined) return { turns, usd, tokens }
  return { turns: earlier.turns + turns, usd: earlier.usd + usd, tokens: earlier.tokens + tokens }
}

/** The state that the list shows. */
export function listedState({ state, reason }: SessionStatus): ListedState {
  if (state === 'paused' || state === 'running') return state
  return state === 'requires_action' || reason === 'needs_approval' ? 'waiting' : 'idle'
}

/** One query joins the status of sessions with the engine's work for them. The engine's JSON functions extract the sort columns. */
function pageQuery({ limit, cursor, ids, partition, ...filters }: PageRequest): string {
  const inPartition = partition === undefined ? '' : ` and partition_key = ${partition}`
  const onlyIds = (column: string): string =>
    ids === undefined ? '' : ` and ${column} in (${[...ids, ''].map(sqlLiteral).join(', ')})`
  const conditions = [...filterConditions(filters), ...(cursor === undefined ? [] : [cursorCondition(cursor)])]
  return `with kept as (
  select service_key, value_utf8, cast(partition_key as varchar) as partition, json_get_str(value_utf8, 'state') as status_state, json_get_str(value_utf8, 'reason') as reason,
    json_get_str(value_utf8, 'tenant') as tenant, json_get_int(value_utf8, 'changedMs') as changed_ms
  from state where service_name = 'halting_session' and key = 'status'${inPartition}${onlyIds('service_key')}
), work as (
  select target_service_key, id, status, arrow_cast(modified_at, 'Int64') as modified_ms
  from sys_invocation where target_service_name = 'halting_session' and target_handler_name = 'work' and status <> 'completed'${onlyIds('target_service_key')}
), session as (
  select coalesce(service_key, target_service_key) as service_key, value_utf8, partition, id as invocation, status as work, tenant,
    coalesce(changed_ms, modified_ms, 0) as changed,
    case when status = 'paused' then 'paused'
      when status_state = 'requires_action' and id is not null then 'waiting'
      when id is not null then 'running'
      when reason = 'needs_approval' then 'waiting'
      else 'idle' end as state
  from kept full outer join work on service_key = target_service_key
), ranked as (
  select *, case state when 'paused' then ${ranks.paused} when 'waiting' then ${ranks.waiting} else ${ranks.idle} end as rank from session
), found as (
  select *, count(*) over () as total from ranked${whereClause(filterConditions(filters))}
)
select service_key, value_utf8, partition, invocation, work, changed, rank, total from found${whereClause(conditions)}
order by rank, changed desc, service_key limit ${limit + 1}`
}

function whereClause(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`
}

/** A session without a time of its last change comes from an earlier version; its age is unknown. */
function filterConditions({
  state,
  tenant,
  changedBefore,
}: Pick<PageRequest, 'state' | 'tenant' | 'changedBefore'>): readonly string[] {
  return [
    ...(state === undefined ? [] : [`state = ${sqlLiteral(state)}`]),
    ...(tenant === undefined ? [] : [`tenant = ${sqlLiteral(tenant)}`]),
    ...(changedBefore === undefined ? [] : [`changed > 0 and changed < ${Math.floor(changedBefore)}`]),
  ]
}

interface ListedRow {
  readonly session: ListedSession
  readonly partition: string | null
  readonly rank: number
  readonly changed: number
  readonly total: number
  /** The engine is retrying its work. */
  readonly isRetrying: boolean
}

/** Encodes the position after this row. Sessions that change meanwhile move to the front; no other is skipped or repeated. */
function cursorAfter({ session, rank, changed }: ListedRow): string {
  return Buffer.from(JSON.stringify([rank, changed, session.sessionId])).toString('base64url')
}

function cursorCondition(cursor: string): string {
  const [rank, changed, key] = parseCursor(cursor)
  const sameRank = `changed < ${changed} or (changed = ${changed} and service_key > ${sqlLiteral(key)})`
  return `(rank > ${rank} or (rank = ${rank} and (${sameRank})))`
}

function parseCursor(cursor: string): readonly [rank: number, changed: number, key: string] {
  try {
    const position: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(position)) {
      const [rank, changed, key]: readonly unknown[] = position
      if (isInteger(rank) && isInteger(changed) && typeof key === 'string') return [rank, changed, key]
    }
  } catch {
    // The cursor is not JSON.
  }
  throw new InvalidCursorError('--cursor takes the value that the previous page printed.')
}

/** The value of `--cursor` did not come from a page. */
export class InvalidCursorError extends UsageError {}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

/** The number is inserted into queries, so its form is checked. */
function isPartition(value: unknown): value is string | null {
  return value === null || (typeof value === 'string' && /^\d{1,20}$/.test(value))
}

/** Validates a row, since anything could answer at this address. */
function parseRow(row: EngineRow, origin: string): ListedRow {
  const { service_key: sessionId, value_utf8: text = null, partition = null, invocation = null, work = null } = row
  const isText = (value: unknown): value is string | null => value === null || typeof value === 'string'
  if (typeof sessionId !== 'string' || !isText(text) || !isPartition(partition) || !isText(invocation) || !isText(work))
    throw new UsageError(`The cluster at ${origin} does not return a list of sessions.`)
  const status = text === null ? emptyStatus : parseStatus(text, sessionId, origin)
  const session = { sessionId, ...status, ...stateOfWork(status, invocation, work) }
  return {
    session,
    partition,
    rank: isInteger(row['rank']) ? row['rank'] : ranks[listedState(session)],
    changed: isInteger(row['changed']) ? row['changed'] : (status.changedMs ?? 0),
    total: isInteger(row['total']) ? row['total'] : 0,
    isRetrying: work === 'backing-off',
  }
}

/** The engine's work is more recent than the stored status. */
function stateOfWork(
  { state }: SessionStatus,
  invocation: string | null,
  work: string | null,
): Partial<Pick<ListedSession, 'state' | 'pausedInvocation'>> {
  if (invocation === null) return { state: 'idle' }
  if (work === 'paused') return { state: 'paused', pausedInvocation: invocation }
  return state === 'requires_action' ? {} : { state: 'running' }
}

/** The status that the session's object has stored. */
function parseStatus(text: string, sessionId: string, origin: string): SessionStatus {
  try {
    const status: unknown = JSON.parse(text)
    if (isStatus(status)) return status
  } catch {
    // The status is not JSON.
  }
  throw new UsageError(`The cluster at ${origin} has no status of the session ${oneLine(sessionId, 100)}.`)
}

function isStatus(value: unknown): value is SessionStatus {
  if (!isJsonObject(value) || typeof value['state'] !== 'string') return false
  const { turns, usd, tokens, records, questions, beganMs, changedMs, runs, earlier = {} } = value
  const isOptionalText = (name: string): boolean => value[name] === undefined || typeof value[name] === 'string'
  return (
    [turns, usd, tokens, records, beganMs ?? 0, changedMs ?? 0, runs ?? 0].every(Number.isFinite) &&
    isJsonObject(earlier) &&
    Object.values(earlier).every(Number.isFinite) &&
    ['reason', 'tenant', 'title'].every(isOptionalText) &&
    Array.isArray(questions) &&
    questions.every(isQuestion)
  )
}

function isQuestion(value: unknown): boolean {
  if (!isJsonObject(value)) return false
  const { callId, toolName = '', about = '' } = value
  return [callId, toolName, about].every((each) => typeof each === 'string')
}
