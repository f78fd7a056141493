import type { SessionPorts } from './ports.ts'
import { homeFolder } from '@halting/journal/files'

/** Whose sessions are looked at. */
export function whose({ cwd, env }: Pick<SessionPorts, 'cwd' | 'env'>): {
  readonly cwd: string
  readonly env: SessionPorts['env']
  readonly home: string
} {
  return { cwd, env, home: homeFolder(env) }
}
