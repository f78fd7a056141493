import { type Flags, wantsJson } from '../flags/flags.ts'
import { many, money, oneLine, told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import type { ListedSession } from './client.ts'
import { clusterOf } from './of-cluster.ts'

/** `halting sessions --cluster URL`: what stands with every session of a cluster; those that go on come first. */
export async function listOfCluster(
  flags: Flags,
  [doing = 'list', ...more]: readonly string[],
  { output }: Program,
): Promise<number> {
  if (doing !== 'list' || more.length > 0)
    throw new UsageError('Of a cluster there is the list: halting sessions --cluster URL. halting why tells of one.')
  const found = (await clusterOf(flags).list()).toSorted(
    (a, b) => Number(a.state === 'idle') - Number(b.state === 'idle') || a.sessionId.localeCompare(b.sessionId),
  )
  if (wantsJson(flags)) output.out(`${JSON.stringify({ sessions: found })}\n`)
  else if (found.length === 0) output.err(told(`the cluster ${flags.cluster} has no session.`))
  else output.out(found.map((session) => `${oneLine(session.sessionId, 100)}  ${factsOf(session)}\n`).join(''))
  return 0
}

function factsOf({ state, reason, turns, usd, questions }: ListedSession): string {
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
