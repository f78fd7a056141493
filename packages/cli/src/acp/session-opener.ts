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
  /** The session to go on with; a new one when absent. */
  readonly resume?: string
  readonly client: AgentContext
  readonly capabilities: ClientCapabilities
}

/** A command that a person may begin a prompt with. */
export interface Command {
  readonly name: string
  readonly description: string
  readonly argumentHint?: string
}

/** A session that is open, with what an editor shows of it. */
export interface OpenedSession {
  readonly session: Session
  /** Those that there are by now: servers bring some once they have answered. */
  readonly commands: () => readonly Command[]
  /** Models that a person may choose beside those of the session, such as those whose key is there. Others can be named, too. */
  readonly models: readonly string[]
  /** The prompt with its commands and files put in. */
  prepare(prompt: ClientPrompt, signal: AbortSignal): Promise<Prepared>
  /** Calls back with what a person should know, beginning with what was said before. */
  readonly onNote: (listener: (text: string) => void) => void
}

/** Opens sessions, as the program does for its flags. */
export interface SessionOpener {
  open(request: OpenSessionRequest): Promise<OpenedSession>
  /** What was said in a session that is kept; undefined for an id that none has. */
  history(sessionId: string): Promise<{ readonly entries: readonly TranscriptEntry[] } | undefined>
  /** Sessions that are kept, a page at a time: those of this machine when absent. Undefined for a cursor that is none. */
  list?(asked: {
    readonly cwd?: string | null
    readonly cursor?: string | null
  }): Promise<ListSessionsResponse | undefined>
  /** Why the model of the flags and the person's settings cannot be asked, where its key is missing. Absent where keys are elsewhere. */
  missingKey?(): Promise<MissingKeyError | undefined>
  /** What a person is told when a signal ends the program: sessions that go on without it, and how one returns. Absent where none do. */
  exitNotes?(): readonly string[]
  /** Removes one; from this machine when absent. @throws what the client is told */
  remove?(sessionId: string): Promise<void>
}
