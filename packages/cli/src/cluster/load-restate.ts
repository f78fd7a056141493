import { UsageError } from '../usage-error.ts'

type Restate = typeof import('@halting/restate')

const minNodeVersion = 22

/**
 * What only a worker of a cluster needs: a package of its own, which is there where somebody installed it.
 * @throws UsageError where it is not, and on a Node that it does not run on.
 */
export async function loadRestate(command: string): Promise<Restate> {
  if (Number.parseInt(process.versions.node, 10) < minNodeVersion)
    throw new UsageError(
      `halting ${command} needs Node ${minNodeVersion} or later (this is Node ${process.versions.node}). All other commands work.`,
    )
  try {
    return await import('@halting/restate')
  } catch (error) {
    if (!isMissing(error)) throw error
    throw new UsageError(
      `halting ${command} needs the package @halting/restate. Run npm install --global halting @halting/restate (in a project, npm install halting @halting/restate).`,
    )
  }
}

/** The package itself, and not something that it needs. */
function isMissing(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return error.code === 'ERR_MODULE_NOT_FOUND' && error.message.includes("'@halting/restate'")
}
