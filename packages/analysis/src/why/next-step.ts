/** What a person who reads may do next, in words and as a command. */
export interface NextStep {
  readonly says: string
  readonly command?: string
}
