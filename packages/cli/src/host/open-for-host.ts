import { resolve } from 'node:path'
import type { JsonObject, MessageContent } from '@halting/core'
import { modelAliases } from '@halting/models'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { type Frontend, type LiveSession, openLiveSession } from '../flags/open-session.ts'
import type { Prepared } from '@halting/agent/open-session'
import { listedAliases, modelsWithKey } from '@halting/agent/session-settings'
import type { Control } from './control.ts'
import type { InitializeRequest } from './initialize.ts'
import type { HostSession } from './host-session.ts'
import { onlyText, statusCommands, withStatusCommands } from './status-commands.ts'
import { oneLine, programMessage } from '../io/figures.ts'
import { HostServers, rulesOfServers } from './host-servers.ts'

/**
 * Opens the session that a host requested.
 * @throws UsageError and others if it cannot be opened.
 */
export async function openForHost(given: InitializeRequest, control: Control, program: Program): Promise<HostSession> {
  const hostFrontend = await createHostFrontend(given, control, program)
  const live = await openLiveSession(flagsWithoutAfterRunSettings(given.flags), program, {
    ...hostFrontend.frontend,
    ...frontendOptions(given, program),
  })
  const { session, toolbox } = live
  await hostFrontend.onSessionOpened(live)
  return {
    session,
    initFields: live.initFields,
    initializeResponse: initializeResponseOf(live),
    prepare: (content) => preparePrompt(live, content),
    servers: live.servers,
    hostServers: hostFrontend.servers,
    env: live.run.env,
    initialFlags: live.run.choices,
    commands: () => commandsOf(live),
    agents: () => agentsOf(live),
    plugins: live.plugins,
    reload: () => live.reload(),
    hasPlugin: (path) => live.run.plugins.all.some((plugin) => plugin.path === resolve(program.cwd, path)),
    hasFileCheckpoints: toolbox.workspace.checkpoints !== undefined,
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

/** The flags without settings that cost requests or lines after a run: a host requests such stages itself (spec R-HOST-19). */
function flagsWithoutAfterRunSettings(flags: Flags): Flags {
  const { includeAllMessages, promptSuggestions, hookSummary } = flags
  if (includeAllMessages === true) return flags
  return { ...flags, promptSuggestions: promptSuggestions === true, hookSummary: hookSummary === true }
}

/** Names of the protocol: `interrupt` reports the queued messages, and cancels them on request. */
const capabilities = ['interrupt_receipt_v1', 'interrupt_cancel_queued_v1']

/** Options that follow from the fact that the program serves only this session. */
function frontendOptions(
  { skills, title, toolAliases, planInstructions, summarizesAgents }: InitializeRequest,
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

/** The response to `initialize`, without what changes during the session. */
function initializeResponseOf(live: LiveSession): JsonObject {
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

/** The initial model, aliases, and the models for which a key is available. */
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

/** Expands commands and file names in a text; blocks of other types stay unchanged. */
function preparePrompt(live: LiveSession, content: MessageContent): Prepared | Promise<Prepared> {
  const text = onlyText(content)
  return mayNameSomething.test(text) ? live.prepare(text) : { content }
}

/** A text that contains neither is sent immediately. */
const mayNameSomething = /^\s*\/|@/

/** What a host provides to a session: answers, hooks, MCP servers. */
interface HostFrontend {
  readonly frontend: Frontend
  readonly servers: HostServers
  /** Called when the session is open, before its first request. */
  onSessionOpened(live: LiveSession): Promise<void>
}

/** Modules are loaded only for features that the host uses. */
async function createHostFrontend(given: InitializeRequest, control: Control, program: Program): Promise<HostFrontend> {
  const { flags, sdkServerConfigs, isInitialized } = given
  const { permissionPromptTool: asked, permissionPrompts } = flags
  const promptTool = permissionPrompts === 'none' ? undefined : asked
  const answersQuestions = promptTool === 'stdio'
  const servers = new HostServers(control)
  const hooks = await readHooks(given, control, program)
  return {
    servers,
    frontend: {
      answersQuestions,
      // A host that answers permission requests expects to be asked (spec R-EFRONT-1).
      confinesEdits: promptTool === undefined,
      verifyDefault: 'off',
      ...(promptTool !== undefined && !answersQuestions && { permissionTool: promptTool }),
      ...(hooks !== undefined && { hooks }),
      servers: servers.begin(given),
      // The Python SDK names its own servers in this configuration.
      inHost: (name, server) => servers.entry(name, server),
      // A host that only sends messages answers no questions.
      ...(isInitialized && {
        elicit: async (...question) => (await import('./callbacks.ts')).elicitByHost(control, ...question),
      }),
    },
    async onSessionOpened({ session, toolbox: { permissions } }) {
      if (answersQuestions) (await import('./questions.ts')).answerByHost(session, control)
      ;(await import('./limit-questions.ts')).answerLimitsByHost(session, control)
      const { ask, deny } = await rulesOfServers(sdkServerConfigs)
      if (deny.length > 0) permissions.addRules('deny', deny)
      if (ask.length > 0) permissions.addRules('ask', ask)
    },
  }
}

async function readHooks(
  { hooks }: InitializeRequest,
  control: Control,
  { output }: Program,
): Promise<Frontend['hooks']> {
  if (hooks === undefined) return undefined
  const { hooksOfHost } = await import('./callbacks.ts')
  const { hooks: read, warnings } = hooksOfHost(hooks, control)
  for (const line of warnings) output.err(programMessage(oneLine(line, 500)))
  return read
}
