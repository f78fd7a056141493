import type { AgentContext, ClientCapabilities, ListSessionsResponse, McpServer } from '@agentclientprotocol/sdk'
import type { Session } from '@halting/core/session'
import type { TranscriptEntry } from '@halting/core'
import type { Prepared } from '@halting/agent/open-session'
import type { MissingKeyError } from '../flags/missing-key.ts'
import type { ClientPrompt } from './prompt-content.ts'

/** What a client asks for when it opens a session. */
export interface OpenSessionRequest {
  readonly cwd: string
  readonly additionalDirectories: readonly string[]
  readonly servers: readonly McpServer[]
  /** The session to continue; absent: a new one. */
  readonly resume?: string
  readonly client: AgentContext
  readonly capabilities: ClientCapabilities
}

/** A command that a prompt may start with. */
export interface Command {
  readonly name: string
  readonly description: string
  readonly argumentHint?: string
}

/** An open session, with what an editor shows of it. */
export interface OpenedSession {
  readonly session: Session
  /** The current commands: MCP servers add some when they connect. */
  readonly commands: () => readonly Command[]
  /** Further models to choose from, such as those with a key. Others can be named, too. */
  readonly models: readonly string[]
  /** Expands the commands and files of a prompt. */
  prepare(prompt: ClientPrompt, signal: AbortSignal): Promise<Prepared>
  /** Calls back with notes for the person, starting with earlier ones. */
  readonly onNote: (listener: (text: string) => void) => void
}

/** Opens and lists sessions. */
export interface SessionOpener {
  open(request: OpenSessionRequest): Promise<OpenedSession>
  /** The conversation of a stored session; undefined for an unknown id. */
  history(sessionId: string): Promise<{ readonly entries: readonly TranscriptEntry[] } | undefined>
  /** Stored sessions, one page at a time; if absent, those of this machine. Undefined for an invalid cursor. */
  list?(options: {
    readonly cwd?: string | null
    readonly cursor?: string | null
  }): Promise<ListSessionsResponse | undefined>
  /** The missing key of the model, if any. Absent if keys are stored elsewhere. */
  missingKey?(): Promise<MissingKeyError | undefined>
  /** Messages when a signal ends the program, about sessions that continue without it. Absent if none do. */
  exitNotes?(): readonly string[]
  /** Deletes a session; if absent, from this machine. @throws an error for the client */
  remove?(sessionId: string): Promise<void>
}
