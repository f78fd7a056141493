import { forgetAnswers, readAnswers, type SessionJournal } from '@halting/journal'
import type { Session } from '@halting/core/session'
import { endings } from '@halting/core'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { sessionScope } from '@halting/agent/session-settings'
import { waitingCalls } from '@halting/analysis/transcript'

/** A request to a session, and what to do after the session accepted it. */
export interface SessionRequest {
  readonly ask: (session: Session) => void
  readonly afterwards?: () => Promise<void>
}

export interface ContinueOptions {
  readonly sessionId: string
  readonly flags: Flags
}

/**
 * How a session continues without a new prompt (spec R-SESS-3). An unfinished run continues; pending calls are answered;
 * a run that ended at a limit, or because the service failed, continues in a new run.
 * @throws UsageError if a prompt or an answer is needed.
 */
export async function continueSession(
  journal: SessionJournal,
  { sessionId, flags }: ContinueOptions,
  program: Program,
): Promise<SessionRequest> {
  const last = journal.ended.at(-1)
  if (journal.open !== undefined) return { ask: (session) => session.resume() }
  if (last === undefined) throw promptNeeded(sessionId, 'it has no prompt yet')
  if (journal.isRewound === true) throw promptNeeded(sessionId, 'its conversation was rewound')
  const { reason } = last.terminal
  const { continuesWith } = endings[reason]
  if (continuesWith === 'answers') {
    const place = { ...sessionScope(program), sessionId }
    const answers = await readAnswers(place, last.runId)
    const calls = waitingCalls(journal)
    if (!calls.some(({ id }) => answers[id] !== undefined)) {
      const commands = calls.map(({ id }) => `  halting approve ${sessionId} ${id}`)
      throw new UsageError(
        `The session waits for permission: ${calls.map(({ name }) => name).join(', ')}. Approve each call (or use halting deny), then resume:\n${commands.join('\n')}`,
      )
    }
    const stillOpen = Object.fromEntries(calls.map(({ id, message }) => [id, { behavior: 'ask', message } as const]))
    const { permissionMode, dangerouslySkipPermissions } = flags
    // A plan waits in plan mode only. A denial leaves that mode, and only an approval ends it (spec R-PLAN-3).
    const isPlanned = calls.some(({ name }) => name === 'ExitPlanMode')
    const isInPlan = isPlanned && permissionMode === undefined && dangerouslySkipPermissions !== true
    return {
      ask(session) {
        if (isInPlan) session.set({ permissionMode: 'plan' })
        session.approve({ ...stillOpen, ...answers })
      },
      afterwards: () => forgetAnswers(place),
    }
  }
  if (continuesWith === 'nothing') return { ask: (session) => session.resume() }
  throw promptNeeded(sessionId, `its last run ended (${reason})`)
}

function promptNeeded(sessionId: string, why: string): UsageError {
  return new UsageError(
    `The session ${sessionId} cannot continue without a prompt: ${why}. Add one: halting --resume ${sessionId} -p "PROMPT"`,
  )
}
