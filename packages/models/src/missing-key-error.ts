import { ConfigurationError } from '@halting/core'

/** A key is missing. Every beginner meets this error, so programs may show their own text. */
export class MissingKeyError extends ConfigurationError {
  /** The model name; it selects the provider. */
  readonly model: string
  /** Variables that may contain its key. */
  readonly keyVariables: readonly string[]

  constructor(message: string, { model, keyVariables }: Pick<MissingKeyError, 'model' | 'keyVariables'>) {
    super(message)
    this.model = model
    this.keyVariables = keyVariables
  }
}
