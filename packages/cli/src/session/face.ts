import type { JsonObject, LoopOptions } from '@halting/core'
import type { CanUseTool } from '@halting/core/adapters'
import type { ShellHookTable } from '@halting/agent/hooks'
import type { SessionParts } from '@halting/agent/session'
import type { McpServerEntry, SessionServersOptions } from '@halting/agent/mcp'
import type { AroundModel } from './models.ts'

/** What a face gives a session that only it can; all else is in flags, settings and the environment. */
export interface Face {
  /** Somebody answers questions, by `Session.answer`. */
  readonly answersQuestions: boolean
  /** Answers questions in place of that, such as a tool of a server. */
  readonly canUseTool?: CanUseTool
  /** A tool of a server answers questions (`--permission-prompt-tool`). */
  readonly permissionTool?: string
  /** Hooks of whoever drives the program; they stand behind those of the settings. */
  readonly hooks?: ShellHookTable
  /** Servers that go before those of flags and settings. Where there are none, some may come later. */
  readonly servers?: readonly McpServerEntry[]
  /** A server that `--mcp-config` says to be in the process of whoever drives the program. */
  readonly inHost?: (name: string, server: JsonObject) => McpServerEntry
  /** Asks a person what a server wants to know. */
  readonly elicit?: NonNullable<SessionServersOptions['elicit']>
  /** What becomes of commands that still run when a run would end, unless flags or settings say it: they are waited for without it. */
  readonly background?: 'wait' | 'stop' | 'keep'
  /** Commands that the frontend answers by itself: `system/init` lists them. */
  readonly ownCommands?: readonly string[]
  /** What a program that reads `system/init` may count on. */
  readonly capabilities?: readonly string[]
  /** Who else keeps the session, such as a cluster, and what is on record of it: flags say nothing of that then, and no file is written. */
  readonly kept?: NonNullable<SessionParts['journal']> & { readonly sessionId: string }
  /** Put around each of its models, such as a wait for a turn. */
  readonly aroundModel?: AroundModel
  /** What the session is called in lists; one that goes on keeps its own. */
  readonly title?: string
  /** Which tool a call by another name is of. */
  readonly toolAliases?: NonNullable<LoopOptions['toolAliases']>
  /** Subagents say in a line what they do, so often. */
  readonly agentSummaries?: { readonly everyMs?: number }
  /** How a plan is made in plan mode, in place of our words. */
  readonly planInstructions?: string
  /** Names of the only skills that the model is shown. */
  readonly skills?: readonly string[]
  /** The one session of this process: what settings say of the environment holds for all of it, and what is kept is cleaned up beside. */
  readonly isOneShot?: boolean
  /** The prompt that is there already: a command in it may name a model. */
  readonly firstPrompt?: string
  /** What of it the person wrote, and not what was piped in: notes are made of that alone. Of no prompt without it. */
  readonly written?: string
  /** Called when all is there that may fail, and nothing is on disk yet. What it throws ends all of it. */
  readonly ready?: () => Promise<void>
}
