import { homeFolder, configFolder } from '@halting/journal/files'
import type { Settings } from '@halting/policy/settings'
import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import type { Toolbox } from './toolbox.ts'
import { SessionWall, editsOffReason } from '@halting/policy'

/**
 * Confines the commands of a session in a sandbox, if its choices or settings request it.
 * @throws SandboxError if the sandbox is not available; no command runs without it in that case.
 */
export async function confineCommands(
  {
    choices,
    settings,
  }: {
    /** The choices of the session. */
    readonly choices: Pick<SessionChoices, 'sandbox'>
    /** The settings of the session. */
    readonly settings: Settings
  },
  { workspace, permissions, ownFolders }: Toolbox,
  { env, note, wordNotice }: Pick<SessionPorts, 'env' | 'note' | 'wordNotice'>,
): Promise<void> {
  if (choices.sandbox !== true && settings.sandbox === undefined) return
  const { confineCommands } = await import('../sandbox/confine-commands.ts')
  await confineCommands({
    workspace,
    permissions,
    ownFolders,
    settings,
    isWanted: choices.sandbox === true,
    home: homeFolder(env),
    env,
    onMade: (path) => note(wordNotice({ kind: 'sandbox_file_created', path })),
    onRefused: (host, why) => note(wordNotice({ kind: 'sandbox_network_refused', host, why })),
  })
}

/** Returns what would confine the commands of a session of the terminal or `-p` on this machine. */
export function wallOf(
  {
    cwd,
    env,
    home,
  }: Pick<SessionPorts, 'cwd' | 'env'> & {
    /** The user's home folder. */
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
    editsOff: editsOffReason({ sandbox, isDefault: true }),
  })
}
