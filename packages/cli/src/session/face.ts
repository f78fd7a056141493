import type { QueryOptions } from '@halting/core'
import type { CanUseTool } from '@halting/core/adapters'
import type { McpServerEntry, SessionServersOptions } from '@halting/agent/mcp'

/** What a face gives a session that only it can; all else is in flags, settings and the environment. */
export interface Face {
  /** Somebody answers questions, by `Session.answer`. */
  readonly answersQuestions: boolean
  /** Answers questions in place of that, such as a tool of a server. */
  readonly canUseTool?: CanUseTool
  /** Hooks of whoever drives the program, after those of the program itself and before those of the settings. */
  readonly hooks?: (about: HooksAbout) => Pick<QueryOptions, 'hooks' | 'stopHooks'>
  /** Servers that go before those of flags and settings. With an empty list there are none, and others may come while the session goes on. */
  readonly servers?: readonly McpServerEntry[]
  /** Asks a person what a server wants to know. */
  readonly elicit?: NonNullable<SessionServersOptions['elicit']>
  /** What becomes of commands that still run when a run would end, unless flags or settings say it: they are waited for without it. */
  readonly background?: 'wait' | 'stop' | 'keep'
  /** The one session of this process: what settings say of the environment holds for all of it, and what is kept is cleaned up beside. */
  readonly isOneShot?: boolean
  /** The prompt that is there already: a command in it may name a model. */
  readonly firstPrompt?: string
  /** Called when all is there that may fail, and nothing is on disk yet. What it throws ends all of it. */
  readonly ready?: () => Promise<void>
}

/** For hooks of a face: what they are told of the session. */
export interface HooksAbout {
  readonly sessionId: string
  /** The file of the session, also where it is not kept. */
  readonly transcriptPath: string
  readonly cwd: string
  readonly permissionMode: () => string
  /** Ends the run that goes on. */
  readonly interrupt: () => void
  /** What was said is on disk when it resolves. */
  readonly flush: () => Promise<void>
}
