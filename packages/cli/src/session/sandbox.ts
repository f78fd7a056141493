import { resolve } from 'node:path'
import { homeFolder, type Settings } from '@halting/agent'
import { openSandbox, sandboxSettingsOf } from '@halting/agent/sandbox'
import type { JsonObject } from '@halting/core'
import { oneLine, told } from '../io/figures.ts'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import type { Toolbox } from './toolbox.ts'

/** Where a person has put their settings and whom they trust: below `.halting` and `.claude` nothing is written anyway. */
function ownFolders(env: Program['env'], cwd: string): readonly string[] {
  return ['HALTING_CONFIG_DIR', 'CLAUDE_CONFIG_DIR'].flatMap((name) => (env[name] ? [resolve(cwd, env[name])] : []))
}

/**
 * Puts the commands of a session into a sandbox, where the flag or the settings want that.
 * @throws SandboxError where it cannot be had: nothing runs without it then.
 */
export async function holdCommands(
  flags: Pick<Flags, 'sandbox'>,
  { sandbox = [], managedDomains }: Settings,
  { workspace, permissions }: Toolbox,
  { env, output }: Pick<Program, 'env' | 'output'>,
): Promise<void> {
  const wanted: readonly JsonObject[] = flags.sandbox === true ? [{ enabled: true }, ...sandbox] : sandbox
  const own = sandboxSettingsOf(wanted)
  if (!own.enabled) return
  const byRules = permissions.domains().allowed
  const named = managedDomains === undefined ? byRules : byRules.filter((domain) => managedDomains.includes(domain))
  const settings = { ...own, allowedDomains: [...own.allowedDomains, ...named] }
  workspace.sandbox = await openSandbox({
    cwd: workspace.cwd,
    directories: workspace.directories,
    home: homeFolder(env),
    settings: { ...settings, denyWrite: [...settings.denyWrite, ...ownFolders(env, workspace.cwd)] },
    denied: () => permissions.deniedPlaces(),
    deniedDomains: () => permissions.domains().denied,
    onMade: (path) =>
      output.err(
        told(
          `a command in the sandbox has made ${oneLine(path, 300)}, which programs obey outside of it: look at it before you go on`,
        ),
      ),
    proxy: { onRefused: (host, why) => output.err(told(`the sandbox refused the network: ${host}: ${why}`)) },
  })
}
