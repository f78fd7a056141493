import type { RunEvent } from '../state/events.ts'
import type { QueryEngine } from '../api/engine.ts'
import type { QueryOptions } from '../api/query-options.ts'
import type { SdkMessage } from '../sdk/sdk-messages.ts'
import type { StoredSession } from '../steps/fold-session.ts'
import type { PersonsMessage } from '../api/rewind.ts'
import type { Rewound } from './session.ts'

/** A session on disk, such as `openJournal` of `@halting/journal` returns it. */
export interface SessionFile extends StoredSession {
  /** Path of the file. */
  readonly path: string
  /** The conversation goes back to before this message of a person. */
  rewind(message: string): Promise<PersonsMessage>
  /** The message of a person to before which `rewind` would go. */
  messageOf(message: string): Promise<PersonsMessage>
}

/** What a session is made of: what the program, or a coding agent, has opened. */
export interface SessionParts {
  /** Of the engine. What is on disk, and who is asked, the session gives it. */
  readonly options: Omit<QueryOptions, 'session' | 'stepsFor'>
  /** Where the session is kept; undefined where it is not. */
  readonly journal: SessionFile | undefined
  /** Somebody answers questions by `Session.answer`. */
  readonly answersQuestions: boolean
  /** The mode and the modes where nothing was set. */
  readonly permissions: {
    /** The permission mode of the first run. */
    readonly mode: string
    /** The modes to offer. Default: none. */
    readonly modes?: readonly string[] | undefined
  }
  /** Working directory of the session. */
  readonly cwd: string
  /** An engine is there, and no run of it has begun. Again after a rewind. */
  readonly attach?: (engine: QueryEngine) => void
  /** Hears what the loop tells before the session's listeners do. */
  readonly onEvent?: (event: RunEvent) => void
  /** Puts further messages between those of the runs, or leaves some out: gives what is told in place of telling. */
  readonly through?: (tell: (message: SdkMessage) => void) => (message: SdkMessage) => void
  /** What comes after a run that has ended, once its result is told. The next run does not wait for it. */
  readonly afterRun?: (engine: QueryEngine, signal: AbortSignal, tell: (message: SdkMessage) => void) => Promise<void>
  /** Copies the session as it is on disk, and gives the id of the copy. */
  readonly fork?: () => Promise<string>
  /** Takes back what calls changed since a message, or tells what that would be. */
  readonly takeBackFiles?: (
    since: PersonsMessage,
    how: {
      /** Whether to report only what would change. */
      readonly isDryRun: boolean
    },
  ) => Promise<Omit<Rewound, 'content'>>
  /** Ends a command in the background. False where none of this id runs. */
  readonly stopTask?: (taskId: string) => Promise<boolean>
  /** Ends all that was opened but the journal. */
  readonly end: () => Promise<void>
  /** Lets go of the file. `hasBegun`: a run was there in it. */
  readonly closeJournal?: (hasBegun: boolean) => Promise<void>
}
