import { resolve } from 'node:path'
import type { JsonObject } from '@halting/core'
import { type RulePermissions, sandboxSettingsOf, signInsFolder } from '@halting/policy'
import type { Settings } from '@halting/policy/settings'
import type { Environment } from '@halting/policy/files'
import type { Workspace } from '../tools/workspace.ts'
import { openSandbox } from './open-sandbox.ts'

/** Options of `confineCommands`. */
export interface ConfineCommandsOptions {
  /** The workspace of the session. */
  readonly workspace: Workspace
  /** The permission rules of the session. */
  readonly permissions: RulePermissions
  /** Folders of agent instructions and plugins, which commands must not change. */
  readonly ownFolders?: readonly string[]
  /** The sandbox settings. */
  readonly settings: Pick<Settings, 'sandbox' | 'managedDomains'>
  /** Confines commands regardless of the settings. */
  readonly isWanted: boolean
  /** The user's home folder. */
  readonly home: string
  /** The environment. */
  readonly env: Environment
  /** Called with files that a confined command has created and that programs outside the sandbox obey. */
  readonly onMade?: (path: string) => void
  /** Called with a host that was not reachable, and the reason. */
  readonly onRefused?: (host: string, why: string) => void
}

/**
 * Confines the commands of a session in a sandbox, if the program or the settings request it.
 * @throws SandboxError if the sandbox is not available; no command runs without it in that case.
 */
export async function confineCommands(options: ConfineCommandsOptions): Promise<void> {
  const { workspace, permissions, ownFolders = [], isWanted, home, env, onMade, onRefused } = options
  const { sandbox = [], managedDomains } = options.settings
  const sandboxSettings: readonly JsonObject[] = isWanted ? [{ enabled: true }, ...sandbox] : sandbox
  const own = sandboxSettingsOf(sandboxSettings)
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

/** Folders with the user's settings and trust records. Below `.halting` and `.claude` nothing is writable anyway. */
function settingsFolders(env: Environment, cwd: string): readonly string[] {
  return ['HALTING_CONFIG_DIR', 'CLAUDE_CONFIG_DIR'].flatMap((name) => (env[name] ? [resolve(cwd, env[name])] : []))
}
