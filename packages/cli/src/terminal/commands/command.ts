import type { AppContext } from '../app/context.ts'

/** A built-in slash command. */
export interface Command {
  readonly description: string
  readonly argumentHint?: string
  /** The local resource that the command needs, which only sessions of this machine have: files, settings, or the stored record. */
  readonly needs?: 'files' | 'settings' | 'record'
  /** Possible arguments, for completion. */
  readonly values?: (app: AppContext) => readonly string[]
  /** Errors that it throws are shown. */
  readonly run: (app: AppContext, argument: string) => void | Promise<void>
}
