import type { Session, SessionEvent } from '@halting/core/session'
import type { JsonObject, MessageContent } from '@halting/core'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import type { LiveSession } from '../flags/open-session.ts'
import type { Prepared } from '@halting/agent/open-session'
import type { HostServers } from './host-servers.ts'

/** Resolves when a detached session waits for an answer that nobody here can give. */
export function whenWaitingForAnswer(
  session: Pick<Session, 'listen'>,
  { isWaiting }: NonNullable<HostSession['detached']>,
): Promise<'waits'> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (isWaiting()) resolve('waits')
    }
    session.listen(check)
    check()
  })
}

/** A session opened for a host, with what a host can ask about it. */
export interface HostSession {
  readonly session: Session
  /** Fields of `system/init` before the first run, without mode and model. */
  readonly initFields: () => JsonObject
  /** The response to `initialize`, without what changes during the session. */
  readonly initializeResponse: JsonObject
  /** Expands the commands and file names in a message. */
  readonly prepare: (content: MessageContent) => Prepared | Promise<Prepared>
  /** The MCP servers; undefined if there are none and none can be added. */
  readonly servers: LiveSession['servers']
  /** The MCP servers in the process of the host. */
  readonly hostServers: HostServers
  /** The environment of the session. */
  readonly env: Program['env']
  /** The initial flags with the limits of the settings; if absent, the flags alone. */
  readonly initialFlags?: Flags
  readonly commands: () => readonly JsonObject[]
  readonly agents: () => readonly JsonObject[]
  readonly plugins: LiveSession['plugins']
  readonly reload: LiveSession['reload']
  /** Whether the plugin in a folder was loaded at the start. */
  readonly hasPlugin: (path: string) => boolean
  /** Whether file changes can be reverted. */
  readonly hasFileCheckpoints: boolean
  /** Further fields of `get_context_usage`. */
  readonly memoryFiles: () => readonly JsonObject[]
  readonly agentTokens: () => readonly JsonObject[]
  /** Why this session cannot serve certain requests, by subtype. */
  readonly unsupported?: { readonly [subtype: string]: string }
  /** Intercepts events on their way to the host; absent: they pass unchanged. */
  readonly interceptEvents?: (next: (event: SessionEvent) => void) => (event: SessionEvent) => void
  /** Present for a session on a cluster, which continues without this program. */
  readonly detached?: {
    /** Whether the session waits for an answer that nobody here can give. */
    readonly isWaiting: () => boolean
    /** The message about a session that is left waiting. */
    readonly message: string
    /** The message for a signal that ends the program; undefined if nothing is running. */
    readonly leaveMessage: () => string | undefined
  }
  /** Resolves when everything so far is on disk; undefined if it already is. */
  readonly flush: (() => Promise<void>) | undefined
  readonly close: () => Promise<void>
}
