import { UsageError } from '../usage-error.ts'

type Restate = typeof import('@halting/restate')

const minNodeVersion = 22

/**
 * Loads the package that workers need, which is installed separately.
 * @throws UsageError if it is not installed, or does not support this version of Node
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

/** Whether the package itself is missing, and not one of its dependencies. */
function isMissing(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return error.code === 'ERR_MODULE_NOT_FOUND' && error.message.includes("'@halting/restate'")
}
