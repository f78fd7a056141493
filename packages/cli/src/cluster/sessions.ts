import type { FullStatus } from '@halting/restate/client'
import { refuseFlagsOf } from '../sessions/flag-owners.ts'
import { wantsJson, type Flags } from '../flags/flags.ts'
import { nearest } from '../flags/nearest.ts'
import { oneLine, counted, programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { clusterAnswer, clusterClient, unknownSessionError } from './cluster-client.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import { resolveMoment } from '../report/period.ts'
import { sessionTable } from './list-text.ts'
import { readSessionPage, type PageRequest, type SessionPage } from './session-pages.ts'

const subcommands = ['list', 'delete', 'export', 'release'] as const

/** `halting sessions … --cluster URL`. */
export async function sessionsOnCluster(
  flags: Flags,
  [subcommand = 'list', argument, ...more]: readonly string[],
  program: Program,
): Promise<number> {
  if (more.length > 0) throw new UsageError(`halting sessions ${oneLine(subcommand, 40)} takes one argument.`)
  if (subcommand !== 'list') refuseListFlags(flags)
  switch (subcommands.find((known) => known === subcommand)) {
    case 'list':
      if (argument !== undefined) throw new UsageError('halting sessions list takes no argument.')
      refuseFlagsOf('export', { '--format': flags.format, '--output': flags.output, '--force': flags.force })
      return listClusterSessions(flags, program)
    case 'delete':
      refuseFlagsOf('export', { '--format': flags.format, '--output': flags.output })
      return deleteOnCluster(flags, requiredArgument(argument, 'delete ID --yes'), program)
    case 'export': {
      const { exportSession } = await import('../export/export.ts')
      return exportSession(flags, requiredArgument(argument, 'export SESSION'), program)
    }
    case 'release': {
      const { releaseOnCluster } = await import('./release.ts')
      return releaseOnCluster(flags, argument === undefined ? [] : [argument], program)
    }
    case undefined: {
      const meant = nearest(subcommand, subcommands)
      throw new UsageError(
        `With --cluster, halting sessions ${oneLine(subcommand, 40)} is not a command.${meant === undefined ? '' : ` Did you mean ${meant}?`} Commands: ${subcommands.join(', ')}.`,
      )
    }
  }
}

/** @throws UsageError for a flag that only filters the list */
function refuseListFlags({ limit, cursor, state, olderThan, tenant }: Flags): void {
  refuseFlagsOf('list', {
    '--limit': limit,
    '--cursor': cursor,
    '--state': state,
    '--older-than': olderThan,
    '--tenant': tenant,
  })
}

function requiredArgument(argument: string | undefined, usage: string): string {
  if (argument !== undefined && argument.trim() !== '') return argument
  throw new UsageError(`halting sessions ${usage} needs a value.`)
}

/** Maximum time for work to end before a forced deletion. */
const endTimeoutMs = 30_000
const checkIntervalMs = 200

/** Deletes a session that is idle; with `--force`, ends its work first. */
async function deleteOnCluster(flags: Flags, id: string, program: Program): Promise<number> {
  const { yes, force } = flags
  const client = clusterClient(flags, program)
  const status = await clusterAnswer(flags, client.status(id))
  const name = oneLine(id, 100)
  if (isEmpty(status)) throw unknownSessionError(flags, id)
  if (yes !== true)
    throw new UsageError(
      `This deletes the session ${name} permanently: its records, what is stored of them elsewhere, and its folder on the worker. Add --yes to confirm.`,
    )
  if (isAtWork(status) && force !== true)
    throw new UsageError(
      `The session ${name} ${status.state === 'requires_action' ? 'waits for an answer' : 'is running'}. Answer or interrupt it first, or add --force to end its work and delete it.`,
    )
  if (status.stalled !== undefined) {
    const { killStoppedWork } = await import('./release.ts')
    await killStoppedWork(flags, id)
  } else if (isAtWork(status)) {
    await clusterAnswer(flags, client.close(id))
    await waitUntilIdle(() => clusterAnswer(flags, client.status(id)), name)
  }
  await clusterAnswer(flags, client.remove(id))
  program.output.out(`Deleted: ${name}\n`)
  return 0
}

/** Whether the session has no records and no requests. */
function isEmpty({ records, isWorking, isClosed, waiting }: FullStatus): boolean {
  return records === 0 && !isWorking && !isClosed && waiting === 0
}

function isAtWork({ isWorking, waiting }: FullStatus): boolean {
  return isWorking || waiting > 0
}

async function waitUntilIdle(readStatus: () => Promise<FullStatus>, name: string): Promise<void> {
  const deadline = Date.now() + endTimeoutMs
  while (isAtWork(await readStatus())) {
    if (Date.now() > deadline)
      throw new UsageError(
        `The work at the session ${name} did not end within ${endTimeoutMs / 1_000} s, so it was not deleted. It is closed and accepts nothing more. Check that a worker is running, and delete it again later.`,
      )
    await new Promise((resolve) => setTimeout(resolve, checkIntervalMs))
  }
}

const defaultPageSize = 50

/** `halting sessions --cluster URL`: prints one page of the cluster's sessions. */
export async function listClusterSessions(flags: Flags, program: Program): Promise<number> {
  const { output } = program
  const now = Date.now()
  const page = await readSessionPage(flags, pageRequest(flags, now))
  const { sessions, nextCursor } = page
  if (wantsJson(flags)) {
    output.out(`${JSON.stringify({ sessions, total: page.total, ...(nextCursor !== undefined && { nextCursor }) })}\n`)
    return 0
  }
  if (sessions.length > 0) output.out(sessionTable(sessions, now, output.width))
  const says = pageText(page, flags, program)
  if (says !== '') output.err(programMessage(says))
  return 0
}

function pageRequest({ limit = defaultPageSize, cursor, state, tenant, olderThan }: Flags, now: number): PageRequest {
  return {
    limit,
    ...(cursor !== undefined && { cursor }),
    ...(state !== undefined && { state }),
    ...(tenant !== undefined && { tenant }),
    ...(olderThan !== undefined && { changedBefore: resolveMoment(olderThan, now) }),
  }
}

/** A note about empty results, or the command for the next page. */
function pageText({ sessions, total, nextCursor }: SessionPage, flags: Flags, { argv }: Program): string {
  const { state, tenant, olderThan, cursor, cluster } = flags
  const isNarrowed = [state, tenant, olderThan, cursor].some((each) => each !== undefined)
  if (sessions.length === 0)
    return isNarrowed
      ? `no ${cursor === undefined ? '' : 'more '}session of the cluster ${cluster} matches.`
      : `the cluster ${cluster} has no session.`
  if (nextCursor === undefined) return ''
  return `${counted(sessions.length)} of ${counted(total)} sessions. Next page: halting ${shellQuoted(withCursor(argv, nextCursor))}`
}

/** The same command line, for the next page. */
function withCursor(argv: readonly string[], next: string): readonly string[] {
  const otherArguments = argv.filter((word, at) => !word.startsWith('--cursor') && argv[at - 1] !== '--cursor')
  return [...otherArguments, '--cursor', next]
}
