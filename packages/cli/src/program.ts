import type { Output } from './io/output.ts'

/** The store of the sessions. */
export interface SessionStoreInUse {
  /** The store: `sqlite:` and an absolute path, or an address with its password. */
  readonly value: string
  /** The value without user and password, for display. */
  readonly name: string
  /** The flag, variable or file that sets it. */
  readonly from: string
}

/** The environment of the program. */
export interface Program {
  /** Arguments after the program's name. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly stdin: NodeJS.ReadStream
  readonly output: Output
  /** The folder of the package, which contains the examples. */
  readonly home: URL
  /** Absent if sessions are stored in files. */
  readonly sessionStore?: SessionStoreInUse
}
