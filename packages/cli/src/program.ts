import type { Output } from './io/output.ts'

/** The store that sessions are in. */
export interface SessionStoreInUse {
  /** `sqlite:` and an absolute path, or an address with its password. */
  readonly value: string
  /** The same without user and password, for people. */
  readonly name: string
  /** The flag, the variable or the file that names it. */
  readonly from: string
}

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
  /** Absent where sessions are files. */
  readonly sessionStore?: SessionStoreInUse
}
