import type { AppContext } from '../app/context.ts'

/** A command of the program's own. */
export interface Command {
  readonly description: string
  readonly argumentHint?: string
  /** What it is about is only there for a session of this machine: `/diff is about files of this machine`. */
  readonly needs?: 'files' | 'settings' | 'record'
  /** What may stand behind it. */
  readonly values?: (app: AppContext) => readonly string[]
  /** What it throws is told. */
  readonly run: (app: AppContext, argument: string) => void | Promise<void>
}
