import { programNames, type ForeignSession } from '@halting/analysis/foreign'
import type { AnySession } from '@halting/analysis/sessions'
import { sessionContinuation } from '@halting/analysis/why'
import { whose } from '@halting/agent/session-settings'
import { shellQuoted } from '../io/shell-quote.ts'
import type { Program } from '../program.ts'
import { recordedTerms } from './recorded-terms.ts'
import { answeredGoOn, goOn, type GoOn, type Where } from './go-on.ts'

/** What has a session go on, and a command only where that does what it says. */
export async function wayOn(session: AnySession, path: string, program: Program): Promise<GoOn> {
  const continuation = await sessionContinuation(session, path, whose(program))
  const { sessionId, cwd: sessionCwd } = session
  const where: Where = { sessionId, sessionCwd, cwd: program.cwd }
  switch (continuation.kind) {
    case 'move-file': {
      const { foreign } = continuation
      const whoseFile = foreign === undefined ? 'this program' : programNames[foreign.program]
      return {
        says: `--resume does not find this file. Move it to the sessions folder of ${whoseFile} to continue it.`,
      }
    }
    case 'copy':
      return goOnForeign(continuation.foreign, where)
    case 'rewound':
      return { says: 'Its conversation was rewound. Continue it with --resume and a prompt.' }
    case 'answered':
      return answeredGoOn(where)
    case 'ending':
      return goOn(continuation.terminal, { ...where, ...recordedTerms(session.runs) })
  }
}

/** It goes on in a session of ours, with a copy of what was said. */
function goOnForeign({ program }: ForeignSession, { sessionId, sessionCwd, cwd }: Where): GoOn {
  const command = `halting ${shellQuoted(['-p', '--resume', sessionId, 'Continue.'])}`
  return {
    says: `Continue with a copy; the file of ${programNames[program]} stays unchanged:`,
    command: sessionCwd === cwd || sessionCwd === '' ? command : `cd ${shellQuoted([sessionCwd])} && ${command}`,
  }
}
