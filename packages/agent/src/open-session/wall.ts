import type { SessionPorts } from './ports.ts'
import { configFolder } from '@halting/journal/files'
import type { Settings } from '@halting/policy/settings'
import { SessionWall, whyEditsOff } from '@halting/policy'

/** What would confine the commands of a session here that the terminal or `-p` shows. */
export function wallOf(
  {
    cwd,
    env,
    home,
  }: Pick<SessionPorts, 'cwd' | 'env'> & {
    /** The person's own folder. */
    readonly home: string
  },
  { confineJudged = 'auto', sandbox, tryReadOnly }: Pick<Settings, 'confineJudged' | 'sandbox' | 'tryReadOnly'> = {},
): SessionWall {
  return new SessionWall({
    home,
    configFolder: configFolder('halting', { cwd, home, env }),
    path: env['PATH'] ?? '',
    writable: [cwd],
    setting: confineJudged,
    isSandboxed: () => false,
    tries: tryReadOnly,
    editsOff: whyEditsOff({ sandbox, isDefault: true }),
  })
}
