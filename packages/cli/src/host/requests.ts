import { isDeepStrictEqual } from 'node:util'
import type { Session, ContextUsage } from '@halting/core/session'
import {
  type Json,
  type JsonObject,
  type LimitsChange,
  type SettingsChange,
  ConfigurationError,
  type Usage,
} from '@halting/core'
import { isJsonObject, messageOf, maxGoalTriesAllowed } from '@halting/core/adapters'
import { limitFlags, limitNames } from '../flags/limit-flags.ts'
import { goalTries } from '../flags/values.ts'
import { checkMode } from '../frontends/check-mode.ts'
import { settableLimits } from '../frontends/settable-limits.ts'
import { oneLine } from '../io/figures.ts'
import { UsageError } from '../usage-error.ts'
import type { ControlResponse, Control, HostRequest } from './control.ts'
import type { InitializeRequest } from './initialize.ts'
import type { HostSession } from './host-session.ts'
import type { RequestHandler, RequestContext } from './request-context.ts'
import { serverStatus } from './server-status.ts'
import { mcpNameOf } from '../io/mcp-name.ts'
import { pluginRow } from '@halting/agent/session-settings'
import { withStatusCommands } from './status-commands.ts'

/** Requests that reload skills and plugins, by subtype (spec R-HOST-15). */
const reloadRequests: { readonly [subtype: string]: RequestHandler } = {
  async reload_skills(_fields, { hostSession: opened }) {
    await opened.reload()
    return { response: { skills: opened.commands() } }
  },
  async reload_plugins({ add_plugins: more, refuse_if_busy: refuses }, { hostSession: opened }) {
    if (Array.isArray(more) && more.length > 0)
      throw new ConfigurationError('Plugins can be added only when a session starts. Nothing was reloaded.')
    if (refuses === true && opened.session.snapshot.status !== 'idle')
      throw new ConfigurationError('A run is in progress. Nothing was reloaded.')
    await opened.reload()
    const { all, problems } = opened.plugins()
    return {
      response: {
        commands: withStatusCommands(opened.commands()),
        agents: opened.agents(),
        plugins: all.map(pluginRow),
        mcpServers: (opened.servers?.statuses() ?? []).map(serverStatus),
        error_count: problems.length,
      },
    }
  },
}

/** Requests about MCP servers, by subtype (spec R-HOST-14). */
const mcpRequests: { readonly [subtype: string]: RequestHandler } = {
  async mcp_set_servers({ servers: given }, { hostSession: opened }) {
    const entries = await opened.hostServers.entries(given, opened.env)
    const { added, removed, errors } = await requireServers(opened).replace(entries)
    return { response: { added, removed, errors } }
  },
  async mcp_reconnect({ serverName }, { hostSession: opened }) {
    await requireServers(opened).reconnect(requireServerName(serverName))
    return { response: {} }
  },
  async mcp_toggle({ serverName, enabled }, { hostSession: opened }) {
    if (typeof enabled !== 'boolean') throw new UsageError('The request needs "enabled": true or false.')
    await requireServers(opened).toggle(requireServerName(serverName), { isOn: enabled })
    return { response: {} }
  },
  mcp_message(fields, { hostSession: opened }) {
    opened.hostServers.receive(fields)
    return { response: {} }
  },
}

function requireServers({
  servers,
}: RequestContext['hostSession']): NonNullable<RequestContext['hostSession']['servers']> {
  if (servers === undefined) throw new UsageError('This session does not support MCP servers.')
  return servers
}

function requireServerName(value: Json | undefined): string {
  if (typeof value === 'string' && value !== '') return value
  throw new UsageError('The request needs "serverName", a string.')
}

/** The requests of hosts, by subtype (spec R-HOST-6). */
const handlers: { readonly [subtype: string]: RequestHandler } = {
  interrupt({ cancel_queued: cancels }, { hostSession: { session } }) {
    const { stillQueued, givenBack } = session.interrupt({ queue: cancels === true ? 'give_back' : 'keep' })
    return {
      response: {
        still_queued: stillQueued.map(({ id }) => id),
        ...(cancels === true && { cancelled: givenBack.map(({ id }) => id) }),
      },
    }
  },
  cancel_async_message: ({ message_uuid: id }, { hostSession: { session } }) => ({
    response: { cancelled: session.retract(requireText('message_uuid', id)) },
  }),
  set_permission_mode({ mode: given }, { hostSession: { session } }) {
    const mode = checkMode(requireText('mode', given), session.snapshot)
    session.set({ permissionMode: mode })
    return { response: { mode } }
  },
  set_model({ model: given }, { hostSession: { session } }) {
    const isDefault = given === undefined || given === null || given === 'default'
    session.set({ model: isDefault ? null : requireText('model', given) })
    return { response: { model: session.snapshot.model } }
  },
  set_max_thinking_tokens({ max_thinking_tokens: tokens }, { hostSession: { session } }) {
    session.set({ thinking: readThinking(tokens) })
    return {}
  },
  mcp_status: (_fields, { hostSession: { servers } }) => ({
    response: { mcpServers: (servers?.statuses() ?? []).map(serverStatus) },
  }),
  ...mcpRequests,
  async get_context_usage(_fields, { hostSession: opened }) {
    return { response: contextAnswer(await opened.session.contextUsage(), opened) }
  },
  rewind_files: rewindFiles,
  async stop_task({ task_id: id }, { hostSession: { session } }) {
    await session.stopTask(requireText('task_id', id))
    return { response: {} }
  },
  background_tasks() {
    throw new ConfigurationError(
      'A running call cannot be moved to the background. Start commands and agents there with run_in_background.',
    )
  },
  // The response reports whether anything was waiting.
  retry_now: (_fields, { hostSession: { session } }) => ({ response: { retried: session.retryNow() } }),
  ...reloadRequests,
  apply_flag_settings({ settings }, serving) {
    applySettings(settings, serving.hostSession.session)
    return { response: {} }
  },
}

