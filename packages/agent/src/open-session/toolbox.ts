import { ConfigurationError, type AnyTool } from '@halting/core'
import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { createCodingTools } from '../tools/coding-tools.ts'
import { isInProfile, withoutMissingTools } from '../tools/tool-profile.ts'
import { createPersonTools } from '../tools/person-tools.ts'
import type { FileCheckpoints } from '../checkpoints/file-checkpoints.ts'
import type { Session } from '@halting/core/session'
import { permissionModes, type RuleText } from '@halting/policy'
import { hasAnswers } from '@halting/journal'
import { openWorkspace, type SessionWorkspace } from '../coding-agent/open-workspace.ts'
import type { Settings } from '@halting/policy/settings'
import type { Plugins } from '../plugins/plugin.ts'
import type { PermissionUpdate } from '@halting/core/adapters'
import { nearest } from '../nearest.ts'
import { signInVariables } from '../providers/ai-sdk-models.ts'
import { placesOf } from './briefing-places.ts'
import { toolEnvironment } from './tool-environment.ts'
import { sessionScope } from './session-scope.ts'
import { isInRange } from '../version-range.ts'

/** The tools of a session, their permission rules, and their workspace. */
export interface Toolbox extends SessionWorkspace {
  /** Id of the session. */
  readonly sessionId: string
  /** The tools that the model can see: without those that a bare deny rule or `--tools` removes. */
  readonly tools: readonly AnyTool[]
  /** Whether neither a bare deny rule nor `--tools` removes the Agent tool. */
  readonly mayStartAgents: boolean
}

/** Tools of a program, and its selection of the built-in ones. */
export interface Toolset {
  /** Tools in addition to the built-in ones. A tool with the name of a built-in tool replaces it. */
  readonly tools: readonly AnyTool[]
  /** Names of the built-in tools to offer (default: all). */
  readonly names?: readonly string[] | undefined
  /** Whether the program answers permission requests. */
  readonly asks: boolean
  /** Whether there is a user whom the model can ask. */
  readonly hasPerson: boolean
}

/** The session of a toolbox, and its options. */
export interface ToolboxSession {
  /** Id of the session. */
  readonly sessionId: string
  /** Folders of results of other sessions that it may read. */
  readonly readableFolders: readonly string[]
  /** Stores files before they are changed. */
  readonly checkpoints?: FileCheckpoints
  /** The plugins of the session. */
  readonly plugins?: Plugins
  /** Whether a user or a program can answer questions. */
  readonly answersQuestions?: boolean
  /** Instructions for plan mode, which replace the built-in ones. */
  readonly planInstructions?: string
  /** The tools, in place of those of the choices. */
  readonly toolset?: Toolset
  /**
   * In mode `acceptEdits`, commands that no rule covers run confined to the workspace, unless a settings file decides.
   */
  readonly confinesEdits?: boolean
  /** Deny rules for protected files. */
  readonly protect?: readonly RuleText[]
  /** Stores what the user allows during the session. */
  readonly keep?: NonNullable<SessionWorkspace['permissions']['keep']>
  /** Where suggested rules are stored. */
  readonly suggestFor?: PermissionUpdate['destination']
}

/**
 * Creates the tools of a session and their permission rules.
 * @throws ConfigurationError or PermissionRuleError for invalid choices.
 */
export function openToolbox(
  {
    choices,
    settings,
  }: {
    /** The choices of the session. */
    readonly choices: SessionChoices
    /** The settings of the session. */
    readonly settings: Settings
  },
  ports: Pick<SessionPorts, 'cwd' | 'env' | 'nameOf' | 'wordNotice' | 'hiddenVariables'>,
  session: ToolboxSession = { sessionId: choices.sessionId ?? randomUUID(), readableFolders: [] },
): Toolbox {
  const { cwd, env } = ports
  const { sessionId } = session
  // With `defer`, a user answers later.
  const { toolset } = session
  const asks = toolset?.asks ?? (session.answersQuestions === true || choices.onAsk === 'defer')
  const { workspace, permissions, resultFiles, ownFolders } = openWorkspace({
    places: placesOf({ choices, env, ...(session.plugins !== undefined && { plugins: session.plugins }) }, cwd),
    sessionId,
    settings,
    env: commandEnvironmentOf({ choices, settings }, ports),
    additionalDirectories: (choices.addDir ?? []).map((path) => directoryOf(path, ports)),
    readableFolders: session.readableFolders,
    mode: choices.dangerouslySkipPermissions === true ? 'bypassPermissions' : choices.permissionMode,
    mayBypass: choices.allowDangerouslySkipPermissions,
    allow: choices.allowedTools ?? [],
    deny: [...(choices.disallowedTools ?? []), ...(session.protect ?? [])],
    whenAsked: asks ? 'ask' : 'deny',
    checkpoints: session.checkpoints,
    keep: session.keep,
    suggestFor: session.suggestFor,
    confinesEdits: session.confinesEdits,
  })
  // Answers given before the session resumes are applied.
  const isPersonThere = toolset?.hasPerson ?? (asks || hasAnswers({ ...sessionScope({ cwd, env }), sessionId }))
  // If no user answers, a question would only waste a turn.
  const { planInstructions } = session
  const ofPerson = createPersonTools(planInstructions === undefined ? {} : { planInstructions })
  const { toolProfile = 'default' } = settings
  const taskList = taskListToolsOf(toolset === undefined ? choices.tools : toolset.names, env)
  const all = [...createCodingTools(workspace, { toolProfile, taskList }), ...(isPersonThere ? ofPerson : [])]
  const names = [...all.map(({ name }) => name), 'Agent']
  const own = toolset?.tools ?? []
  const ownNames = own.map(({ name }) => name)
  const hidden = new Set(permissions.toolsHiddenByDeny([...names, ...ownNames]))
  const known = toolProfile === 'codex' ? [...names, 'Edit', 'Write'] : names
  const wantedNames =
    toolset === undefined ? wantedTools(choices.tools, known, ports) : namedTools(toolset, known, ports)
  const isShown = (name: string): boolean =>
    !ownNames.includes(name) && !hidden.has(name) && isInProfile(name, wantedNames, toolProfile)
  const programTools = own.filter(({ name }) => !hidden.has(name))
  const has = (name: string): boolean => isShown(name) || programTools.some((tool) => tool.name === name)
  return {
    workspace,
    permissions,
    sessionId,
    resultFiles,
    ownFolders,
    tools: [
      ...all.filter(({ name }) => isShown(name)).map((tool) => withoutMissingTools(tool, known, has)),
      ...programTools,
    ],
    mayStartAgents: isShown('Agent'),
  }
}

