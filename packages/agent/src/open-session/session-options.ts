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

/** What a frontend gives a session. All of it is optional but for who answers questions. */
export interface SessionFrontend {
  /** Somebody answers questions, by `Session.answer`. */
  readonly answersQuestions: boolean
  // Spec R-EFRONT-1.
  /**
   * In `acceptEdits`, commands that no rule covers run confined to the workspace where no settings file says whether they do. They ask without it, since a
   * program that answers permission requests counts on seeing them.
   */
  readonly confinesEdits?: boolean
  /** A limit of dollars for each run that nobody limited. None without it. */
  readonly runLimit?: RunLimitDefault
  /** What follows where a change was not checked and neither choices nor settings say it: `tell` when absent. With `off` settings have no say. */
  readonly verifyDefault?: VerificationMode
  /** What limits may be raised to at a pause, beside what an administrator allows: a worker's own limits, such as its settings say. */
  readonly limitCeilings?: (settings: RunSettings['settings']) => LimitsChange
  /** How long runs wait for services where nobody says it. Not at all without it. */
  readonly waitDefault?: WaitDefault
  /** Answers questions in place of that, such as a tool of a server. */
  readonly canUseTool?: CanUseTool
  /** A tool of a server answers questions (`--permission-prompt-tool`). */
  readonly permissionTool?: string
  /** Hooks of whoever drives the program; they stand behind those of the settings. */
  readonly hooks?: ShellHookTable
  /** Servers that go before those of choices and settings. Where there are none, some may come later. */
  readonly servers?: readonly McpServerEntry[]
  /** A server that `--mcp-config` says to be in the process of whoever drives the program. */
  readonly inHost?: (name: string, server: JsonObject) => McpServerEntry
  /** Asks a person what a server wants to know. */
  readonly elicit?: NonNullable<SessionServersOptions['elicit']>
  /** What becomes of commands that still run when a run would end, unless choices or settings say it: they are waited for without it. */
  readonly background?: 'wait' | 'stop' | 'keep'
  /** An answer for which the goals do not hold, and before which no tool was called since the last message or try: sent back, or (`end`) left to the person. Sent back unless said otherwise, also where somebody answers questions: that may be a program. */
  readonly unmetWithoutWork?: NonNullable<RunOptions['unmetWithoutWork']>
  /** Commands that the frontend answers by itself: `system/init` lists them. */
  readonly ownCommands?: readonly string[]
  /** What a program that reads `system/init` may count on. */
  readonly capabilities?: readonly string[]
  /** Who else keeps the session, such as a cluster, and what is on record of it: it is chosen by nobody else then, and no file is written. */
  readonly kept?: NonNullable<SessionParts['journal']> & {
    /** Id of the session. */
    readonly sessionId: string
  }
  /** Where time comes from. Default: the system's clock. */
  readonly clock?: NonNullable<RunOptions['clock']>
  /** Put around each of its models, such as a wait for a turn. */
  readonly aroundModel?: AroundModel
  /** What the session is called in lists; one that goes on keeps its own. */
  readonly title?: string
  /** Which tool a call by another name is of. */
  readonly toolAliases?: NonNullable<RunOptions['toolAliases']>
  /** Subagents say in a line what they do, so often. */
  readonly agentSummaries?: {
    /** Least milliseconds between two lines of one subagent. */
    readonly everyMs?: number
  }
  /** How a plan is made in plan mode, in place of our words. */
  readonly planInstructions?: string
  /** Names of the only skills that the model is shown. */
  readonly skills?: readonly string[]
  /** Sessions that nobody touched for long are removed while it runs, as the settings say. */
  readonly removesOldSessions?: boolean
  /** The prompt that is there already: a command in it may name a model. */
  readonly firstPrompt?: string
  /** What of it the person wrote, and not what was piped in: notes are made of that alone. Of no prompt without it. */
  readonly written?: string
  /** Called when all is there that may fail, and nothing is on disk yet. What it throws ends all of it. */
  readonly ready?: () => Promise<void>
  /** Makes the models, in place of those that the choices name. */
  readonly openModels?: () => Promise<Models>
  /**
   * Others choose the model: of provider packages only those of these models, and those that settings name, are loaded. Any when absent.
   */
  readonly packagesOf?: readonly string[]
  /** Goals, in place of `SessionChoices.until`: a program may check some in its own way. */
  readonly until?: readonly (string | Goal)[]
  /** The tools, in place of `SessionChoices.tools`. */
  readonly toolset?: Toolset
  /** Called when the servers are being connected, before subagents are read. */
  readonly onServers?: (servers: SessionServers) => Promise<void>
  /** Called once the settings are read, before anything is opened. */
  readonly onSettings?: (settings: RunSettings) => void
  /** Chooses the session: a new one when absent. `ports` has the environment with that of the settings. */
  readonly chooseSession?: (ports: SessionPorts) => Promise<ChosenSession>
  /** Observes the events of the session, such as for telemetry; undefined where nobody wants that. */
  readonly openListener?: (toolbox: Toolbox, ports: SessionPorts) => Promise<SessionListener | undefined>
}

/** Receives the events of a session until that ends. */
export interface SessionListener {
  /** An event of a run. */
  onEvent(event: RunEvent): void
  /** The session has ended. */
  end(): Promise<void>
}

/** All that a session is opened with. */
export interface SessionOptions<Choices extends SessionChoices = SessionChoices> extends SessionFrontend {
  /** What was chosen for the session. */
  readonly choices: Choices
  /** What the process gives the session. */
  readonly ports: SessionPorts
}