/** Serves one request. @throws an error whose message becomes the error of the response. */
export function serveRequest(
  request: HostRequest,
  serving: RequestContext,
): ControlResponse | Promise<ControlResponse> {
  const serve = Object.hasOwn(handlers, request.subtype) ? handlers[request.subtype] : undefined
  if (serve === undefined) throw new UsageError(`Unsupported control request subtype: ${request.subtype}`)
  const { unsupported: notHere = {} } = serving.hostSession
  if (Object.hasOwn(notHere, request.subtype)) throw new UsageError(notHere[request.subtype] ?? '')
  return serve(request.fields, serving)
}

interface InitializeContext {
  readonly fields: JsonObject
  /** The first request, which opened the session; undefined if a message came before it. */
  readonly first: { readonly fields: JsonObject; readonly given: InitializeRequest } | undefined
  readonly control: Pick<Control, 'unanswered'>
}

/** @throws UsageError for a request with other options than the open session has. */
export function answerInitialize(
  { session, initializeResponse: about, hasPlugin }: HostSession,
  { fields, first, control }: InitializeContext,
): ControlResponse {
  const { subtype: _, ...asked } = fields
  const { subtype: __, ...begunWith } = first?.fields ?? {}
  if (!isDeepStrictEqual(asked, begunWith) && Object.keys(asked).length > 0)
    throw new UsageError('The session is already open with other options. Send initialize before the first message.')
  const { permissionMode, status } = session.snapshot
  const { provides: names, plugins } = first?.given ?? {}
  return {
    response: {
      ...about,
      current_permission_mode: permissionMode,
      session_state: status === 'closed' ? 'idle' : status,
      ...(names?.hooks === true && { hooks_applied: true }),
      hook_on_failure_supported: true,
      ...(names?.servers === true && { mcp_servers_applied: true }),
      ...(plugins !== undefined && { plugins_applied: plugins.every((path) => path !== undefined && hasPlugin(path)) }),
    },
    extraFields: {
      pending_permission_requests: control.unanswered('can_use_tool'),
      pending_user_dialog_requests: [],
    },
  }
}

function readThinking(tokens: Json | undefined): NonNullable<SettingsChange['thinking']> | null {
  if (tokens === undefined || tokens === null) return null
  if (typeof tokens !== 'number' || !Number.isSafeInteger(tokens) || tokens < 0)
    throw new UsageError('max_thinking_tokens must be a whole number, or null.')
  return tokens === 0 ? { type: 'disabled' } : { type: 'enabled', budgetTokens: tokens }
}

async function rewindFiles(
  { user_message_id: id, dry_run: isDry }: JsonObject,
  { hostSession: { session, hasFileCheckpoints: keepsFiles } }: RequestContext,
): Promise<ControlResponse> {
  const before = requireText('user_message_id', id)
  if (!keepsFiles) throw new ConfigurationError('File rewinding is not enabled.')
  try {
    const rewound = await session.rewind({ before, what: 'files', dryRun: isDry === true })
    const { files, insertions, deletions, left } = rewound
    const notReverted = left.map(({ path, because }) => `${path} (${because})`).join(', ')
    return {
      response: {
        canRewind: true,
        filesChanged: files,
        insertions,
        deletions,
        ...(notReverted !== '' && { error: `Not reverted: ${notReverted}` }),
      },
    }
  } catch (thrown) {
    return { response: { canRewind: false, error: messageOf(thrown) } }
  }
}

