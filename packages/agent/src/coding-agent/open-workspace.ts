import { ConfigurationError } from '@halting/core'
import { isJsonObject, type PermissionUpdate } from '@halting/core/adapters'
import type { FileCheckpoints } from '../checkpoints/file-checkpoints.ts'
import { type BriefingPlaces, ownSkillFolders } from '../instructions/places.ts'
import { memoryOf } from '../memory/places.ts'
import { configFolder } from '@halting/journal/files'
import {
  createPermissions,
  mcpToolName,
  type RulePermissions,
  type PermissionMode,
  permissionModes,
  type RuleText,
  SessionWall,
  type TrialCall,
  editsOffReason,
} from '@halting/policy'
import type { PermissionSettings, Settings } from '@halting/policy/settings'
import { createResultFiles, type ResultFiles, endsOf } from '@halting/journal'
import type { Environment } from '../tools/limits.ts'
import { Workspace } from '../tools/workspace.ts'
import { searchServerNames } from '../web/search-port.ts'

/** Options of `openWorkspace`. */
export interface OpenWorkspaceOptions {
  /** The working folder, and the folders with the user's instructions. */
  readonly places: BriefingPlaces
  /** Id of the session. */
  readonly sessionId: string
  /** The settings. */
  readonly settings: Settings
  /** The environment of commands, as returned by `commandEnvironment`. */
  readonly env: Environment
  /** Absolute paths, in addition to those of the settings. */
  readonly additionalDirectories?: readonly string[]
  /** Folders of results of other sessions that it may read. */
  readonly readableFolders?: readonly string[]
  /** Replaces the mode of the settings. */
  readonly mode?: PermissionMode | undefined
  // Spec R-RULE-1e.
  /** Whether `bypassPermissions` may be set later, even if neither `mode` nor the settings start with it. */
  readonly mayBypass?: boolean | undefined
  /** Rules that precede those of the settings. */
  readonly allow?: readonly RuleText[]
  /** Rules that precede those of the settings. */
  readonly deny?: readonly RuleText[]
  /** What happens to a call that needs the user's permission. */
  readonly whenAsked: 'deny' | 'ask'
  /** Stores files before they are changed. */
  readonly checkpoints?: FileCheckpoints | undefined
  /**
   * Stores what the user allows during the session, such as `settingsWriter`. Without this function, permissions last
   * for the session.
   */
  readonly keep?: NonNullable<RulePermissions['keep']> | undefined
  // Spec R-EFRONT-1.
  /**
   * In mode `acceptEdits`, commands that no rule covers run confined to the workspace, unless a settings file decides.
   * Default: such commands require permission.
   */
  readonly confinesEdits?: boolean | undefined
  /** Where suggested rules are stored, such as the result of `suggestionDestination`. */
  readonly suggestFor?: PermissionUpdate['destination'] | undefined
}

/** The workspace of a session and its permission rules. */
export interface SessionWorkspace {
  /** The workspace on which the tools operate. */
  readonly workspace: Workspace
  /** The permission rules. */
  readonly permissions: RulePermissions
  /** Stores results that are too large to show in full. */
  readonly resultFiles: ResultFiles
  /** Folders of agent instructions and plugins: readable without a rule, and read-only for commands in a sandbox. */
  readonly ownFolders: readonly string[]
}

/**
 * Opens the workspace of a session with its permissions, in a mode that the settings allow.
 * @throws ConfigurationError for a forbidden mode and for invalid rules.
 */
