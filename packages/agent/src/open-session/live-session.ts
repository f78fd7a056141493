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

/** A command that a person may ask for with a slash. */
export interface CommandInfo {
  readonly name: string
  readonly description: string
  readonly argumentHint: string
}

/** A subagent that the model may start. */
export interface AgentInfo {
  readonly name: string
  readonly description: string
  /** Where it was described. */
  readonly level: string
  readonly model?: string
}

/** A piece of what was said: words of the person, or the name of something that an editor attached, which mentions no file. */
export interface SaidPart {
  readonly text: string
  readonly isName: boolean
}

/** What a person wrote, as it is sent. */
export interface Prepared {
  readonly content: MessageContent
  /** The model of the run that begins with it, where a command is for one. */
  readonly model?: string
}

/** A session that is open, with what frontends show of it. */
export interface LiveSession<Choices extends SessionChoices = SessionChoices> {
  readonly session: Session
  /** Choices, settings and environment as they hold. */
  readonly run: RunSettings<Choices>
  readonly chosen: ChosenSession
  readonly models: Pick<Models, 'model' | 'fallbackModel' | 'smallModel' | 'modelNamed' | 'apiKeySource'>
  readonly toolbox: Toolbox
  /** Names of the standing budgets that count in it. */
  readonly standingBudgets: readonly string[]
  /** Commands and skills, and prompts of servers. */
  readonly commands: () => readonly CommandInfo[]
  readonly agents: () => readonly AgentInfo[]
  readonly plugins: () => Plugins
  /** Undefined where there are none, and none can come (`SessionFrontend.servers`). */
  readonly servers: Pick<SessionServers, 'statuses' | 'replace' | 'reconnect' | 'toggle'> | undefined
  /** Files of instructions that the model is shown. */
  readonly memoryFiles: readonly Pick<InstructionFile, 'path' | 'text'>[]
  readonly outputStyle: string
  /** Fields of `system/init` as a run of this moment would begin with them, but for model and mode. */
  readonly initFields: () => JsonObject
  /** Undefined for one that is not kept. */
  readonly journal: SessionJournal | undefined
  /**
   * What a person wrote, as it is sent: commands expanded, files brought in, prompts of servers asked for. `rest` stands behind it as it is. What a person
   * should know of it becomes a notice.
   * @throws ConfigurationError for a prompt that its server does not have.
   */
  prepare(said: string | readonly SaidPart[], rest?: string, signal?: AbortSignal): Promise<Prepared>
  /** Reads commands, skills and agents anew, those of plugins too: the next request shows what is there. */
  readAnew(): Promise<void>
}
