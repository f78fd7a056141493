import type { SessionPorts } from './ports.ts'
import { homeFolder } from '@halting/journal/files'

/** The user and the folder that sessions belong to. */
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
