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
  /** Name of the command, without the slash. */
  readonly name: string
  /** What it does, in a sentence. */
  readonly description: string
  /** Its arguments, such as `[path]`; '' for none. */
  readonly argumentHint: string
}

/** A subagent that the model may start. */
export interface AgentInfo {
  /** Name of the kind of subagent. */
  readonly name: string
  /** What it is for. */
  readonly description: string
  /** Where it was described. */
  readonly level: string
  /** The model that it asks; absent for that of the session. */
  readonly model?: string
}

/** A piece of what was said: words of the person, or the name of something that an editor attached, which mentions no file. */
export interface SaidPart {
  /** The text. */
  readonly text: string
  /** Whether it is the name of something attached. */
  readonly isName: boolean
}

/** What a person wrote, as it is sent. */
export interface Prepared {
  /** The message. */
  readonly content: MessageContent
  /** The model of the run that begins with it, where a command is for one. */
  readonly model?: string
}

/** A session that is open, with what frontends show of it. */
export interface LiveSession<Choices extends SessionChoices = SessionChoices> {
  /** The session object. */
  readonly session: Session
  /** Choices, settings and environment as they hold. */
  readonly run: RunSettings<Choices>
  /** Which session it is, and where it is stored. */
  readonly chosen: ChosenSession
  /** The models of the session. */
  readonly models: Pick<Models, 'model' | 'fallbackModel' | 'smallModel' | 'modelNamed' | 'apiKeySource'>
  /** The tools, and the rules about them. */
  readonly toolbox: Toolbox
  /** Names of the standing budgets that count in it. */
  readonly standingBudgets: readonly string[]
  /** Checks that the project itself names, such as `npm test`, the best first; read anew each time. None where its changes are not heeded. Never rejects. */
  readonly checks: () => Promise<readonly string[]>
  /** Commands and skills, and prompts of servers. */
  readonly commands: () => readonly CommandInfo[]
  /** Subagents that the model may start. */
  readonly agents: () => readonly AgentInfo[]
  /** The plugins that were loaded, and the problems with others. */
  readonly plugins: () => Plugins
  /** Undefined where there are none, and none can come (`SessionFrontend.servers`). */
  readonly servers: Pick<SessionServers, 'statuses' | 'replace' | 'reconnect' | 'toggle'> | undefined
  /** Files of instructions that the model is shown. */
  readonly memoryFiles: readonly Pick<InstructionFile, 'path' | 'text'>[]
  /** Name of the output style. */
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