export function openWorkspace(options: OpenWorkspaceOptions): SessionWorkspace {
  const { places, sessionId, settings, checkpoints } = options
  const { cwd, env } = places
  const rules = settings.permissions
  const additionalDirectories = [...(options.additionalDirectories ?? []), ...(rules?.additionalDirectories ?? [])]
  const memory = memoryOf(places, settings)
  const resultFiles = createResultFiles({ cwd, sessionId, home: places.home, env })
  const workspace = new Workspace({
    cwd,
    additionalDirectories,
    env: options.env,
    confinementOf: (call) => permissions.confinementOf(call),
    judged: (callId, agentId, path) => permissions.judgedPath(callId, agentId, path),
    hides: (path, rights) => permissions.deniesReading(path, rights),
    asksToRead: (path, rights) => permissions.asksToRead(path, rights),
    spoolFolder: resultFiles.spoolFolder,
    web: {
      privateHosts: (env['HALTING_PRIVATE_HOSTS'] ?? '').split(/[\s,]+/).filter((host) => host !== ''),
      // Denied whether or not commands run in the sandbox.
      deniedDomains: deniedDomainsOf(settings.sandbox),
    },
    ...(checkpoints !== undefined && { checkpoints }),
  })
  const ownFolders = ownSkillFolders(places)
  const wall = new SessionWall({
    home: places.home,
    configFolder: configFolder('halting', places),
    path: env['PATH'] ?? '',
    writable: workspace.directories,
    setting: settings.confineJudged ?? 'auto',
    isSandboxed: () => workspace.sandbox !== undefined,
    keptFolders: ownFolders,
    tries: settings.tryReadOnly,
    editsOff: editsOffReason({ sandbox: settings.sandbox, isDefault: options.confinesEdits === true }),
  })
  workspace.wall = wall
  const permissions = createPermissions({
    cwd,
    additionalDirectories,
    readableFolders: [
      ...resultFiles.readableFolders,
      ...(options.readableFolders ?? []),
      ...ownFolders,
      ...(memory === undefined ? [] : endsOf(memory.folder)),
    ],
    mode: modeOf(options.mode, rules),
    modes: mayBypass(options, rules) ? permissionModes : permissionModes.filter((mode) => mode !== 'bypassPermissions'),
    allow: [...(options.allow ?? []), ...(rules?.allow ?? [])],
    hasFixedAllow: settings.allowManagedPermissionRulesOnly === true,
    deny: [...(options.deny ?? []), ...(rules?.deny ?? [])],
    ask: rules?.ask ?? [],
    // The sandbox is created after the settings are read.
    sandbox: { holds: (command) => workspace.sandbox?.holds(command) ?? false },
    wall,
    trial: { run: (call, signal) => tryIn(workspace, call, signal) },
    shellDirectory: () => workspace.shellDirectory,
    env: workspace.env,
    whenAsked: options.whenAsked,
    searchTool: searchToolOf(settings.webSearch),
    ...(options.keep !== undefined && { keep: options.keep }),
    ...(options.suggestFor !== undefined && { suggestFor: options.suggestFor }),
  })
  return { workspace, permissions, resultFiles, ownFolders }
}

/** Loaded on demand. */
async function tryIn(workspace: Workspace, call: TrialCall, signal: AbortSignal): Promise<string | undefined> {
  const { Trials } = await import('../tools/trial.ts')
  workspace.trials ??= new Trials(workspace)
  return workspace.trials.run(call, signal)
}

/** Returns the tool that the setting names, in rule syntax. */
function searchToolOf(setting: Settings['webSearch']): string | undefined {
  if (typeof setting !== 'object') return undefined
  const { server, tool } = searchServerNames(setting.mcp)
  return mcpToolName(server, tool)
}

/** The settings are validated: their lists contain only texts. */
function deniedDomainsOf(sandbox: Settings['sandbox'] = []): readonly string[] {
  return sandbox.flatMap(({ network }) => {
    const denied = isJsonObject(network) ? network['deniedDomains'] : undefined
    return Array.isArray(denied) ? denied.filter((domain) => typeof domain === 'string') : []
  })
}

/** Whether bypassing was permitted at the start and no settings forbid it. */
function mayBypass(
  { mode, mayBypass: isAllowed }: Pick<OpenWorkspaceOptions, 'mode' | 'mayBypass'>,
  { defaultMode, disableBypassPermissionsMode: isForbidden }: Partial<PermissionSettings> = {},
): boolean {
  return isForbidden !== true && (isAllowed === true || [mode, defaultMode].includes('bypassPermissions'))
}

/** @throws ConfigurationError for a mode that the settings forbid. */
function modeOf(
  requested: PermissionMode | undefined,
  { defaultMode, disableBypassPermissionsMode: isForbidden }: Partial<PermissionSettings> = {},
): PermissionMode {
  const mode = requested ?? defaultMode ?? 'default'
  if (isForbidden !== true || mode !== 'bypassPermissions') return mode
  if (requested === undefined) return 'default'
  throw new ConfigurationError(
    'bypassPermissions is disabled by permissions.disableBypassPermissionsMode in the settings (see halting config).',
  )
}
