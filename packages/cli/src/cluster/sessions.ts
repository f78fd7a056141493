import type { FullStatus } from '@halting/restate/client'
import { refuseOf } from '../sessions/flag-owners.ts'
import { wantsJson, type Flags } from '../flags/flags.ts'
import { nearest } from '../flags/nearest.ts'
import { oneLine, counted, told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { asked, clientOf, unknownSession } from './of-cluster.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import { momentOf } from '../report/period.ts'
import { sessionTable } from './list-text.ts'
import { pageOfCluster, type PageRequest, type SessionPage } from './session-pages.ts'

const doings = ['list', 'delete', 'export', 'release'] as const

/** `halting sessions … --cluster URL`. */
export async function sessionsOnCluster(
  flags: Flags,
  [doing = 'list', about, ...more]: readonly string[],
  program: Program,
): Promise<number> {
  if (more.length > 0) throw new UsageError(`halting sessions ${oneLine(doing, 40)} takes one argument.`)
  if (doing !== 'list') refuseOfLists(flags)
  switch (doings.find((known) => known === doing)) {
    case 'list':
      if (about !== undefined) throw new UsageError('halting sessions list takes no argument.')
      refuseOf('export', { '--format': flags.format, '--output': flags.output, '--force': flags.force })
      return listOfCluster(flags, program)
    case 'delete':
      refuseOf('export', { '--format': flags.format, '--output': flags.output })
      return deleteOnCluster(flags, needed(about, 'delete ID --yes'), program)
    case 'export': {
      const { exportSession } = await import('../export/export.ts')
      return exportSession(flags, needed(about, 'export SESSION'), program)
    }
    case 'release': {
      const { releaseOnCluster } = await import('./release.ts')
      return releaseOnCluster(flags, about === undefined ? [] : [about], program)
    }
    case undefined: {
      const meant = nearest(doing, doings)
      throw new UsageError(
        `With --cluster, halting sessions ${oneLine(doing, 40)} is not a command.${meant === undefined ? '' : ` Did you mean ${meant}?`} Commands: ${doings.join(', ')}.`,
      )
    }
  }
}

/** @throws UsageError for a flag that chooses what is listed. */
function refuseOfLists({ limit, cursor, state, olderThan, tenant }: Flags): void {
  refuseOf('list', {
    '--limit': limit,
    '--cursor': cursor,
    '--state': state,
    '--older-than': olderThan,
    '--tenant': tenant,
  })
}

function needed(about: string | undefined, usage: string): string {
  if (about !== undefined && about.trim() !== '') return about
  throw new UsageError(`halting sessions ${usage} needs a value.`)
}

/** So long work may take to end that somebody wants to end. */
const endsWithinMs = 30_000
const betweenLooksMs = 200

/** Deletes a session that nobody works at; with `--force` its work is ended first. */
async function deleteOnCluster(flags: Flags, id: string, program: Program): Promise<number> {
  const { yes, force } = flags
  const client = clientOf(flags, program)
  const status = await asked(flags, client.status(id))
  const name = oneLine(id, 100)
  if (isNone(status)) throw unknownSession(flags, id)
  if (yes !== true)
    throw new UsageError(
      `This deletes the session ${name} permanently: its records, what is stored of them elsewhere, and its folder on the worker. Add --yes to confirm.`,
    )
  if (isAtWork(status) && force !== true)
    throw new UsageError(
      `The session ${name} ${status.state === 'requires_action' ? 'waits for an answer' : 'is at work'}. Answer or interrupt it first, or add --force to end its work and delete it.`,
    )
  if (status.stalled !== undefined) {
    const { killRestingWork } = await import('./release.ts')
    await killRestingWork(flags, id)
  } else if (isAtWork(status)) {
    await asked(flags, client.close(id))
    await ended(() => asked(flags, client.status(id)), name)
  }
  await asked(flags, client.remove(id))
  program.output.out(`Deleted: ${name}\n`)
  return 0
}

/** Nothing is stored of it, and nothing was asked of it. */
function isNone({ records, isWorking, isClosed, waiting }: FullStatus): boolean {
  return records === 0 && !isWorking && !isClosed && waiting === 0
}

function isAtWork({ isWorking, waiting }: FullStatus): boolean {
  return isWorking || waiting > 0
}

async function ended(look: () => Promise<FullStatus>, name: string): Promise<void> {
  const until = Date.now() + endsWithinMs
  while (isAtWork(await look())) {
    if (Date.now() > until)
      throw new UsageError(
        `The work at the session ${name} did not end within ${endsWithinMs / 1_000} s, so it was not deleted. It is closed and takes nothing more; is a worker running? Delete it again later.`,
      )
    await new Promise((resolve) => setTimeout(resolve, betweenLooksMs))
  }
}

const usualPage = 50

/** `halting sessions --cluster URL`: a page of the sessions of a cluster. */
export async function listOfCluster(flags: Flags, program: Program): Promise<number> {
  const { output } = program
  const now = Date.now()
  const page = await pageOfCluster(flags, requestOf(flags, now))
  const { sessions, nextCursor } = page
  if (wantsJson(flags)) {
    output.out(`${JSON.stringify({ sessions, total: page.total, ...(nextCursor !== undefined && { nextCursor }) })}\n`)
    return 0
  }
  if (sessions.length > 0) output.out(sessionTable(sessions, now, output.width))
  const says = pageText(page, flags, program)
  if (says !== '') output.err(told(says))
  return 0
}

function requestOf({ limit = usualPage, cursor, state, tenant, olderThan }: Flags, now: number): PageRequest {
  return {
    limit,
    ...(cursor !== undefined && { cursor }),
    ...(state !== undefined && { state }),
    ...(tenant !== undefined && { tenant }),
    ...(olderThan !== undefined && { changedBefore: momentOf(olderThan, now) }),
  }
}

/** What there is beyond the page. */
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

/** The same call, for the next page. */
function withCursor(argv: readonly string[], next: string): readonly string[] {
  const kept = argv.filter((word, at) => !word.startsWith('--cursor') && argv[at - 1] !== '--cursor')
  return [...kept, '--cursor', next]
}
