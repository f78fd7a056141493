import type { SessionStatus } from '@halting/restate'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { many, money, oneLine, told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { adminOf } from './admin-address.ts'
import { askEngine } from './engine-request.ts'

/** A row of the list of sessions. */
interface ListedSession extends SessionStatus {
  readonly sessionId: string
}

const query = `select service_key, value_utf8 from state where service_name = 'halting_session' and key = 'status'`

/** What is kept of all sessions, by the engine's own query language. @throws UsageError that says what is the matter, and where. */
export async function sessionsOfCluster(flags: Pick<Flags, 'cluster' | 'admin'>): Promise<readonly ListedSession[]> {
  // What the engine answers to this query.
  const { rows } = (await askEngine({ url: new URL('/query', adminOf(flags)), body: { query } })) as {
    readonly rows: readonly { readonly service_key: string; readonly value_utf8: string }[]
  }
  return rows.map((row) => ({
    sessionId: row.service_key,
    // Only the object of a session writes it.
    ...(JSON.parse(row.value_utf8) as SessionStatus),
  }))
}

/** `halting sessions --cluster URL`: what stands with every session of a cluster; those that go on come first. */
export async function listOfCluster(
  flags: Flags,
  [doing = 'list', ...more]: readonly string[],
  { output }: Program,
): Promise<number> {
  if (doing !== 'list' || more.length > 0)
    throw new UsageError('Of a cluster there is the list: halting sessions --cluster URL. halting why tells of one.')
  const found = (await sessionsOfCluster(flags)).toSorted(
    (a, b) => Number(a.state === 'idle') - Number(b.state === 'idle') || a.sessionId.localeCompare(b.sessionId),
  )
  if (wantsJson(flags)) output.out(`${JSON.stringify({ sessions: found })}\n`)
  else if (found.length === 0) output.err(told(`the cluster ${flags.cluster} has no session.`))
  else output.out(found.map((session) => `${oneLine(session.sessionId, 100)}  ${factsOf(session)}\n`).join(''))
  return 0
}

/** What stands with a session, in one line. */
export function factsOf({ state, reason, turns, usd, questions }: ListedSession): string {
  const stands =
    state === 'requires_action'
      ? `waits for an answer: ${questions.map(({ callId }) => callId).join(', ')}`
      : state === 'idle'
        ? (reason ?? 'nothing was run')
        : state === 'paused'
          ? 'is paused'
          : 'goes on'
  return [many(turns, 'turn'), ...(usd > 0 ? [money(usd)] : []), stands].join(', ')
}
