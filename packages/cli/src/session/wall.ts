import { configFolder } from '@halting/agent'
import { SessionWall } from '@halting/policy'
import type { Settings } from '@halting/policy/settings'
import type { Program } from '../program.ts'

/** What would confine the commands of a session here. */
export function wallOf(
  { cwd, env, home }: Pick<Program, 'cwd' | 'env'> & { readonly home: string },
  { confineJudged = 'auto' }: Pick<Settings, 'confineJudged'> = {},
): SessionWall {
  return new SessionWall({
    home,
    configFolder: configFolder('halting', { cwd, home, env }),
    path: env['PATH'] ?? '',
    writable: [cwd],
    setting: confineJudged,
    isSandboxed: () => false,
  })
}