/** Returns the environment of commands, without variables that models of the session use to sign in. */
function commandEnvironmentOf(
  { choices, settings }: { readonly choices: SessionChoices; readonly settings: Settings },
  { env, hiddenVariables }: Pick<SessionPorts, 'env' | 'hiddenVariables'>,
): SessionPorts['env'] {
  return toolEnvironment(
    env,
    [...hiddenVariables, ...signInVariables(settings, modelsIn(choices, settings, env))],
    [...(choices.passEnv ?? []), ...(settings.passEnvironment ?? [])],
  )
}

/** Ids of the session's initial models. */
function modelsIn(
  choices: SessionChoices,
  { model, smallModel }: Settings,
  env: SessionPorts['env'],
): readonly string[] {
  const { fallbackModel, compactModel } = choices
  const names = [
    choices.model,
    choices.smallModel,
    fallbackModel,
    compactModel,
    env['ANTHROPIC_MODEL']?.trim(),
    model,
    smallModel,
  ]
  return names.filter((name) => name !== undefined)
}

function wantedTools(
  flagNames: readonly string[] = ['default'],
  known: readonly string[],
  ports: Pick<SessionPorts, 'wordNotice'>,
): ReadonlySet<string> {
  // The tool that starts agents had the name Task before.
  const names = flagNames.map((name) => (name === 'Task' ? 'Agent' : name))
  refuseUnknown(names, [...known, 'default', 'none', 'Skill'], known, ports)
  return new Set(names)
}

function namedTools(
  { names }: Toolset,
  known: readonly string[],
  ports: Pick<SessionPorts, 'wordNotice'>,
): ReadonlySet<string> {
  if (names === undefined) return new Set(['default'])
  refuseUnknown(names, [...known, 'Skill'], known, ports)
  return new Set(names)
}

/** @throws ConfigurationError for an unknown tool name. */
function refuseUnknown(
  names: readonly string[],
  allowed: readonly string[],
  known: readonly string[],
  { wordNotice }: Pick<SessionPorts, 'wordNotice'>,
): void {
  const name = names.find((one) => !allowed.includes(one))
  if (name === undefined) return
  throw new ConfigurationError(wordNotice({ kind: 'unknown_tool', name, nearest: nearest(name, known), known }))
}

function directoryOf(path: string, { cwd, nameOf }: Pick<SessionPorts, 'cwd' | 'nameOf'>): string {
  const directory = resolve(cwd, path)
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true) return directory
  throw new ConfigurationError(`${nameOf('addDir')} takes an existing directory, not "${path}".`)
}

/** Keeps the mode of the rules equal to the session's mode, because agents and hooks read the mode from the rules. */
export function syncPermissionMode(session: Session, permissions: Toolbox['permissions']): void {
  session.listen((event) => {
    if (event.type !== 'changed') return
    const mode = permissionModes.find((known) => known === session.snapshot.permissionMode)
    if (mode !== undefined && mode !== permissions.mode) permissions.setMode(mode)
  })
}

/** How a model writes the task list: task by task, or the whole list with TodoWrite. */
type TaskListTools = 'tasks' | 'todos' | 'both'

const listTools = ['TaskCreate', 'TaskUpdate', 'TaskList', 'TaskGet', 'TodoWrite']
const off = new Set(['0', 'false', 'no', 'off'])

// Spec R-TODO-5, decision 0088.
/**
 * Determines which task list tools the model can see. Explicitly named tools are offered as named. Otherwise the
 * environment decides, or an Agent SDK whose programs know only TodoWrite.
 */
export function taskListToolsOf(named: readonly string[] | undefined, env: SessionPorts['env']): TaskListTools {
  if (named?.some((name) => listTools.includes(name)) === true) return 'both'
  const chosen = env['CLAUDE_CODE_ENABLE_TASKS']?.trim().toLowerCase() ?? ''
  if (chosen !== '') return off.has(chosen) ? 'todos' : 'tasks'
  return isOldSdk(env) ? 'todos' : 'tasks'
}

/** Versions of the TypeScript SDK whose programs know only TodoWrite. The Python SDK has its own versions. */
const todoWriteOnlyVersions = '<0.3.142'

function isOldSdk(env: SessionPorts['env']): boolean {
  const version = env['CLAUDE_AGENT_SDK_VERSION']?.trim() ?? ''
  const isReadable = /^\d{1,6}\.\d{1,6}\.\d{1,6}/.test(version)
  return env['CLAUDE_CODE_ENTRYPOINT'] === 'sdk-ts' && isReadable && isInRange(todoWriteOnlyVersions, version)
}
