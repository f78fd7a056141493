import type { SessionPorts } from './ports.ts'
import { homeFolder } from '@halting/journal/files'

/** Whose sessions are looked at. */
export function whose({ cwd, env }: Pick<SessionPorts, 'cwd' | 'env'>): {
  /** Working directory. */
  readonly cwd: string
  /** The environment. */
  readonly env: SessionPorts['env']
  /** The person's own folder. */
  readonly home: string
} {
  return { cwd, env, home: homeFolder(env) }
}
