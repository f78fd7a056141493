import type { SessionEvent } from '@halting/core/session'
import type { JsonObject } from '@halting/core'
import type { FlagName, Flags } from '../flags/flags.ts'
import { type Control, ControlError } from '../host/control.ts'
import { HostServers } from '../host/host-servers.ts'
import type { InitializeRequest } from '../host/initialize.ts'
import type { HostSession } from '../host/host-session.ts'
import { answerLimitsByHost } from '../host/limit-questions.ts'
import { answerByHost } from '../host/questions.ts'
import { statusCommands, withStatusCommands } from '../host/status-commands.ts'
import { programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { checkMode } from '../frontends/check-mode.ts'
import { UsageError } from '../usage-error.ts'
import { openRemoteSession } from './remote-session.ts'
import { withPartialMessages } from './partial-messages.ts'
import { permissionRequestLine } from './request-lines.ts'
import { clusterResumeCommand } from './resume-command.ts'

/** Flags that this frontend supports in addition to those that open a session. */
const supportedFlags: readonly FlagName[] = [
  'print',
  'inputFormat',
  'outputFormat',
  'verbose',
  'debug',
  'replayUserMessages',
  'includeAllMessages',
  'awaitInitialize',
  'includePartialMessages',
  'permissionPromptTool',
  'permissionPrompts',
  'permissionMode',
]

/** Opens the cluster session that a host asked for (spec R-HOST-17). @throws UsageError for options that only local sessions support */
export async function openClusterSessionForHost(
  given: InitializeRequest,
  control: Control,
  program: Program,
): Promise<HostSession> {
  refuseUnsupportedFields(given)
  const { output } = program
  const note = (text: string): void => output.err(programMessage(text))
  const flags = withoutSdkDefaults(given.flags, note)
  const { permissionPromptTool, permissionPrompts, permissionMode, cluster = '' } = flags
  const asks = permissionPrompts === 'none' ? undefined : permissionPromptTool
  if (asks !== undefined && asks !== 'stdio')
    throw new UsageError(
      `--permission-prompt-tool ${asks} cannot be combined with --cluster, whose sessions use the MCP servers of the worker. Use stdio to ask the host.`,
    )
  const { session } = await openRemoteSession(flags, program, { supportedFlags, note })
  if (permissionMode !== undefined) session.set({ permissionMode: checkMode(permissionMode, session.snapshot) })
  answerLimitsByHost(session, withdrawWhenHostIsGone(control))
  if (asks === 'stdio') answerByHost(session, withdrawWhenHostIsGone(control))
  else
    session.listen((event) => {
      if (event.type === 'question') output.err(permissionRequestLine(session.id, event.question, cluster))
    })
  return {
    session,
    initFields: () => ({
      cwd: session.snapshot.cwd,
      tools: [],
      mcp_servers: [],
      slash_commands: statusCommands.map(({ name }) => name),
      output_style: 'default',
      skills: [],
      plugins: [],
      apiKeySource: 'none',
      claude_code_version: initializeResponse['claude_code_version'] ?? null,
    }),
    initializeResponse,
    prepare: (content) => ({ content }),
    servers: undefined,
    hostServers: new HostServers(control),
    env: program.env,
    commands: () => [],
    agents: () => [],
    plugins: () => ({ all: [], problems: [] }),
    reload: () => Promise.resolve(),
    hasPlugin: () => false,
    hasFileCheckpoints: false,
    memoryFiles: () => [],
    agentTokens: () => [],
    unsupported: unavailableRequests,
    interceptEvents: (next) => withPartialEvents(session.id, flags.includePartialMessages === true, next),
    detached: {
      isWaiting: () => session.snapshot.status === 'requires_action',
      message: `the session stays on the cluster, and waits for an answer: halting sessions --cluster ${cluster}`,
      leaveMessage: () =>
        session.snapshot.status === 'idle'
          ? undefined
          : `the run continues on the cluster. Resume: ${clusterResumeCommand(session.id, cluster)}`,
    },
    // The cluster stores a prompt before it reports anything about it.
    flush: undefined,
    close: () => session.close(),
  }
}

const initializeResponse: JsonObject = {
  commands: withStatusCommands([]),
  agents: [],
  output_style: 'default',
  available_output_styles: ['default'],
  models: [],
  account: {},
  claude_code_version: '2.1.0',
}

const setByWorker = 'permissions and servers are set where the worker starts (halting serve).'

/** Requests that only local sessions support, with the message for the host. */
const unavailableRequests: NonNullable<HostSession['unsupported']> = {
  mcp_status: `mcp_status is not available with --cluster. system/init of each run names the servers of the worker.`,
  mcp_set_servers: `mcp_set_servers is not available with --cluster: ${setByWorker}`,
  mcp_reconnect: `mcp_reconnect is not available with --cluster: the servers are those of the worker.`,
  mcp_toggle: `mcp_toggle is not available with --cluster: the servers are those of the worker.`,
  mcp_message: `mcp_message is not available with --cluster: a worker cannot reach a server in the host's process.`,
  rewind_files: `rewind_files is not available with --cluster: the files are on the worker.`,
  reload_skills: `reload_skills is not available with --cluster: the worker reads them when it opens the session.`,
  reload_plugins: `reload_plugins is not available with --cluster: the worker reads them when it opens the session.`,
}

/** @throws UsageError for fields of `initialize` that a worker does not support. Fields that are also flags are refused by their flag names. */
function refuseUnsupportedFields(given: InitializeRequest): void {
  const { hooks, sdkServers, skills, toolAliases, planInstructions, title, summarizesAgents } = given
  const names = Object.entries({
    hooks: hooks !== undefined && Object.keys(hooks).length > 0,
    sdkMcpServers: sdkServers.length > 0,
    skills: skills !== undefined,
    toolAliases: toolAliases !== undefined,
    planModeInstructions: planInstructions !== undefined,
    title: title !== undefined,
    agentProgressSummaries: summarizesAgents,
  }).flatMap(([name, isGiven]) => (isGiven ? [name] : []))
  if (names.length > 0)
    throw new UsageError(`initialize: ${names.join(', ')} cannot be used with --cluster: ${setByWorker}`)
}

/** SDKs always send an empty system prompt and no settings files. On a cluster both come from the worker, so these defaults are ignored. */
function withoutSdkDefaults(flags: Flags, note: (text: string) => void): Flags {
  const { systemPrompt, settingSources, ...others } = flags
  if (systemPrompt === '') note('the system prompt of the worker applies: an empty one cannot be used with --cluster.')
  return {
    ...others,
    ...(systemPrompt !== undefined && systemPrompt !== '' && { systemPrompt }),
    ...(settingSources !== undefined && settingSources.join() !== 'none' && { settingSources }),
  }
}

/** If the host has disconnected, its permission request is withdrawn instead of denied, so that other clients of the cluster can answer it. */
function withdrawWhenHostIsGone(control: Control): Pick<Control, 'request'> {
  return {
    async request(...asked) {
      try {
        return await control.request(...asked)
      } catch (thrown) {
        if (thrown instanceof ControlError && thrown.code === 'gone')
          throw new ControlError('withdrawn', thrown.message)
        throw thrown
      }
    },
  }
}

/** Emits partial messages if the host asked for them, regardless of the flags of the worker. */
function withPartialEvents(
  sessionId: string,
  isWanted: boolean,
  next: (event: SessionEvent) => void,
): (event: SessionEvent) => void {
  const nothing = (): void => undefined
  const watcher = withPartialMessages(
    {
      onEvent: (event) => next({ type: 'loop', event }),
      see: (message) => next({ type: 'message', message }),
      end: nothing,
      after: nothing,
      release: nothing,
    },
    sessionId,
    isWanted,
  )
  return (event) => {
    if (event.type === 'loop') watcher.onEvent(event.event)
    else if (event.type === 'message') watcher.see(event.message)
    else next(event)
  }
}
