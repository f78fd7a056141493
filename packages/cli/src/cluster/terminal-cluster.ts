import type { Session } from '@halting/core/session'
import { foldSession, splitRuns } from '@halting/core/steps'
import type { FlagName, Flags } from '../flags/flags.ts'
import { oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { recordedTranscript } from '@halting/analysis/transcript'
import { entriesIn } from '../terminal/app/transcript-entries.ts'
import type { OpenSession, ClusterConnection, CustomCommand } from '../terminal/app/context.ts'
import { sessionFacts } from './list-text.ts'
import { clusterAnswer, clusterClient } from './cluster-client.ts'
import { waitForSnapshot, openRemoteSession } from './remote-session.ts'
import { clusterResumeCommand } from './resume-command.ts'
import { readSessionPage } from './session-pages.ts'

/** Flags that the interactive program supports in addition. */
const supportedFlags: readonly FlagName[] = ['theme', 'noAnimation', 'forkSession', 'quiet', 'verbose']

/** The same number as for local sessions. */
const maxOfferedSessions = 200

/** Sessions of a cluster, for the interactive program. */
export interface TerminalCluster extends ClusterConnection {
  open(flags: Flags, program: Program): Promise<OpenSession>
  /** The location of a session: the cluster, and the folder on its worker once it is known. */
  locationOf(session: Session | undefined): string
  /** A hint how to resume the session; '' if it has no prompt yet. */
  resumeHint(session: Session): string
}

export function terminalCluster(url: string, admin: string | undefined): TerminalCluster {
  const openedSessions = new Map<string, { hasBegun: boolean; isRunning: boolean }>()
  return {
    url,
    async sessions() {
      const flags = { cluster: url, ...(admin !== undefined && { admin }) }
      const { sessions, total } = await readSessionPage(flags, { limit: maxOfferedSessions })
      const now = Date.now()
      return {
        sessions: sessions.map((each) => ({ sessionId: each.sessionId, facts: sessionFacts(each, now) })),
        total,
      }
    },
    async open(flags, program) {
      const {
        session,
        client,
        recordCount: since,
        isNew,
      } = await openRemoteSession(await withFork(flags, program), program, {
        supportedFlags,
        // The screen shows the same information.
        note: () => undefined,
      })
      const progress = { hasBegun: !isNew, isRunning: false }
      openedSessions.set(session.id, progress)
      let commands: readonly CustomCommand[] = []
      const follow = (): void =>
        void session.listen((event) => {
          if (event.type === 'message' && event.message.type === 'system' && event.message.subtype === 'init')
            commands = (event.message.slash_commands ?? []).map((name) => ({ name, description: '' }))
          if (event.type === 'closed') return
          progress.isRunning = session.snapshot.status !== 'idle'
          progress.hasBegun ||= progress.isRunning
        })
      if (!isNew) await waitForSnapshot(session)
      return {
        session,
        get commands() {
          return commands
        },
        async earlierEntries() {
          const records = isNew ? [] : await client.records(session.id)
          // Later events are emitted, including those of a running turn.
          follow()
          return [...recordedTranscript(foldSession(splitRuns(records.slice(0, since))))]
        },
        entries: async () => entriesIn(splitRuns(await client.records(session.id))),
        // The worker resolves commands and files.
        prepare: async (text) => ({ content: text }),
        redact: (text) => text,
        explain: () => ({ parts: [] }),
        local: undefined,
      }
    },
    locationOf(session) {
      const folder = session?.snapshot.cwd.split('/').at(-1) ?? ''
      return `${new URL(url).host}${folder === '' ? '' : ` …/${oneLine(folder, 20)}`}`
    },
    resumeHint({ id }) {
      const { hasBegun, isRunning } = openedSessions.get(id) ?? { hasBegun: false, isRunning: false }
      if (!hasBegun) return ''
      const command = clusterResumeCommand(id, url)
      return isRunning ? `The run continues on the cluster. Resume: ${command}\n` : `Resume: ${command}\n`
    },
  }
}

/** With `--fork-session`, copies the session first and resumes the copy. */
async function withFork(allFlags: Flags, program: Program): Promise<Flags> {
  const { forkSession, ...flags } = allFlags
  const { resume } = flags
  if (forkSession !== true || resume === undefined || resume === '') return allFlags
  return { ...flags, resume: await clusterAnswer(flags, clusterClient(flags, program).fork(resume)) }
}
