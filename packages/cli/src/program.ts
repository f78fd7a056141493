import type { Output } from './io/output.ts'

/** What the program has around it. */
export interface Program {
  /** Arguments after the program's name. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly stdin: NodeJS.ReadStream
  readonly output: Output
  /** The folder of the package: examples are found in it. */
  readonly home: URL
}
