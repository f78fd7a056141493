import { HaltingError } from '@halting/core'

/** The sandbox cannot be had, or cannot hold what it must. The command does not run then. */
export class SandboxError extends HaltingError {
  override readonly name = 'SandboxError'

  constructor(message: string) {
    super('configuration', message)
  }
}
