import type { PermissionDecision } from '@halting/core'
import { deniedByUser } from '@halting/core/adapters'
import type { SessionRequest } from '@halting/restate/client'
import type { Flags } from '../flags/flags.ts'
import { oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { waitingCalls } from '@halting/analysis/transcript'
import { foldSession } from '@halting/core/steps'
import { UsageError } from '../usage-error.ts'
import { clusterAnswer, clusterClient, readClusterSession } from './cluster-client.ts'

/** `halting approve SESSION TOOL_USE_ID --cluster URL`, and `deny`: answers a pending tool call; the session then continues. */
export async function answerOnCluster(
  command: 'approve' | 'deny',
  flags: Flags,
  [sessionId, callId, ...more]: readonly string[],
  program: Program,
): Promise<number> {
  if (sessionId === undefined || callId === undefined || more.length > 0)
    throw new UsageError(`Usage: halting ${command} SESSION TOOL_USE_ID --cluster URL.`)
  const client = clusterClient(flags, program)
  const decision: PermissionDecision =
    command === 'approve' ? { behavior: 'allow' } : { behavior: 'deny', message: flags.message ?? deniedByUser }
  const { questions } = await clusterAnswer(flags, client.status(sessionId))
  const ended =
    questions.length > 0 ? [] : waitingCalls(foldSession((await readClusterSession(flags, sessionId, program)).runs))
  const waiting = [...questions.map((question) => question.callId), ...ended.map(({ id }) => id)]
  if (!waiting.includes(callId))
    throw new UsageError(
      `No call ${oneLine(callId, 60)} waits in the session ${oneLine(sessionId, 100)}.${waiting.length === 0 ? '' : ` Pending: ${waiting.map((id) => oneLine(id, 100)).join(', ')}.`}`,
    )
  // If the run ended at the permission request, the session is resumed with the answer. If it is waiting, the run receives it.
  const request: SessionRequest =
    questions.length === 0
      ? { type: 'approve', approvals: { [callId]: decision } }
      : { type: 'answer', callId, answer: decision }
  await clusterAnswer(flags, client.request(sessionId, request))
  program.output.out(`${command === 'approve' ? 'Approved' : 'Denied'}: ${callId}\n`)
  return 0
}
