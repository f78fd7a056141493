import { ConfigurationError } from '@halting/core'

/** A model cannot be asked for want of a key. The one fault that every beginner meets: programs tell it in words of their own. */
export class MissingKeyError extends ConfigurationError {
  /** The model, as its service is told apart by. */
  readonly model: string
  /** The variables that its key is looked for in. */
  readonly keyVariables: readonly string[]

  constructor(message: string, { model, keyVariables }: Pick<MissingKeyError, 'model' | 'keyVariables'>) {
    super(message)
    this.model = model
    this.keyVariables = keyVariables
  }
}
