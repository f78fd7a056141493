import { resolve } from 'node:path'
import type { JsonObject, MessageContent } from '@halting/core'
import { modelAliases } from '@halting/models'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { type Frontend, type LiveSession, openLiveSession } from '../flags/open-session.ts'
import { type Prepared } from '@halting/agent/open-session'
import { listedAliases, modelsWithKey } from '@halting/agent/session-settings'
import type { Control } from './control.ts'
import { faceOfHost } from './face.ts'
import type { Given } from './initialize.ts'
import type { Opened } from './opened.ts'
import { onlyText, statusCommands, withStatusCommands } from './status-commands.ts'

/** Opens the session that a host asked for. @throws UsageError and others for what cannot be served. */
export async function openForHost(given: Given, control: Control, program: Program): Promise<Opened> {
  const ofHost = await faceOfHost(given, control, program)
  const live = await openLiveSession(askedAfterRuns(given.flags), program, {
    ...ofHost.face,
    ...placeOf(given, program),
  })
  const { session, toolbox } = live
  await ofHost.begun(live)
  return {
    session,
    initFields: live.initFields,
    about: aboutOf(live),
    prepare: (content) => prepared(live, content),
    servers: live.servers,
    hostServers: ofHost.servers,
    env: live.run.env,
    begunWith: live.run.choices,
    commands: () => commandsOf(live),
    agents: () => agentsOf(live),
    plugins: live.plugins,
    readAnew: () => live.readAnew(),
    hasPlugin: (path) => live.run.plugins.all.some((plugin) => plugin.path === resolve(program.cwd, path)),
    keepsFiles: toolbox.workspace.checkpoints !== undefined,
    memoryFiles: () =>
      live.memoryFiles.map(({ path, text }) => ({ path, type: 'Project', tokens: Math.ceil(text.length / 4) })),
    agentTokens: () =>
      live.agents().map(({ name, description, level }) => ({
        agentType: name,
        source: level,
        tokens: Math.ceil((name.length + description.length) / 4),
      })),
    flush: async () => live.journal?.log.flush(),
    close: () => session.close(),
  }
}

/** What costs a request or a line after a run is for a host to ask for: settings are a person's, for sessions that a person sees (spec R-HOST-19). */
function askedAfterRuns(flags: Flags): Flags {
  const { includeAllMessages, promptSuggestions, hookSummary } = flags
  if (includeAllMessages === true) return flags
  return { ...flags, promptSuggestions: promptSuggestions === true, hookSummary: hookSummary === true }
}

/** In the words of the protocol: `interrupt` says what is still queued, and takes it back where it is asked to. */
const capabilities = ['interrupt_receipt_v1', 'interrupt_cancel_queued_v1']

/** The program is there for this session alone. */
function placeOf(
  { skills, title, toolAliases, planInstructions, summarizesAgents }: Given,
  { env }: Pick<Program, 'env'>,
): Partial<Frontend> {
  const isOff = env['CLAUDE_CODE_DISABLE_AGENT_PROGRESS_SUMMARIES'] === '1'
  const everyMs = Number(env['HALTING_AGENT_SUMMARY_MS'] ?? 30_000)
  return {
    isOneShot: true,
    capabilities,
    ownCommands: statusCommands.map(({ name }) => name),
    ...(skills !== undefined && { skills }),
    ...(title !== undefined && { title }),
    ...(toolAliases !== undefined && { toolAliases }),
    ...(planInstructions !== undefined && { planInstructions }),
    ...(summarizesAgents && !isOff && { agentSummaries: everyMs >= 0 ? { everyMs } : {} }),
  }
}

/** What `initialize` tells of it, but for what changes while the session lives. */
function aboutOf(live: LiveSession): JsonObject {
  const { outputStyle, models } = live
  return {
    commands: withStatusCommands(commandsOf(live)),
    agents: agentsOf(live),
    output_style: outputStyle,
    available_output_styles: ['default'],
    models: modelsOf(live),
    account: { apiKeySource: models.apiKeySource },
    claude_code_version: '2.1.0',
  }
}

function agentsOf({ agents }: LiveSession): readonly JsonObject[] {
  return agents().map(({ name, description, model }) => ({
    name,
    description,
    ...(model !== undefined && { model }),
  }))
}

function commandsOf({ commands }: LiveSession): readonly JsonObject[] {
  return commands().map(({ name, description, argumentHint }) => ({ name, description, argumentHint }))
}

const efforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const

/** The model of the start, short names, and those that can be asked for with the keys that are there. */
function modelsOf({ models, run }: LiveSession): readonly JsonObject[] {
  const { model } = models
  const known = modelsWithKey(run)
  const names = new Set(known.map(({ name }) => name))
  const aliases = Object.entries(modelAliases()).filter(([, name]) => names.has(name))
  const effort = { supportsEffort: true, supportedEffortLevels: efforts }
  return [
    { value: 'default', displayName: 'Default', description: model.id, ...effort },
    ...aliases.map(([value, name]) => ({ value, displayName: value, description: name, ...effort })),
    ...listedAliases(run.settings).map(({ name, model: behind }) => ({
      value: name,
      displayName: name,
      description: behind,
    })),
    ...known.map(({ name, contextWindow }) => ({
      value: name,
      displayName: name,
      description: `${Math.round(contextWindow / 1000)}k tokens`,
      ...(!name.includes('/') && effort),
    })),
  ]
}

/** Commands and names of files stand in texts; blocks of other kinds go as they are. */
function prepared(live: LiveSession, content: MessageContent): Prepared | Promise<Prepared> {
  const text = onlyText(content)
  return mayNameSomething.test(text) ? live.prepare(text) : { content }
}

/** What has neither is sent at once, as it is. */
const mayNameSomething = /^\s*\/|@/
