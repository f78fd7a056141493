import type { Session } from '@halting/core/session'
import { foldSession, runsOf } from '@halting/core/steps'
import type { FlagName, Flags } from '../flags/flags.ts'
import { oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { recordedTranscript } from '@halting/analysis/transcript'
import { entriesIn } from '../terminal/app/transcript-entries.ts'
import type { OpenSession, ClusterConnection, CustomCommand } from '../terminal/app/context.ts'
import { factsOf } from './list-text.ts'
import { asked, clientOf } from './of-cluster.ts'
import { knownOf, openRemote } from './open-remote.ts'
import { returnCommand } from './return-command.ts'
import { pageOfCluster } from './session-pages.ts'

/** What the interactive program heeds itself. */
const heeded: readonly FlagName[] = ['theme', 'noAnimation', 'forkSession', 'quiet', 'verbose']

/** As many as of this machine are offered to choose from. */
const offeredSessions = 200

/** Sessions of a cluster, for the interactive program. */
export interface ClusterInTerminal extends ClusterConnection {
  open(flags: Flags, program: Program): Promise<OpenSession>
  /** Where a session is: the cluster, and the folder on its worker once that is known. */
  placeOf(session: Session | undefined): string
  /** How one comes back to what was left; '' where nothing was said. */
  comingBack(session: Session): string
}

export function clusterInTerminal(url: string, admin: string | undefined): ClusterInTerminal {
  const left = new Map<string, { hasBegun: boolean; goesOn: boolean }>()
  return {
    url,
    async sessions() {
      const flags = { cluster: url, ...(admin !== undefined && { admin }) }
      const { sessions, total } = await pageOfCluster(flags, { limit: offeredSessions })
      const now = Date.now()
      return { sessions: sessions.map((each) => ({ sessionId: each.sessionId, facts: factsOf(each, now) })), total }
    },
    async open(flags, program) {
      const { session, client, since, isNew } = await openRemote(await chosenIn(flags, program), program, {
        heeded,
        // What is shown of it tells that.
        note: () => undefined,
      })
      const known = { hasBegun: !isNew, goesOn: false }
      left.set(session.id, known)
      let commands: readonly CustomCommand[] = []
      const follow = (): void =>
        void session.listen((event) => {
          if (event.type === 'message' && event.message.type === 'system' && event.message.subtype === 'init')
            commands = (event.message.slash_commands ?? []).map((name) => ({ name, description: '' }))
          if (event.type === 'closed') return
          known.goesOn = session.snapshot.status !== 'idle'
          known.hasBegun ||= known.goesOn
        })
      if (!isNew) await knownOf(session)
      return {
        session,
        get commands() {
          return commands
        },
        async earlierEntries() {
          const records = isNew ? [] : await client.records(session.id)
          // What happened since then is told, and so is the turn that goes on.
          follow()
          return [...recordedTranscript(foldSession(runsOf(records.slice(0, since))))]
        },
        entries: async () => entriesIn(runsOf(await client.records(session.id))),
        // Commands and files are looked up by the worker.
        prepare: async (text) => ({ content: text }),
        redact: (text) => text,
        explain: () => ({ parts: [] }),
        local: undefined,
      }
    },
    placeOf(session) {
      const folder = session?.snapshot.cwd.split('/').at(-1) ?? ''
      return `${new URL(url).host}${folder === '' ? '' : ` …/${oneLine(folder, 20)}`}`
    },
    comingBack({ id }) {
      const { hasBegun, goesOn } = left.get(id) ?? { hasBegun: false, goesOn: false }
      if (!hasBegun) return ''
      const command = returnCommand(id, url)
      return goesOn ? `The run continues on the cluster. Resume: ${command}\n` : `Resume: ${command}\n`
    },
  }
}

/** A copy is a session of its own. */
async function chosenIn(given: Flags, program: Program): Promise<Flags> {
  const { forkSession, ...flags } = given
  const { resume } = flags
  if (forkSession !== true || resume === undefined || resume === '') return given
  return { ...flags, resume: await asked(flags, clientOf(flags, program).fork(resume)) }
}
