import type { Session } from '@halting/agent/session'
import type { JsonObject, MessageContent } from '@halting/core'
import type { Program } from '../program.ts'
import type { LiveSession } from '../session/live-session.ts'
import type { HostServers } from './host-servers.ts'

/** A session that was opened for a host, with what a host may ask about it. */
export interface Opened {
  readonly session: Session
  /** What `initialize` is answered with, but for what changes while the session lives. */
  readonly about: JsonObject
  /** Commands and names of files in what a person says, in the place of which something else is sent. */
  readonly prepare: (content: MessageContent) => MessageContent | Promise<MessageContent>
  /** Undefined where there are none, and none can come. */
  readonly servers: LiveSession['servers']
  /** Those in the process of the host. */
  readonly hostServers: HostServers
  /** The environment of the session. */
  readonly env: Program['env']
  readonly commands: () => readonly JsonObject[]
  /** Whether files can be put back. */
  readonly keepsFiles: boolean
  /** Further fields of `get_context_usage`. */
  readonly memoryFiles: () => readonly JsonObject[]
  readonly close: () => Promise<void>
}
