import { programNames, type ForeignSession } from '@halting/analysis/foreign'
import type { AnySession } from '@halting/analysis/sessions'
import { sessionContinuation } from '@halting/analysis/why'
import { sessionScope } from '@halting/agent/session-settings'
import { shellQuoted } from '../io/shell-quote.ts'
import type { Program } from '../program.ts'
import { recordedResumeContext } from './recorded-resume-context.ts'
import { resumeAfterAnswers, resumeCommand, type ResumeHint, type ResumeContext } from './resume-command.ts'

/** How to resume a session. Gives a command only if that command would work. */
export async function resumeHint(session: AnySession, path: string, program: Program): Promise<ResumeHint> {
  const continuation = await sessionContinuation(session, path, sessionScope(program))
  const { sessionId, cwd: sessionCwd } = session
  const context: ResumeContext = { sessionId, sessionCwd, cwd: program.cwd }
  switch (continuation.kind) {
    case 'move-file': {
      const { foreign } = continuation
      const whoseFile = foreign === undefined ? 'this program' : programNames[foreign.program]
      return {
        says: `--resume does not find this file. Move it to the sessions folder of ${whoseFile} to continue it.`,
      }
    }
    case 'copy':
      return resumeForeignSession(continuation.foreign, context)
    case 'rewound':
      return { says: 'Its conversation was rewound. Continue it with --resume and a prompt.' }
    case 'answered':
      return resumeAfterAnswers(context)
    case 'ending':
      return resumeCommand(continuation.terminal, { ...context, ...recordedResumeContext(session.runs) })
  }
}

/** Resumes a copy of the conversation in a session of halting. */
function resumeForeignSession({ program }: ForeignSession, { sessionId, sessionCwd, cwd }: ResumeContext): ResumeHint {
  const command = `halting ${shellQuoted(['-p', '--resume', sessionId, 'Continue.'])}`
  return {
    says: `Continue with a copy; the file of ${programNames[program]} stays unchanged:`,
    command: sessionCwd === cwd || sessionCwd === '' ? command : `cd ${shellQuoted([sessionCwd])} && ${command}`,
  }
}
