import type { FullStatus } from '@halting/restate/client'
import { refuseOf } from '../sessions/flag-owners.ts'
import type { Flags } from '../flags/flags.ts'
import { nearest } from '../flags/nearest.ts'
import { oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { listOfCluster } from './list.ts'
import { asked, clientOf, unknownSession } from './of-cluster.ts'

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
