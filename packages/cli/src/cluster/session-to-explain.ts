import type { AnySession } from '@halting/analysis/sessions'
import type { Flags } from '../flags/flags.ts'
import { programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { readClusterSession, stallReason } from './cluster-client.ts'
import { withStallNotice } from './stall-notice.ts'

/**
 * Reads a cluster session for `halting why`. Prints a note if its work is stalled or no worker answers.
 * @throws UsageError if the cluster does not have it
 */
export async function sessionToExplain(
  flags: Flags,
  sessionId: string | undefined,
  program: Program,
): Promise<AnySession> {
  const note = (text: string): void => program.output.err(programMessage(text))
  const session = await withStallNotice(readClusterSession(flags, sessionId, program), {
    flags,
    sessionId: sessionId ?? '',
    note,
  })
  const stalled = await stallReason(flags, session.sessionId, program).catch(() => undefined)
  if (stalled !== undefined) note(`this session is stalled. ${stalled}`)
  return session
}
