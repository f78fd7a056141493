import type { Session, SessionEvent } from '@halting/core/session'
import type { JsonObject, MessageContent } from '@halting/core'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import type { LiveSession } from '../flags/open-session.ts'
import type { Prepared } from '@halting/agent/open-session'
import type { HostServers } from './host-servers.ts'

/** Resolves when a session that runs elsewhere waits for an answer that nobody here can give. */
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

/** A session that was opened for a host, with what a host may ask about it. */
export interface HostSession {
  readonly session: Session
  /** Fields of `system/init` before the first run, but for mode and model. */
  readonly initFields: () => JsonObject
  /** What `initialize` is answered with, but for what changes while the session lives. */
  readonly initializeResponse: JsonObject
  /** Commands and names of files in what a person says, in the place of which something else is sent. */
  readonly prepare: (content: MessageContent) => Prepared | Promise<Prepared>
  /** Undefined where there are none, and none can come. */
  readonly servers: LiveSession['servers']
  /** Those in the process of the host. */
  readonly hostServers: HostServers
  /** The environment of the session. */
  readonly env: Program['env']
  /** Flags and the limits of settings that it began with; the flags alone when absent. */
  readonly initialFlags?: Flags
  readonly commands: () => readonly JsonObject[]
  readonly agents: () => readonly JsonObject[]
  readonly plugins: LiveSession['plugins']
  readonly reload: LiveSession['readAnew']
  /** Whether the plugin in a folder was loaded when the session began. */
  readonly hasPlugin: (path: string) => boolean
  /** Whether files can be put back. */
  readonly hasFileCheckpoints: boolean
  /** Further fields of `get_context_usage`. */
  readonly memoryFiles: () => readonly JsonObject[]
  readonly agentTokens: () => readonly JsonObject[]
  /** Requests that this session cannot serve, by subtype, and why. */
  readonly unsupported?: { readonly [subtype: string]: string }
  /** What is told on its way to the host; as it is when absent. */
  readonly interceptEvents?: (next: (event: SessionEvent) => void) => (event: SessionEvent) => void
  /** It is on a cluster: what goes on goes on without this program. Absent for a session of this process. */
  readonly detached?: {
    /** For an answer that nobody here can give. */
    readonly isWaiting: () => boolean
    /** What a person is told of one that is left so. */
    readonly message: string
    /** The same when a signal ends the program; undefined where nothing goes on. */
    readonly leaveMessage: () => string | undefined
  }
  /** Resolves when what was told so far is on disk; undefined where it is kept already. */
  readonly flush: (() => Promise<void>) | undefined
  readonly close: () => Promise<void>
}
