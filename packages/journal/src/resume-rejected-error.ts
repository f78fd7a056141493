import { ConfigurationError } from '@halting/core'

/** A resume would drop more than the turn it names. Nothing was dropped. */
export class ResumeRejectedError extends ConfigurationError {
  constructor(because: string) {
    super(`Resume rejected by --resume-drops-turn: ${because}`)
  }
}
