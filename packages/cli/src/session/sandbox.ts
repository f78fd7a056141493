import { homeFolder, type Settings } from '@halting/agent'
import { openSandbox, sandboxSettingsOf } from '@halting/agent/sandbox'
import type { JsonObject } from '@halting/core'
import { told } from '../io/figures.ts'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import type { Toolbox } from './toolbox.ts'

/**
 * Puts the commands of a session into a sandbox, where the flag or the settings want that.
 * @throws SandboxError where it cannot be had: nothing runs without it then.
 */
export async function holdCommands(
  flags: Pick<Flags, 'sandbox'>,
  { sandbox = [] }: Settings,
  { workspace, permissions }: Toolbox,
  { env, output }: Pick<Program, 'env' | 'output'>,
): Promise<void> {
  const wanted: readonly JsonObject[] = flags.sandbox === true ? [{ enabled: true }, ...sandbox] : sandbox
  const settings = sandboxSettingsOf(wanted)
  if (!settings.enabled) return
  workspace.sandbox = await openSandbox({
    cwd: workspace.cwd,
    directories: workspace.directories,
    home: homeFolder(env),
    settings,
    denied: () => permissions.deniedPlaces(),
    proxy: { onRefused: (host, why) => output.err(told(`the sandbox refused the network: ${host}: ${why}`)) },
  })
}
