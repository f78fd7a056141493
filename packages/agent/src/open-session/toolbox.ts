import { ConfigurationError, type AnyTool } from '@halting/core'
import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { createCodingTools } from '../tools/coding-tools.ts'
import { createPersonTools } from '../tools/person-tools.ts'
import type { FileCheckpoints } from '../checkpoints/file-checkpoints.ts'
import type { Session } from '../live-session/session.ts'
import { permissionModes } from '../permissions/rule-book.ts'
import { hasAnswers } from '../session/answers.ts'
import { openWorkspace, type SessionWorkspace } from '../coding-agent/open-workspace.ts'
import type { Settings } from '../settings/merge.ts'
import type { Plugins } from '../plugins/plugin.ts'
import type { PermissionUpdate } from '@halting/core/adapters'
import { nearest } from '../nearest.ts'
import { placesOf } from './briefing-places.ts'
import { toolEnvironment } from './tool-environment.ts'
import { whose } from './whose.ts'

/** The tools of a session, the rules about them, and what they work on. */
export interface Toolbox extends SessionWorkspace {
  readonly sessionId: string
  /** What the model is shown: without what a bare deny rule or `--tools` takes away. */
  readonly tools: readonly AnyTool[]
  /** Neither a bare deny rule nor `--tools` takes it away. */
  readonly mayStartAgents: boolean
}

/** Of which session the results are that it may read. */
export interface ToolboxSession {
  readonly sessionId: string
  readonly readableFolders: readonly string[]
  /** Keeps what files were. */
  readonly checkpoints?: FileCheckpoints
  readonly plugins?: Plugins
  /** Somebody is there who answers questions. */
  readonly answersQuestions?: boolean
  /** How a plan is made, in place of our words. */
  readonly planInstructions?: string
  /** Keeps what a person allows from now on. */
  readonly keep?: NonNullable<SessionWorkspace['permissions']['keep']>
  /** Where a suggested rule is to be kept. */
  readonly suggestFor?: PermissionUpdate['destination']
}

/** @throws ConfigurationError and PermissionRuleError for choices that cannot be served. */
export function openToolbox(
  { choices, settings }: { readonly choices: SessionChoices; readonly settings: Settings },
  ports: Pick<SessionPorts, 'cwd' | 'env' | 'nameOf' | 'hiddenVariables'>,
  session: ToolboxSession = { sessionId: choices.sessionId ?? randomUUID(), readableFolders: [] },
): Toolbox {
  const { cwd, env, hiddenVariables } = ports
  const { sessionId } = session
  // With `defer` somebody comes later.
  const asks = session.answersQuestions === true || choices.onAsk === 'defer'
  const { workspace, permissions, resultFiles, ownFolders } = openWorkspace({
    places: placesOf({ choices, env, ...(session.plugins !== undefined && { plugins: session.plugins }) }, cwd),
    sessionId,
    settings,
    env: toolEnvironment(env, hiddenVariables, [...(choices.passEnv ?? []), ...(settings.passEnvironment ?? [])]),
    additionalDirectories: (choices.addDir ?? []).map((path) => directoryOf(path, ports)),
    readableFolders: session.readableFolders,
    mode: choices.dangerouslySkipPermissions === true ? 'bypassPermissions' : choices.permissionMode,
    mayBypass: choices.allowDangerouslySkipPermissions,
    allow: choices.allowedTools ?? [],
    deny: choices.disallowedTools ?? [],
    whenAsked: asks ? 'ask' : 'deny',
    checkpoints: session.checkpoints,
    keep: session.keep,
    suggestFor: session.suggestFor,
  })
  // What was answered before the session goes on is carried out.
  const isPersonThere = asks || hasAnswers({ ...whose({ cwd, env }), sessionId })
  // Where nobody answers, a question would only cost a turn.
  const { planInstructions } = session
  const ofPerson = createPersonTools(planInstructions === undefined ? {} : { planInstructions })
  const all = [...createCodingTools(workspace), ...(isPersonThere ? ofPerson : [])]
  const names = [...all.map(({ name }) => name), 'Agent']
  const hidden = new Set(permissions.toolsHiddenByDeny(names))
  const wanted = wantedTools(choices.tools, names, ports.nameOf('tools'))
  const isShown = (name: string): boolean => !hidden.has(name) && (wanted?.has(name) ?? true)
  return {
    workspace,
    permissions,
    sessionId,
    resultFiles,
    ownFolders,
    tools: all.filter(({ name }) => isShown(name)),
    mayStartAgents: isShown('Agent'),
  }
}

function wantedTools(
  given: readonly string[] = ['default'],
  known: readonly string[],
  name: string,
): ReadonlySet<string> | undefined {
  // The tool that starts agents was called Task first.
  const names = given.map((name) => (name === 'Task' ? 'Agent' : name))
  const stranger = names.find((name) => ![...known, 'default', 'none', 'Skill'].includes(name))
  if (stranger === undefined) return names.includes('default') ? undefined : new Set(names)
  const meant = nearest(stranger, known)
  throw new ConfigurationError(
    `${name} takes names of ${known.toSorted().join(', ')}, default for all, or "" for none; there is no ${stranger}.` +
      (meant === undefined ? '' : ` Did you mean ${meant}?`),
  )
}

function directoryOf(path: string, { cwd, nameOf }: Pick<SessionPorts, 'cwd' | 'nameOf'>): string {
  const directory = resolve(cwd, path)
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true) return directory
  throw new ConfigurationError(`${nameOf('addDir')} takes a directory that is there; "${path}" is not.`)
}

/** Agents and hooks are told the mode by the rules: that which was set is the one. */
export function followMode(session: Session, permissions: Toolbox['permissions']): void {
  session.listen((event) => {
    if (event.type !== 'changed') return
    const mode = permissionModes.find((known) => known === session.snapshot.permissionMode)
    if (mode !== undefined && mode !== permissions.mode) permissions.setMode(mode)
  })
}
