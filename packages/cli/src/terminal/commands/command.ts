import type { AppContext } from '../app/context.ts'

/** A command of the program's own. */
export interface Command {
  readonly does: string
  readonly argumentHint?: string
  /** What may stand behind it. */
  readonly values?: (app: AppContext) => readonly string[]
  /** What it throws is told. */
  readonly run: (app: AppContext, argument: string) => void | Promise<void>
}
