/** Whether an answer fits what the caller wants. */
export interface OutputSchema<Output = unknown> {
  /** What the model is told of it, behind the system prompt; nothing when absent. */
  readonly instruction?: string
  /** Gives the parsed answer, or what is wrong with it in words for the model. */
  check(answer: string): OutputCheck<Output>
}

/** What an answer came to. */
export type OutputCheck<Output> =
  | {
      readonly fits: true
      /** The answer, as the schema returned it. */
      readonly value: Output
    }
  | {
      readonly fits: false
      /** What does not fit, for the model. */
      readonly message: string
    }
