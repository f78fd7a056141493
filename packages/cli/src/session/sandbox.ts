import { homeFolder } from '@halting/policy/files'
import type { Settings } from '@halting/policy/settings'
import { holdCommands as hold } from '@halting/agent/sandbox'
import { oneLine, told } from '../io/figures.ts'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import type { Toolbox } from './toolbox.ts'

/**
 * Puts the commands of a session into a sandbox, where the flag or the settings want that.
 * @throws SandboxError where it cannot be had: nothing runs without it then.
 */
export async function holdCommands(
  flags: Pick<Flags, 'sandbox'>,
  settings: Settings,
  { workspace, permissions, ownFolders }: Toolbox,
  { env, output }: Pick<Program, 'env' | 'output'>,
): Promise<void> {
  await hold({
    workspace,
    permissions,
    ownFolders,
    settings,
    isWanted: flags.sandbox === true,
    home: homeFolder(env),
    env,
    onMade: (path) =>
      output.err(
        told(
          `a command in the sandbox has made ${oneLine(path, 300)}, which programs obey outside of it: look at it before you go on`,
        ),
      ),
    onRefused: (host, why) => output.err(told(`the sandbox refused the network: ${host}: ${why}`)),
  })
}
