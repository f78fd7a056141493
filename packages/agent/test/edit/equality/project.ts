/** Why a command has another result when it is confined to the workspace. */
type Reason =
  /** It queries a server, and fails. */
  | 'no network'
  /** It writes files that are obeyed later. */
  | 'protected place'
  /** A program that it starts writes to a repository, and the line names no git command that does. */
  | '.git read-only'
  /** It reads or changes the user's own folder, or files next to the workspace. */
  | 'hidden home'
  /** Unconfined, git runs with settings disabled that could run a program, since the line only reads. */
  | 'git turned down'
  /** It sees processes, devices or namespaces of the machine. */
  | 'own processes'

/** A command, and its expected results. */
export interface Row {
  readonly command: string
  /** Absent if output, exit code and files are the same. */
  readonly differs?: Reason
  /** It asks, and is not compared. */
  readonly asks?: true
  /** It uses the network exclusively: it has to end by itself. */
  readonly reaches?: true
  /** Part of the output that differs each time. */
  readonly mask?: RegExp
  /** It belongs to the smaller check. */
  readonly quick?: true
}

/** A kind of project. */
export interface Project {
  readonly name: string
  /** Programs without which it is skipped. */
  readonly needs: readonly string[]
  /** A script that fills the current folder. `$REPOSITORY` is this repository. */
  readonly script: string
  /** A script that runs before it and installs what the smaller check does without. */
  readonly install?: string
  /** Folders that are created once and persist between commands. */
  readonly kept?: readonly string[]
  readonly rows: readonly Row[]
}

/** One command per line. */
export function rowsOf(text: string, more: Omit<Row, 'command'> = {}): readonly Row[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('//'))
    .map((command) => ({ command, ...more }))
}
