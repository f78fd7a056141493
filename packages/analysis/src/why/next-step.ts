/** What a person can do next, in words and as a command. */
export interface NextStep {
  /** What to do, in a sentence. */
  readonly says: string
  /** The command that does it; absent for none. */
  readonly command?: string
}
