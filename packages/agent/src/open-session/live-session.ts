import type { InstructionFile } from '../instructions/instruction-files.ts'
import type { Plugins } from '../plugins/plugin.ts'
import type { SessionJournal } from '@halting/journal'
import type { Session } from '@halting/core/session'
import type { JsonObject, MessageContent } from '@halting/core'
import type { SessionChoices } from './choices.ts'
import type { ChosenSession } from './chosen-session.ts'
import type { SessionServers } from './mcp.ts'
import type { Models } from './models.ts'
import type { RunSettings } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'

/** A slash command that a user may type. */
export interface CommandInfo {
  /** Name of the command, without the slash. */
  readonly name: string
  /** Description of the command, in a sentence. */
  readonly description: string
  /** Arguments of the command, such as `[path]`; '' if there are none. */
  readonly argumentHint: string
}

/** A subagent that the model may start. */
export interface AgentInfo {
  /** Name of the subagent type. */
  readonly name: string
  /** Purpose of the agent. */
  readonly description: string
  /** Level at which the agent is defined. */
  readonly level: string
  /** Model of the agent; absent for the model of the session. */
  readonly model?: string
}

/** A part of a prompt: text of the user, or the name of an attachment, in which `@` mentions nothing. */
export interface PromptPart {
  /** The text. */
  readonly text: string
  /** Whether the part is the name of an attachment. */
  readonly isName: boolean
}

/** A prompt as it is sent. */
export interface Prepared {
  /** The message. */
  readonly content: MessageContent
  /** The model of the run that the prompt starts, if a command requests one. */
  readonly model?: string
}

/** An open session, with the data that frontends show about it. */
export interface LiveSession<Choices extends SessionChoices = SessionChoices> {
  /** The session object. */
  readonly session: Session
  /** The effective choices, settings and environment. */
  readonly run: RunSettings<Choices>
  /** The id of the session, and where it is stored. */
  readonly chosen: ChosenSession
  /** The models of the session. */
  readonly models: Pick<Models, 'model' | 'fallbackModel' | 'smallModel' | 'modelNamed' | 'apiKeySource'>
  /** The tools and their permission rules. */
  readonly toolbox: Toolbox
  /** Names of the standing budgets that apply to the session. */
  readonly standingBudgets: readonly string[]
  /**
   * Checks that the project declares, such as `npm test`, best first; read again each time. Empty if verification is
   * off. Never rejects.
   */
  readonly checks: () => Promise<readonly string[]>
  /** Commands, skills, and prompts of servers. */
  readonly commands: () => readonly CommandInfo[]
  /** Subagents that the model may start. */
  readonly agents: () => readonly AgentInfo[]
  /** The loaded plugins, and the problems of the others. */
  readonly plugins: () => Plugins
  /** The servers; undefined if there are none and none can be added (`SessionFrontend.servers`). */
  readonly servers: Pick<SessionServers, 'statuses' | 'replace' | 'reconnect' | 'toggle'> | undefined
  /** Instruction files that the model sees. */
  readonly memoryFiles: readonly Pick<InstructionFile, 'path' | 'text'>[]
  /** Name of the output style. */
  readonly outputStyle: string
  /** Fields of `system/init` for a run that starts now, except model and mode. */
  readonly initFields: () => JsonObject
  /** The journal; undefined if the session is not stored. */
  readonly journal: SessionJournal | undefined
  /**
   * Prepares a prompt: expands commands, adds files, and requests prompts of servers. `rest` is appended unchanged.
   * Notes for the user become notices.
   * @throws ConfigurationError for a server prompt that does not exist.
   */
  prepare(prompt: string | readonly PromptPart[], rest?: string, signal?: AbortSignal): Promise<Prepared>
  /** Reloads commands, skills and agents, including those of plugins: the next request uses them. */
  reload(): Promise<void>
}
