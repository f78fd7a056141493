import { HaltingError } from '@halting/core'

/** The sandbox is unavailable, or cannot enforce what it must. The command does not run. */
export class SandboxError extends HaltingError {
  override readonly name = 'SandboxError'

  constructor(message: string) {
    super('configuration', message)
  }
}
