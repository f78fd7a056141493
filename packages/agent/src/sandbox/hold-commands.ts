import { resolve } from 'node:path'
import type { JsonObject } from '@halting/core'
import { type RulePermissions, sandboxSettingsOf, signInsFolder } from '@halting/policy'
import type { Settings } from '@halting/policy/settings'
import type { Environment } from '@halting/policy/files'
import type { Workspace } from '../tools/workspace.ts'
import { openSandbox } from './open-sandbox.ts'

/** Options of the confinement of a session's commands. */
export interface HoldCommandsOptions {
  /** The workspace of the session. */
  readonly workspace: Workspace
  /** The rules of the session. */
  readonly permissions: RulePermissions
  /** What the person keeps for agents, and plugins: commands leave it as it is. */
  readonly ownFolders?: readonly string[]
  /** What the settings say about the sandbox. */
  readonly settings: Pick<Settings, 'sandbox' | 'managedDomains'>
  /** Whatever the settings say of it. */
  readonly isWanted: boolean
  /** The person's own folder, and the environment that says where their settings are. */
  readonly home: string
  /** The environment. */
  readonly env: Environment
  /** Told of what programs outside of the sandbox obey, and a command in it has made. */
  readonly onMade?: (path: string) => void
  /** Told of a host that was not reached. */
  readonly onRefused?: (host: string, why: string) => void
}

/**
 * Puts the commands of a session into a sandbox, where the program or the settings want that.
 * @throws SandboxError where it cannot be had: nothing runs without it then.
 */
export async function holdCommands(options: HoldCommandsOptions): Promise<void> {
  const { workspace, permissions, ownFolders = [], isWanted, home, env, onMade, onRefused } = options
  const { sandbox = [], managedDomains } = options.settings
  const wanted: readonly JsonObject[] = isWanted ? [{ enabled: true }, ...sandbox] : sandbox
  const own = sandboxSettingsOf(wanted)
  if (!own.enabled) return
  const byRules = permissions.domains().allowed
  const named = managedDomains === undefined ? byRules : byRules.filter((domain) => managedDomains.includes(domain))
  const settings = { ...own, allowedDomains: [...own.allowedDomains, ...named] }
  workspace.sandbox = await openSandbox({
    cwd: workspace.cwd,
    directories: workspace.directories,
    ownFolders,
    home,
    settings: {
      ...settings,
      denyWrite: [...settings.denyWrite, ...settingsFolders(env, workspace.cwd)],
      denyRead: [...settings.denyRead, signInsFolder({ cwd: workspace.cwd, home, env })],
    },
    denied: (rights) => permissions.deniedPlaces(rights),
    deniedDomains: () => permissions.domains().denied,
    ...(onMade !== undefined && { onMade }),
    ...(onRefused !== undefined && { proxy: { onRefused } }),
  })
}

/** Where a person has put their settings and whom they trust: below `.halting` and `.claude` nothing is written anyway. */
function settingsFolders(env: Environment, cwd: string): readonly string[] {
  return ['HALTING_CONFIG_DIR', 'CLAUDE_CONFIG_DIR'].flatMap((name) => (env[name] ? [resolve(cwd, env[name])] : []))
}
