import { SessionIndex, sessionsOf, storedSessions } from '@halting/journal'
import { summariesOf, type SessionSummary } from '@halting/analysis/sessions'
import type { Flags } from '../flags/flags.ts'
import { nearest } from '../flags/nearest.ts'
import { oneLine, told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { whose } from '@halting/agent/session-settings'
import { UsageError } from '../usage-error.ts'
import { refuseOf } from './flag-owners.ts'
import { factsOf, linesOf } from './session-text.ts'

const doings = ['list', 'show', 'search', 'delete', 'export', 'copy', 'release'] as const

/** `halting sessions`: what is kept. Asks no model, needs no key. */
export async function sessions(
  flags: Flags,
  [doing = 'list', about, ...more]: readonly string[],
  program: Program,
): Promise<number> {
  if (flags.cluster !== undefined) {
    const { sessionsOnCluster } = await import('../cluster/sessions.ts')
    return sessionsOnCluster(flags, [doing, ...(about === undefined ? [] : [about]), ...more], program)
  }
  refuseWithoutCluster(flags)
  if (more.length > 0)
    throw new UsageError(`halting sessions ${doing} takes one argument; put a text with spaces in quotes.`)
  if (doing !== 'export')
    refuseOf('export', { '--format': flags.format, '--output': flags.output, '--force': flags.force })
  if (doing !== 'copy') refuseOf('copy', { '--to': flags.to })
  switch (doings.find((known) => known === doing)) {
    case 'list':
      if (about !== undefined)
        throw new UsageError(
          'halting sessions list takes no argument. To find a text in sessions: halting sessions search TEXT',
        )
      return list(flags, program)
    case 'show': {
      const { show } = await import('./read.ts')
      return show(flags, needed(about, 'show ID'), program)
    }
    case 'search': {
      const { search } = await import('./read.ts')
      return search(flags, needed(about, 'search TEXT'), await summaries(flags, program), program)
    }
    case 'delete': {
      const { remove } = await import('./remove.ts')
      return remove(flags, needed(about, 'delete ID --yes'), program)
    }
    case 'export': {
      const { exportSession } = await import('../export/export.ts')
      return exportSession(flags, needed(about, 'export SESSION'), program)
    }
    case 'copy': {
      const { copySessions } = await import('./copy.ts')
      return copySessions(flags, about, program)
    }
    case 'release':
      throw new UsageError(
        'halting sessions release needs the address of the cluster: --cluster http://127.0.0.1:8080. Sessions on this machine are never set aside.',
      )
    case undefined: {
      const meant = nearest(doing, doings)
      throw new UsageError(
        `halting sessions ${oneLine(doing, 40)} is not a command.${meant === undefined ? '' : ` Did you mean ${meant}?`} Commands: ${doings.join(', ')}.`,
      )
    }
  }
}

/** `--resume` without an id: which there are, and what to type. It runs nothing, so its exit code is 2. */
export async function tellWhatToResume(program: Program): Promise<number> {
  const found = await summaries({}, program)
  program.output.out(linesOf(found, program.output.width))
  const [newest] = found
  program.output.err(
    told(
      newest === undefined
        ? 'This folder has no sessions; halting -p starts one.'
        : `Name a session: halting --resume ${newest.sessionId} -p "PROMPT"; --continue resumes the newest.`,
    ),
  )
  return 2
}

/** @throws UsageError for a flag of lists of a cluster. */
function refuseWithoutCluster({ limit, cursor, state, olderThan, tenant }: Flags): void {
  const given = {
    '--limit': limit,
    '--cursor': cursor,
    '--state': state,
    '--older-than': olderThan,
    '--tenant': tenant,
  }
  const [flag] = Object.entries(given).find(([, value]) => value !== undefined) ?? []
  if (flag !== undefined) throw new UsageError(`${flag} needs --cluster URL: it is about sessions of a cluster.`)
}

function needed(about: string | undefined, usage: string): string {
  if (about !== undefined && about.trim() !== '') return about
  throw new UsageError(`halting sessions ${usage} needs a value.`)
}

async function summaries({ all }: Flags, program: Program): Promise<readonly SessionSummary[]> {
  const files = await storedSessions(whose(program), all === true ? 'all' : 'of this folder')
  return summariesOf(files, new SessionIndex(sessionsOf(whose(program)).base))
}

async function list(flags: Flags, program: Program): Promise<number> {
  const found = await summaries(flags, program)
  const { output } = program
  if (flags.json === true) output.out(`${JSON.stringify({ sessions: found.map(factsOf) })}\n`)
  else if (found.length > 0) output.out(linesOf(found, output.width))
  else output.err(told(flags.all === true ? 'no sessions found.' : 'no sessions found in this folder.'))
  return 0
}