/** Applies settings to an open session, all of them or none (spec R-HOST-6a). */
function applySettings(settings: Json | undefined, session: Session): void {
  if (!isJsonObject(settings)) throw new UsageError('apply_flag_settings needs settings: {"model": "…"}.')
  const { model, permissions, until, untilTries, limits, ...others } = settings
  if (permissions !== undefined && !isJsonObject(permissions))
    throw new UsageError('apply_flag_settings: permissions must be an object, such as {"defaultMode": "plan"}.')
  const { defaultMode, ...rules } = permissions ?? {}
  const unknownNames = [...Object.keys(others), ...Object.keys(rules).map((name) => `permissions.${name}`)]
  if (unknownNames.length > 0)
    throw new UsageError(
      `${unknownNames.join(', ')} cannot be set while the session is open. Nothing was set. Settable: model, permissions.defaultMode, until, untilTries, limits.`,
    )
  const changed = {
    ...(limits !== undefined && readLimits(limits)),
    ...(untilTries !== undefined && { maxGoalTries: readTries(untilTries) }),
  }
  session.set({
    ...(defaultMode !== undefined && {
      permissionMode: checkMode(requireText('permissions.defaultMode', defaultMode), session.snapshot),
    }),
    ...(model !== undefined && { model: model === null ? null : requireText('model', model) }),
    ...(until !== undefined && { until: until === null ? null : readGoals(until) }),
    ...(Object.keys(changed).length > 0 && { limits: changed }),
  })
}

/** Limits by the names of the settings; null removes one. A duration is a string, such as `10m`. */
function readLimits(given: Json): LimitsChange {
  if (!isJsonObject(given)) throw new UsageError('limits must be an object, such as {"maxRunUsd": 5}.')
  const names = limitNames.filter((name) => name !== 'maxGoalTries')
  const byFlag = new Map(names.map((name) => [limitFlags[name] as string, name]))
  return Object.fromEntries(
    Object.entries(given).map(([key, value]) => {
      const name = byFlag.get(key)
      if (name === undefined)
        throw new UsageError(`Unknown limit ${oneLine(key, 100)}. Limits: ${[...byFlag.keys()].join(', ')}.`)
      if (value === null) return [name, null]
      const text = name === 'maxDurationMs' ? value : typeof value === 'number' ? String(value) : ''
      const read = settableLimits[name].parse(typeof text === 'string' ? text : '')
      if ('value' in read) return [name, read.value]
      throw new UsageError(`limits.${key} must be ${read.expected}, or null.`)
    }),
  )
}

/** Commands that replace the goals of the session; an empty list removes them. The number makes the tries start over. */
function readGoals(until: Json): NonNullable<SettingsChange['until']> {
  const commands = typeof until === 'string' ? [until] : until
  if (!Array.isArray(commands) || commands.some((each) => typeof each !== 'string' || each.trim() === ''))
    throw new UsageError('until must be a list of commands, such as ["npm test"].')
  // This cast is safe: the values were checked above.
  return (commands as readonly string[]).map((name) => ({ name, set: Date.now() }))
}

function readTries(untilTries: Json): number {
  const read = typeof untilTries === 'number' ? goalTries(String(untilTries)) : undefined
  if (read !== undefined && 'value' in read) return read.value
  throw new UsageError(`untilTries must be a whole number from 1 to ${maxGoalTriesAllowed}.`)
}

function requireText(name: string, value: Json | undefined): string {
  if (typeof value === 'string' && value !== '') return value
  throw new UsageError(`The request needs "${name}", a string.`)
}

/** What fills the context window, in the form that hosts read. They show colours by name. */
function contextAnswer(usage: ContextUsage, { session, memoryFiles, agentTokens }: HostSession): JsonObject {
  const { totalTokens, maxTokens, compactsAt, categories, tools, lastUsage } = usage
  const window = maxTokens ?? 0
  const free = Math.max(0, window - totalTokens)
  return {
    categories: [
      ...categories.map(({ name, tokens }, at) => ({
        name,
        tokens,
        color: colours[at % colours.length] ?? 'inactive',
        kind: 'used',
      })),
      ...(window > 0 ? [{ id: 'free_space', name: 'Free space', tokens: free, color: 'inactive', kind: 'free' }] : []),
    ],
    totalTokens,
    maxTokens: window,
    rawMaxTokens: window,
    percentage: window > 0 ? Math.round((totalTokens / window) * 100) : 0,
    gridRows: [],
    model: session.snapshot.model,
    memoryFiles: memoryFiles(),
    mcpTools: tools.flatMap(({ name, tokens }) => {
      const { server } = mcpNameOf(name) ?? {}
      return server === undefined ? [] : [{ name, serverName: server, tokens, isLoaded: true }]
    }),
    agents: agentTokens(),
    ...(compactsAt !== null && { autoCompactThreshold: compactsAt }),
    isAutoCompactEnabled: compactsAt !== null,
    apiUsage: lastUsage === null ? null : usageOf(lastUsage),
  }
}

/** The four counters that the protocol has. */
function usageOf(usage: Usage): JsonObject {
  const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens } = usage
  return { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens }
}

const colours = ['promptBorder', 'claude', 'cyan', 'permission', 'warning', 'purple'] as const
