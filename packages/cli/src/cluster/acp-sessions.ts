import { foldSession, splitRuns } from '@halting/core/steps'
import type { FlagName, Flags } from '../flags/flags.ts'
import { invalidParamsError } from '../acp/errors.ts'
import type { OpenedSession, SessionOpener, OpenSessionRequest } from '../acp/session-opener.ts'
import { withImages } from '../acp/prompt-content.ts'
import { programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { recordedTranscript } from '@halting/analysis/transcript'
import { checkMode } from '../frontends/check-mode.ts'
import { clusterAnswer, clusterClient } from './cluster-client.ts'
import { waitForSnapshot, openRemoteSession } from './remote-session.ts'
import { clusterResumeCommand } from './resume-command.ts'
import { InvalidCursorError, readSessionPage } from './session-pages.ts'

/** Flags that this frontend supports in addition to those that open a session. */
const supportedFlags: readonly FlagName[] = ['verbose', 'permissionMode']

const pageSize = 50

/** Opens sessions on the cluster that the flags name, for an editor (spec R-ACP-17). */
export function clusterSessionOpener(flags: Flags, program: Program): SessionOpener {
  /** By session ID, the number of records whose conversation was last sent to the editor. */
  const recordsSent = new Map<string, number>()
  const open = new Map<string, OpenedSession['session']>()
  return {
    async open(request) {
      const opened = await openOnCluster(request, { flags, program, since: recordsSent.get(request.resume ?? '') })
      const { session } = opened
      open.set(session.id, session)
      session.listen(({ type }) => {
        if (type === 'closed') open.delete(session.id)
      })
      return opened
    },
    exitNotes: () =>
      [...open.values()]
        .filter(({ snapshot }) => snapshot.status !== 'idle')
        .map(({ id }) => `a run continues on the cluster. Resume: ${clusterResumeCommand(id, flags.cluster ?? '')}`),
    async history(sessionId) {
      const records = await clusterAnswer(flags, clusterClient(flags, program).records(sessionId))
      if (records.length === 0) return undefined
      recordsSent.set(sessionId, records.length)
      // Records of a turn that is still running are also sent as the turn continues.
      return { entries: [...recordedTranscript(foldSession(splitRuns(records)))] }
    },
    async list({ cwd, cursor }) {
      const request = { limit: pageSize, ...(typeof cursor === 'string' && { cursor }) }
      const page = await readSessionPage(flags, request).catch((error: unknown) => {
        if (error instanceof InvalidCursorError) return undefined
        throw error
      })
      if (page === undefined) return undefined
      const { sessions, nextCursor } = page
      return {
        sessions: sessions.map(({ sessionId }) => ({ sessionId, cwd: cwd ?? program.cwd })),
        ...(nextCursor !== undefined && { nextCursor }),
      }
    },
    async remove() {
      throw invalidParamsError(
        'An editor cannot delete sessions of a cluster. Close the session instead; it stays on the cluster.',
      )
    },
  }
}

interface OpenContext {
  readonly flags: Flags
  readonly program: Program
  readonly since: number | undefined
}

async function openOnCluster(
  { cwd, additionalDirectories, servers, resume }: OpenSessionRequest,
  { flags, program, since }: OpenContext,
): Promise<OpenedSession> {
  if (servers.length > 0)
    throw invalidParamsError(
      'A session on a cluster uses the MCP servers of its worker. Remove mcpServers; use halting serve --mcp-config.',
    )
  if (additionalDirectories.length > 0)
    throw invalidParamsError('A session on a cluster uses the folders of its worker. Remove additionalDirectories.')
  const notes = [`The session is on the cluster ${flags.cluster} and works in its own folder there, not in ${cwd}.`]
  const { permissionMode } = flags
  const { session } = await openRemoteSession({ ...flags, ...(resume !== undefined && { resume }) }, program, {
    supportedFlags,
    note: (text) => notes.push(text),
    ...(since !== undefined && { since }),
  })
  if (permissionMode !== undefined) session.set({ permissionMode: checkMode(permissionMode, session.snapshot) })
  if (resume !== undefined) await waitForSnapshot(session)
  for (const text of notes) program.output.err(programMessage(text))
  return {
    session,
    commands: () => [],
    models: [],
    prepare: ({ text: said, rest, images }) => Promise.resolve({ content: withImages(said + rest, images) }),
    onNote(listener) {
      for (const text of notes.splice(0)) listener(text)
    },
  }
}
