/** What the reference documents of a tool, a call of ours that shows it, and what we answer. */
export interface Row {
  readonly tool: string
  /** In our words. */
  readonly reference: string
  readonly call: object
  /** The answer has this in it; `{cwd}` is the working directory. */
  readonly answer: string
  readonly isError?: true
  /** `same`, or why ours differs. */
  readonly how: string
  readonly given?: Setup
}

/** What is there before the call. */
interface Setup {
  readonly files?: Readonly<Record<string, string>>
  readonly calls?: readonly (readonly [tool: string, input: object])[]
  /** A command of bash that makes what no file is. */
  readonly made?: string
}

type Rest = Partial<Pick<Row, 'how' | 'given' | 'isError'>>

/** A maker of the rows of a tool. */
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
