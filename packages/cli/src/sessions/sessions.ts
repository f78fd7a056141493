import { SessionIndex, sessionsOf, storedSessions } from '@halting/journal'
import { summariesOf, type SessionSummary } from '@halting/analysis/sessions'
import type { Flags } from '../flags/flags.ts'
import { nearest } from '../flags/nearest.ts'
import { oneLine, programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { sessionScope } from '@halting/agent/session-settings'
import { UsageError } from '../usage-error.ts'
import { refuseFlagsOf } from './flag-owners.ts'
import { sessionJson, sessionLines } from './session-text.ts'

const subcommands = ['list', 'show', 'search', 'delete', 'export', 'copy', 'release'] as const

/** `halting sessions`: lists and manages stored sessions. Makes no request and needs no key. */
export async function sessions(
  flags: Flags,
  [subcommand = 'list', argument, ...more]: readonly string[],
  program: Program,
): Promise<number> {
  if (flags.cluster !== undefined) {
    const { sessionsOnCluster } = await import('../cluster/sessions.ts')
    return sessionsOnCluster(flags, [subcommand, ...(argument === undefined ? [] : [argument]), ...more], program)
  }
  refuseWithoutCluster(flags)
  if (more.length > 0)
    throw new UsageError(`halting sessions ${subcommand} takes one argument; put a text with spaces in quotes.`)
  if (subcommand !== 'export')
    refuseFlagsOf('export', { '--format': flags.format, '--output': flags.output, '--force': flags.force })
  if (subcommand !== 'copy') refuseFlagsOf('copy', { '--to': flags.to })
  switch (subcommands.find((known) => known === subcommand)) {
    case 'list':
      if (argument !== undefined)
        throw new UsageError(
          'halting sessions list takes no argument. To find a text in sessions: halting sessions search TEXT',
        )
      return listSessions(flags, program)
    case 'show': {
      const { showSession } = await import('./show-and-search.ts')
      return showSession(flags, requiredArgument(argument, 'show ID'), program)
    }
    case 'search': {
      const { searchSessions } = await import('./show-and-search.ts')
      return searchSessions(
        flags,
        requiredArgument(argument, 'search TEXT'),
        await readSummaries(flags, program),
        program,
      )
    }
    case 'delete': {
      const { deleteStoredSession } = await import('./remove.ts')
      return deleteStoredSession(flags, requiredArgument(argument, 'delete ID --yes'), program)
    }
    case 'export': {
      const { exportSession } = await import('../export/export.ts')
      return exportSession(flags, requiredArgument(argument, 'export SESSION'), program)
    }
    case 'copy': {
      const { copySessions } = await import('./copy.ts')
      return copySessions(flags, argument, program)
    }
    case 'release':
      throw new UsageError(
        'halting sessions release needs the address of the cluster: --cluster http://127.0.0.1:8080. Sessions on this machine are never set aside.',
      )
    case undefined: {
      const meant = nearest(subcommand, subcommands)
      throw new UsageError(
        `halting sessions ${oneLine(subcommand, 40)} is not a command.${meant === undefined ? '' : ` Did you mean ${meant}?`} Commands: ${subcommands.join(', ')}.`,
      )
    }
  }
}

/** `--resume` without an ID: lists the sessions and how to resume one. Nothing runs, so the exit code is 2. */
export async function printResumableSessions(program: Program): Promise<number> {
  const found = await readSummaries({}, program)
  program.output.out(sessionLines(found, program.output.width))
  const [newest] = found
  program.output.err(
    programMessage(
      newest === undefined
        ? 'This folder has no sessions; halting -p starts one.'
        : `Name a session: halting --resume ${newest.sessionId} -p "PROMPT"; --continue resumes the newest.`,
    ),
  )
  return 2
}

/** @throws UsageError for a flag that only applies to clusters */
function refuseWithoutCluster({ limit, cursor, state, olderThan, tenant }: Flags): void {
  const clusterFlags = {
    '--limit': limit,
    '--cursor': cursor,
    '--state': state,
    '--older-than': olderThan,
    '--tenant': tenant,
  }
  const [flag] = Object.entries(clusterFlags).find(([, value]) => value !== undefined) ?? []
  if (flag !== undefined) throw new UsageError(`${flag} needs --cluster URL: it is about sessions of a cluster.`)
}

function requiredArgument(argument: string | undefined, usage: string): string {
  if (argument !== undefined && argument.trim() !== '') return argument
  throw new UsageError(`halting sessions ${usage} needs a value.`)
}

async function readSummaries({ all }: Flags, program: Program): Promise<readonly SessionSummary[]> {
  const files = await storedSessions(sessionScope(program), all === true ? 'all' : 'of this folder')
  return summariesOf(files, new SessionIndex(sessionsOf(sessionScope(program)).base))
}

async function listSessions(flags: Flags, program: Program): Promise<number> {
  const found = await readSummaries(flags, program)
  const { output } = program
  if (flags.json === true) output.out(`${JSON.stringify({ sessions: found.map(sessionJson) })}\n`)
  else if (found.length > 0) output.out(sessionLines(found, output.width))
  else output.err(programMessage(flags.all === true ? 'no sessions found.' : 'no sessions found in this folder.'))
  return 0
}
