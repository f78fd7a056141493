/** Checks whether an answer has the required structure. */
export interface OutputSchema<Output = unknown> {
  /** Instruction for the model, appended to the system prompt; nothing when absent. */
  readonly instruction?: string
  /** Returns the parsed answer, or the problem as a text for the model. */
  check(answer: string): OutputCheck<Output>
}

/** The result of checking an answer. */
export type OutputCheck<Output> =
  | {
      readonly fits: true
      /** The answer as returned by the schema. */
      readonly value: Output
    }
  | {
      readonly fits: false
      /** The problem, for the model. */
      readonly message: string
    }
