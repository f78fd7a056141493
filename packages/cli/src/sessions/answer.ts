import { noteAnswer } from '@halting/journal'
import { updatesOfPersonTool } from '@halting/policy'
import type { PermissionDecision } from '@halting/core'
import { deniedByUser } from '@halting/core/adapters'
import { foldSession } from '@halting/core/steps'
import type { Flags } from '../flags/flags.ts'
import { nearest } from '../flags/nearest.ts'
import { oneLine } from '../io/figures.ts'
import { revealHiddenInLine } from '../io/reveal-hidden.ts'
import type { Program } from '../program.ts'
import { findSession, readSession } from '../stored-sessions/find-session.ts'
import { sessionScope } from '@halting/agent/session-settings'
import { type WaitingCall, waitingCalls } from '@halting/analysis/transcript'
import { UsageError } from '../usage-error.ts'

/**
 * `halting approve SESSION TOOL_USE_ID` and `halting deny …`: stores an answer to a pending call (spec R-SESS-7).
 * Nothing runs: `--resume SESSION` continues when all calls have answers.
 */
export async function answer(
  command: 'approve' | 'deny',
  flags: Flags,
  words: readonly string[],
  program: Program,
): Promise<number> {
  if (flags.cluster !== undefined) {
    const { answerOnCluster } = await import('../cluster/answer.ts')
    return answerOnCluster(command, flags, words, program)
  }
  const { message } = flags
  const [session, callId, ...more] = words
  if (session === undefined || more.length > 0)
    throw new UsageError(`Name the session and the call: halting ${command} SESSION TOOL_USE_ID.`)
  const file = await findSession(session, program)
  const { sessionId } = file
  const journal = await readSession(file.path)
  const folded = foldSession(journal.runs)
  const calls = waitingCalls(folded)
  const run = folded.ended.at(-1)?.runId ?? ''
  const call = findWaitingCall(calls, callId, { command, sessionId })
  const decision =
    command === 'approve' ? approvalOf(call.name) : ({ behavior: 'deny', message: message ?? deniedByUser } as const)
  const answers = await noteAnswer({ ...sessionScope(program), cwd: journal.cwd, sessionId }, run, call.id, decision)
  const open = calls.filter(({ id }) => answers[id] === undefined)
  const next =
    open.length === 0
      ? `Resume: halting -p --resume ${sessionId} --on-ask defer`
      : `Still waiting for an answer: ${open.map(({ id, name }) => `${name} ${id}`).join(', ')}`
  program.output.out(
    `${command === 'approve' ? 'Approved' : 'Denied'}: ${revealHiddenInLine(`${call.name}: ${call.message}`, 300)}\n${next}\n`,
  )
  return 0
}

/** Approving a plan also ends plan mode. */
function approvalOf(name: string): PermissionDecision {
  const [update] = updatesOfPersonTool(name)
  return { behavior: 'allow', ...(update !== undefined && { updatedPermissions: [update] }) }
}

function findWaitingCall(
  calls: readonly WaitingCall[],
  callId: string | undefined,
  { command, sessionId }: { readonly command: string; readonly sessionId: string },
): WaitingCall {
  if (calls.length === 0) throw new UsageError(`No tool call of session ${sessionId} is waiting for an answer.`)
  const found = calls.find(({ id }) => id === callId)
  if (found !== undefined) return found
  const ids = calls.map(({ id }) => id)
  const meant = callId === undefined ? undefined : nearest(callId, ids, 4)
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`
  throw new UsageError(
    callId === undefined
      ? `Name the call: halting ${command} ${sessionId} ${ids.join('|')}.`
      : `No call ${oneLine(callId, 60)} is waiting in session ${sessionId}.${hint} Waiting calls: ${ids.join(', ')}.`,
  )
}
