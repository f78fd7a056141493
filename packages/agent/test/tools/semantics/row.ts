/** What the reference documents about a tool, a call that demonstrates it, and our answer. */
export interface Row {
  readonly tool: string
  /** In our own words. */
  readonly reference: string
  readonly call: object
  /** A text in the answer; `{cwd}` is the working directory. */
  readonly answer: string
  readonly isError?: true
  /** `same`, or why ours differs. */
  readonly how: string
  readonly given?: Setup
}

/** The setup before the call. */
interface Setup {
  readonly files?: Readonly<Record<string, string>>
  readonly calls?: readonly (readonly [tool: string, input: object])[]
  /** A bash command that creates what is not a plain file. */
  readonly made?: string
}

type Rest = Partial<Pick<Row, 'how' | 'given' | 'isError'>>

/** Creates rows of a tool. */
export const rowsOf =
  (tool: string) =>
  (reference: string, call: object, answer: string, rest: Rest = {}): Row => ({
    tool,
    reference,
    call,
    answer,
    how: 'same',
    ...rest,
  })

export const refused = { isError: true } as const
