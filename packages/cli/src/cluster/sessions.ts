import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { listOfCluster } from './list.ts'

/** `halting sessions … --cluster URL`. */
export async function sessionsOnCluster(
  flags: Flags,
  [doing = 'list', ...more]: readonly string[],
  program: Program,
): Promise<number> {
  if (doing === 'release') {
    const { releaseOnCluster } = await import('./release.ts')
    return releaseOnCluster(flags, more, program)
  }
  if (doing !== 'list' || more.length > 0)
    throw new UsageError('With --cluster, halting sessions only lists and releases. For one session, use halting why.')
  return listOfCluster(flags, program)
}
