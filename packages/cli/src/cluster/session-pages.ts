import { isJsonObject } from '@halting/core/adapters'
import type { SessionStatus } from '@halting/restate'
import type { Flags, ListedState } from '../flags/flags.ts'
import { oneLine } from '../io/figures.ts'
import { UsageError } from '../usage-error.ts'
import { adminAddress } from './admin-address.ts'
import { readSessionTrouble, type UnreachableWorker } from './unreachable-worker.ts'
import { sqlLiteral, queryEngine, type EngineRow } from './engine-query.ts'
import { reasonsSetAside } from './release.ts'

/** A row of the list of sessions. */
export interface ListedSession extends SessionStatus {
  readonly sessionId: string
  /** The engine has paused the work at it, which goes on when this invocation is resumed. */
  readonly pausedInvocation?: string
  /** The worker that it waits for, which the engine does not reach. */
  readonly awaited?: UnreachableWorker
  /** Why it is set aside, as a clause; absent where it is not. */
  readonly setAside?: string
}

/** Which sessions are wanted. */
export interface PageRequest {
  /** At most so many. */
  readonly limit: number
  /** `nextCursor` of the page before. */
  readonly cursor?: string
  readonly state?: ListedState
  readonly tenant?: string
  /** Only those whose last record was stored before, in milliseconds since 1970. */
  readonly changedBefore?: number
  /** Only these sessions. */
  readonly ids?: readonly string[]
  /** The partition of the engine that has them: nothing else is looked through. */
  readonly partition?: string
}

export interface SessionPage {
  readonly sessions: readonly ListedSession[]
  /** By session, the partition of the engine that has what is stored of it. */
  readonly partitions: ReadonlyMap<string, string>
  /** How many sessions all pages have together. */
  readonly total: number
  /** Absent on the last page. */
  readonly nextCursor?: string
}

type Admin = Pick<Flags, 'cluster' | 'admin'>

/** Of a session of which nothing is on record yet. */
const emptyStatus: SessionStatus = { state: 'idle', turns: 0, usd: 0, tokens: 0, questions: [], records: 0 }

/** The order of a list: what needs an operator, then what needs an answer, then the rest. */
const ranks: { readonly [state in ListedState]: number } = { paused: 0, waiting: 1, running: 2, idle: 2 }

/**
 * A page of the sessions of a cluster: those that are paused first, then those that wait for a person, then the others; of each the one that changed last first. The engine
 * sorts and cuts, so that a page is all that is sent.
 * @throws UsageError that says what is the matter, and where.
 */
export async function readSessionPage(flags: Admin, request: PageRequest): Promise<SessionPage> {
  const { origin } = new URL(adminAddress(flags))
  const rows = (await queryEngine(flags, pageQuery(request))).map((row) => parseRow(row, origin))
  const shown = rows.slice(0, request.limit)
  const last = rows.length > request.limit ? shown.at(-1) : undefined
  const sessions = shown.map(({ session }) => session)
  // Their work is paused.
  const isAnyPaused = sessions.some(({ state }) => state === 'paused')
  const setAside = isAnyPaused ? await reasonsSetAside(flags) : new Map<string, string>()
  const retrying = shown.filter(({ isRetrying: isTried }) => isTried).map(({ session }) => session.sessionId)
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
      shown.flatMap(({ session, partition }) => (partition === null ? [] : [[session.sessionId, partition]])),
    ),
    total: rows[0]?.total ?? 0,
    ...(last !== undefined && { nextCursor: cursorAfter(last) }),
  }
}

/** So many are asked for at once where all are wanted. */
const largePage = 1_000

/** Every session of a cluster, page by page. @throws UsageError */
export async function* readAllSessions(flags: Admin): AsyncGenerator<ListedSession, void, undefined> {
  let cursor: string | undefined
  do {
    const page = await readSessionPage(flags, { limit: largePage, ...(cursor !== undefined && { cursor }) })
    yield* page.sessions
    cursor = page.nextCursor
  } while (cursor !== undefined)
}

/** What all runs of a session came to; those of earlier versions tell of the last run alone. */
export function totalsOf({ turns, usd, tokens, earlier }: SessionStatus): {
  readonly turns: number
  readonly usd: number
  readonly tokens: number
} {
  if (earlier === undefined) return { turns, usd, tokens }
  return { turns: earlier.turns + turns, usd: earlier.usd + usd, tokens: earlier.tokens + tokens }
}

/** In which state a list shows a session. */
export function listedState({ state, reason }: SessionStatus): ListedState {
  if (state === 'paused' || state === 'running') return state
  return state === 'requires_action' || reason === 'needs_approval' ? 'waiting' : 'idle'
}

/** One query: what the objects of sessions have written, with the work that the engine has for them. Its own functions take what is sorted by out of the JSON. */
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

/** A session that does not say when it changed is of an earlier version: how old it is nobody knows. */
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
  /** The engine tries its work again. */
  readonly isRetrying: boolean
}

/** Where the next page begins: behind this row. What changes meanwhile moves to the front, and none of the others is left out or comes twice. */
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
    const given: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(given)) {
      const [rank, changed, key]: readonly unknown[] = given
      if (isInteger(rank) && isInteger(changed) && typeof key === 'string') return [rank, changed, key]
    }
  } catch {
    // No JSON.
  }
  throw new InvalidCursorError('--cursor takes the value that the page before it has printed.')
}

/** What was given as a cursor was given out by no page. */
export class InvalidCursorError extends UsageError {}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

/** Its number goes into queries. */
function isPartition(value: unknown): value is string | null {
  return value === null || (typeof value === 'string' && /^\d{1,20}$/.test(value))
}

/** Whatever answers at the address of a cluster is asked for it. */
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

/** What the engine has to do for the session says more than what was written last. */
function stateOfWork(
  { state }: SessionStatus,
  invocation: string | null,
  work: string | null,
): Partial<Pick<ListedSession, 'state' | 'pausedInvocation'>> {
  if (invocation === null) return { state: 'idle' }
  if (work === 'paused') return { state: 'paused', pausedInvocation: invocation }
  return state === 'requires_action' ? {} : { state: 'running' }
}

/** What the object of a session has written. */
function parseStatus(text: string, sessionId: string, origin: string): SessionStatus {
  try {
    const status: unknown = JSON.parse(text)
    if (isStatus(status)) return status
  } catch {
    // No JSON.
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
