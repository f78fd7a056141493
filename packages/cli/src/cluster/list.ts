import { isJsonObject } from '@halting/core/adapters'
import type { SessionStatus } from '@halting/restate'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { many, money, oneLine, told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { adminOf } from './admin-address.ts'
import { rowsOf, type EngineRow } from './engine-query.ts'
import { releaseCommand, sessionsSetAside } from './release.ts'

/** A row of the list of sessions. */
interface ListedSession extends SessionStatus {
  readonly sessionId: string
  /** The engine has paused the work at it, which goes on when this invocation is resumed. */
  readonly pausedInvocation?: string
  /** Why it is set aside, as a clause. */
  readonly setAside?: string
}

const kept = `select service_key, value_utf8 from state where service_name = 'halting_session' and key = 'status'`
const paused = `select target_service_key as service_key, id from sys_invocation where target_service_name = 'halting_session' and target_handler_name = 'work' and status = 'paused'`
/** Of a session that was paused before anything of it was on record. */
const nothingYet: SessionStatus = { state: 'idle', turns: 0, usd: 0, tokens: 0, questions: [], records: 0 }

/** What is kept of all sessions, by the engine's own query language; those that go on come first, then by their names. @throws UsageError that says what is the matter, and where. */
export async function sessionsOfCluster(flags: Pick<Flags, 'cluster' | 'admin'>): Promise<readonly ListedSession[]> {
  const { origin } = new URL(adminOf(flags))
  const invocations = textsByKey(await rowsOf(flags, paused), 'id', origin)
  // Their work is paused.
  const setAside = invocations.size === 0 ? new Map<string, string>() : await sessionsSetAside(flags)
  const sessions = textsByKey(await rowsOf(flags, kept), 'value_utf8', origin)
  const found = [...new Set([...sessions.keys(), ...invocations.keys()])].map((sessionId): ListedSession => {
    const text = sessions.get(sessionId)
    const invocation = invocations.get(sessionId)
    const because = setAside.get(sessionId)
    return {
      sessionId,
      ...(text === undefined ? nothingYet : statusIn(text, sessionId, origin)),
      ...(invocation !== undefined && { state: 'paused', pausedInvocation: invocation }),
      ...(invocation !== undefined && because !== undefined && { setAside: because }),
    }
  })
  return found.toSorted(
    (a, b) => Number(a.state === 'idle') - Number(b.state === 'idle') || a.sessionId.localeCompare(b.sessionId),
  )
}

/** A row without this column has nothing to tell. */
function textsByKey(rows: readonly EngineRow[], column: string, origin: string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const { service_key: key, [column]: text = null } of rows) {
    if (typeof key !== 'string' || (text !== null && typeof text !== 'string'))
      throw new UsageError(`The cluster at ${origin} does not return a list of sessions.`)
    if (text !== null) texts.set(key, text)
  }
  return texts
}

/** What the object of a session has written. Whatever answers at the address of a cluster is asked for it. */
function statusIn(text: string, sessionId: string, origin: string): SessionStatus {
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
  const { turns, usd, tokens, records, questions, reason } = value
  return (
    [turns, usd, tokens, records].every(Number.isFinite) &&
    (reason === undefined || typeof reason === 'string') &&
    Array.isArray(questions) &&
    questions.every((question) => isJsonObject(question) && typeof question['callId'] === 'string')
  )
}

/** `halting sessions --cluster URL`: what stands with every session of a cluster; those that go on come first. */
export async function listOfCluster(
  flags: Flags,
  [doing = 'list', ...more]: readonly string[],
  { output }: Program,
): Promise<number> {
  if (doing !== 'list' || more.length > 0)
    throw new UsageError('With --cluster, halting sessions only lists. For one session, use halting why.')
  const found = await sessionsOfCluster(flags)
  if (wantsJson(flags)) output.out(`${JSON.stringify({ sessions: found })}\n`)
  else if (found.length === 0) output.err(told(`the cluster ${flags.cluster} has no session.`))
  else
    output.out(
      found.map((session) => `${oneLine(session.sessionId, 100)}  ${factsOf(session, flags.cluster)}\n`).join(''),
    )
  return 0
}

/** What stands with a session, in one line. */
export function factsOf(
  { sessionId, state, reason, turns, usd, questions, pausedInvocation, setAside }: ListedSession,
  cluster?: string,
): string {
  const stands =
    state === 'requires_action'
      ? `waits for an answer: ${questions.map(({ callId }) => oneLine(callId, 100)).join(', ')}`
      : state === 'idle'
        ? (reason ?? 'nothing was run')
        : state === 'paused'
          ? setAside !== undefined
            ? `is set aside: ${setAside}. Release it with: ${releaseCommand(sessionId, cluster)}`
            : `is paused: restate invocations resume ${pausedInvocation}`
          : 'running'
  return [many(turns, 'turn'), ...(usd > 0 ? [money(usd)] : []), stands].join(', ')
}
