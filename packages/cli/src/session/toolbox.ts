import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  createCodingTools,
  createPersonTools,
  type FileCheckpoints,
  openWorkspace,
  type SessionWorkspace,
} from '@halting/agent'
import type { Settings } from '@halting/policy/settings'
import { hasAnswers } from '@halting/journal'
import type { Plugins } from '@halting/agent/instructions'
import type { AnyTool } from '@halting/core'
import type { PermissionUpdate } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { nearest } from '../flags/nearest.ts'
import { UsageError } from '../usage-error.ts'
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

/** @throws UsageError, ConfigurationError and PermissionRuleError for flags that cannot be served. */
export function openToolbox(
  flags: Flags,
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
  settings: Settings = {},
  session: ToolboxSession = { sessionId: flags.sessionId ?? randomUUID(), readableFolders: [] },
): Toolbox {
  const { sessionId } = session
  // With `defer` somebody comes later.
  const asks = session.answersQuestions === true || flags.onAsk === 'defer'
  const { workspace, permissions, resultFiles, ownFolders } = openWorkspace({
    places: placesOf({ flags, env, ...(session.plugins !== undefined && { plugins: session.plugins }) }, cwd),
    sessionId,
    settings,
    env: toolEnvironment(env, [...(flags.passEnv ?? []), ...(settings.passEnvironment ?? [])]),
    additionalDirectories: (flags.addDir ?? []).map((path) => directoryOf(path, cwd)),
    readableFolders: session.readableFolders,
    mode: flags.dangerouslySkipPermissions === true ? 'bypassPermissions' : flags.permissionMode,
    mayBypass: flags.allowDangerouslySkipPermissions,
    allow: flags.allowedTools ?? [],
    deny: flags.disallowedTools ?? [],
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
  const wanted = wantedTools(flags.tools, names)
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
): ReadonlySet<string> | undefined {
  // The tool that starts agents was called Task first.
  const names = given.map((name) => (name === 'Task' ? 'Agent' : name))
  const stranger = names.find((name) => ![...known, 'default', 'none', 'Skill'].includes(name))
  if (stranger === undefined) return names.includes('default') ? undefined : new Set(names)
  const meant = nearest(stranger, known)
  throw new UsageError(
    `--tools takes names of ${known.toSorted().join(', ')}, default for all, or "" for none; there is no ${stranger}.` +
      (meant === undefined ? '' : ` Did you mean ${meant}?`),
  )
}

function directoryOf(path: string, cwd: string): string {
  const directory = resolve(cwd, path)
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true) return directory
  throw new UsageError(`--add-dir takes a directory that is there; "${path}" is not.`)
}
