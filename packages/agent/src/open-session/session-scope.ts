import type { SessionPorts } from './ports.ts'
import { homeFolder } from '@halting/journal/files'

/** Returns the user and the folder to which sessions belong. */
export function sessionScope({ cwd, env }: Pick<SessionPorts, 'cwd' | 'env'>): {
  /** Working directory. */
  readonly cwd: string
  /** The environment. */
  readonly env: SessionPorts['env']
  /** The user's home folder. */
  readonly home: string
} {
  return { cwd, env, home: homeFolder(env) }
}
