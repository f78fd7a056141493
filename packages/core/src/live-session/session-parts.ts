import type { RunEvent } from '../state/events.ts'
import type { QueryEngine } from '../api/engine.ts'
import type { QueryOptions } from '../api/query-options.ts'
import type { SdkMessage } from '../sdk/sdk-messages.ts'
import type { StoredSession } from '../steps/fold-session.ts'
import type { PersonsMessage } from '../api/rewind.ts'
import type { Rewound } from './session.ts'

/** A session on disk, as `openJournal` of `@halting/journal` returns it. */
export interface SessionFile extends StoredSession {
  /** Path of the file. */
  readonly path: string
  /** Rewinds the conversation to before this message of a person. */
  rewind(message: string): Promise<PersonsMessage>
  /** The message that `rewind` would rewind to. */
  messageOf(message: string): Promise<PersonsMessage>
}

/** The parts of a session, opened by the program or a coding agent. */
export interface SessionParts {
  /** Options of the engine. The session sets those for storage and for permission requests. */
  readonly options: Omit<QueryOptions, 'session' | 'stepsFor'>
  /** Where the session is stored; undefined if it is not stored. */
  readonly journal: SessionFile | undefined
  /** Whether a frontend answers questions through `Session.answer`. */
  readonly answersQuestions: boolean
  /** The initial mode, and the modes to offer. */
  readonly permissions: {
    /** The permission mode of the first run. */
    readonly mode: string
    /** The modes to offer. Default: none. */
    readonly modes?: readonly string[] | undefined
  }
  /** Working directory of the session. */
  readonly cwd: string
  /** Called when an engine exists but none of its runs has started. Called again after a rewind. */
  readonly attach?: (engine: QueryEngine) => void
  /** Receives the loop's events before the session's listeners do. */
  readonly onEvent?: (event: RunEvent) => void
  /** Wraps the function that emits messages, to add or omit some. Returns the function to call instead. */
  readonly through?: (emit: (message: SdkMessage) => void) => (message: SdkMessage) => void
  /** Work after a run, which starts when its result is reported. The next run does not wait for this work. */
  readonly afterRun?: (engine: QueryEngine, signal: AbortSignal, emit: (message: SdkMessage) => void) => Promise<void>
  /** Copies the stored session, and returns the id of the copy. */
  readonly fork?: () => Promise<string>
  /** Reverts the file changes of calls since a message, or reports what that would change. */
  readonly takeBackFiles?: (
    since: PersonsMessage,
    how: {
      /** Whether to report only what would change. */
      readonly isDryRun: boolean
    },
  ) => Promise<Omit<Rewound, 'content'>>
  /** Ends a background command. False if no running command has this id. */
  readonly stopTask?: (taskId: string) => Promise<boolean>
  /** Closes everything except the journal. */
  readonly end: () => Promise<void>
  /** Closes the session file. `hasStarted`: it contains at least one run. */
  readonly closeJournal?: (hasBegun: boolean) => Promise<void>
}
