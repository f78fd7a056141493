import { ConfigurationError } from '@halting/core'

/** A resume that would take back more than the turn it names: nothing was taken back. */
export class ResumeRejectedError extends ConfigurationError {
  constructor(because: string) {
    super(`Resume rejected by --resume-drops-turn: ${because}`)
  }
}
