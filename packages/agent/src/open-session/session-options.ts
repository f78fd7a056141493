import type { Goal, JsonObject, LimitsChange, RunEvent, RunOptions } from '@halting/core'
import type { VerificationMode } from '../checks/verification.ts'
import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import type { ChosenSession } from './chosen-session.ts'
import type { RunSettings } from './run-settings.ts'
import type { Toolbox, Toolset } from './toolbox.ts'
import type { CanUseTool } from '@halting/core/adapters'
import type { ShellHookTable } from '../hooks/settings.ts'
import type { SessionParts } from '@halting/core/session'
import type { McpServerEntry } from '../mcp/config.ts'
import type { SessionServersOptions } from '../mcp/session-servers.ts'
import type { SessionServers } from './mcp.ts'
import type { RunLimitDefault, WaitDefault } from './chosen-limits.ts'
import type { AroundModel, Models } from './models.ts'

/** What a frontend provides to a session. Only `answersQuestions` is required. */
export interface SessionFrontend {
  /** Whether a user or a program answers questions, by `Session.answer`. */
  readonly answersQuestions: boolean
  // Spec R-EFRONT-1.
  /**
   * In mode `acceptEdits`, commands that no rule covers run confined to the workspace, unless a settings file decides.
   * Default: they require permission, because a program that answers permission requests expects to receive them.
   */
  readonly confinesEdits?: boolean
  /** The default cost limit of each run (default: none). */
  readonly runLimit?: RunLimitDefault
  /** The default verification mode (default: `tell`). With `off`, the setting is ignored. */
  readonly verifyDefault?: VerificationMode
  /**
   * Maximum values to which limits may be raised at a pause, in addition to an administrator's: for example those of a
   * worker's settings.
   */
  readonly limitCeilings?: (settings: RunSettings['settings']) => LimitsChange
  /** The default for how long runs wait for services (default: not at all). */
  readonly waitDefault?: WaitDefault
  /** Answers permission requests in place of the user. */
  readonly canUseTool?: CanUseTool
  /** The tool of a server that answers permission requests (`--permission-prompt-tool`). */
  readonly permissionTool?: string
  /** Hooks of the host, which follow those of the settings. */
  readonly hooks?: ShellHookTable
  /** Servers that precede those of choices and settings. If the list is empty, servers may be added later. */
  readonly servers?: readonly McpServerEntry[]
  /** Creates a server that, according to `--mcp-config`, is in the host's process. */
  readonly inHost?: (name: string, server: JsonObject) => McpServerEntry
  /** Asks the user for input that a server requests. */
  readonly elicit?: NonNullable<SessionServersOptions['elicit']>
  /**
   * What happens to commands that are still running when a run would end, if neither choices nor settings decide
   * (default: the run waits).
   */
  readonly background?: 'wait' | 'stop' | 'keep'
  /**
   * What happens to an answer with unmet goals if no tool was called since the last message or attempt: the model is
   * sent back to work, or (`end`) the answer is left to the user. Default: the model is sent back, even if questions
   * are answered, because a program may answer them.
   */
  readonly unmetWithoutWork?: NonNullable<RunOptions['unmetWithoutWork']>
  /** Commands that the frontend handles itself, listed in `system/init`. */
  readonly ownCommands?: readonly string[]
  /** Capabilities that `system/init` reports to programs. */
  readonly capabilities?: readonly string[]
  /**
   * External storage of the session, such as a cluster, with its recorded state: the storage determines the session,
   * and no file is written.
   */
  readonly kept?: NonNullable<SessionParts['journal']> & {
    /** Id of the session. */
    readonly sessionId: string
  }
  /** The clock (default: that of the system). */
  readonly clock?: NonNullable<RunOptions['clock']>
  /** Wraps each model of the session, for example to wait for a slot. */
  readonly aroundModel?: AroundModel
  /** The title of the session in lists; a resumed session keeps its own. */
  readonly title?: string
  /** Names of tools that stand for other tools. */
  readonly toolAliases?: NonNullable<RunOptions['toolAliases']>
  /** Enables one-line progress summaries of subagents. */
  readonly agentSummaries?: {
    /** Minimum time between two summaries of one subagent, in milliseconds. */
    readonly everyMs?: number
  }
  /** Instructions for plan mode, which replace the built-in ones. */
  readonly planInstructions?: string
  /** Names of the skills to offer (default: all). */
  readonly skills?: readonly string[]
  /** Whether to remove sessions that have not been used for long, as the settings say. */
  readonly removesOldSessions?: boolean
  /** The first prompt, if it is known: a command in the prompt may name a model. */
  readonly firstPrompt?: string
  /**
   * The part of the first prompt that the user typed, without piped input: notes are extracted only from that part.
   * Default: no part.
   */
  readonly typedText?: string
  /** Called when everything that may fail has been opened, and nothing is on disk yet. An error reverts everything. */
  readonly ready?: () => Promise<void>
  /** Creates the models, in place of those that the choices name. */
  readonly openModels?: () => Promise<Models>
  /**
   * Set if another party chooses the model: only provider packages of these models and of the settings are loaded
   * (default: any).
   */
  readonly packagesOf?: readonly string[]
  /** Goals, in place of `SessionChoices.until`: a program may have its own. */
  readonly until?: readonly (string | Goal)[]
  /** The tools, in place of `SessionChoices.tools`. */
  readonly toolset?: Toolset
  /** Called while servers are being connected, before agents are read. */
  readonly onServers?: (servers: SessionServers) => Promise<void>
  /** Called once the settings are read, before anything is opened. */
  readonly onSettings?: (settings: RunSettings) => void
  /** Chooses the session (default: a new one). `ports` has the environment including that of the settings. */
  readonly chooseSession?: (ports: SessionPorts) => Promise<ChosenSession>
  /** Observes the events of the session, for example for telemetry; undefined if not needed. */
  readonly openListener?: (toolbox: Toolbox, ports: SessionPorts) => Promise<SessionListener | undefined>
}

/** Receives the events of a session until it ends. */
export interface SessionListener {
  /** An event of a run. */
  onEvent(event: RunEvent): void
  /** The session has ended. */
  end(): Promise<void>
}

/** Options of `openSession`. */
export interface SessionOptions<Choices extends SessionChoices = SessionChoices> extends SessionFrontend {
  /** The choices for the session. */
  readonly choices: Choices
  /** What the process provides. */
  readonly ports: SessionPorts
}
