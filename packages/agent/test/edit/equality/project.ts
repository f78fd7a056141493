/** Why a command comes out otherwise when it is confined to the workspace. */
type Reason =
  /** It asks a server, and fails. */
  | 'no network'
  /** It writes what is obeyed later. */
  | 'protected place'
  /** A program that it starts writes a repository, and the line names no command of git that does. */
  | '.git read-only'
  /** It reads or changes what lies in the person's own folder, or beside the workspace. */
  | 'hidden home'
  /** Unconfined, git runs with settings turned off that could run a program, where a line only reads. */
  | 'git turned down'
  /** It sees the processes, devices or namespaces of the machine. */
  | 'own processes'

/** A command, and how it is expected to run. */
export interface Row {
  readonly command: string
  /** Absent where output, exit code and files are the same. */
  readonly differs?: Reason
  /** It asks, and is not compared. */
  readonly asks?: true
  /** It takes turns with the network: it has to end by itself. */
  readonly reaches?: true
  /** Part of the output that is another one each time. */
  readonly mask?: RegExp
  /** It belongs to the smaller check. */
  readonly quick?: true
}

/** A kind of project. */
export interface Project {
  readonly name: string
  /** Programs without which it is left out. */
  readonly needs: readonly string[]
  /** A script that fills the folder in which it is run. `$REPOSITORY` is this repository. */
  readonly script: string
  /** A script that runs before it and installs what the smaller check does without. */
  readonly install?: string
  /** Folders that are made once and stay from command to command. */
  readonly kept?: readonly string[]
  readonly rows: readonly Row[]
}

/** One command a line. */
export function rowsOf(text: string, more: Omit<Row, 'command'> = {}): readonly Row[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('//'))
    .map((command) => ({ command, ...more }))
}
