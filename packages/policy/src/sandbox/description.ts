/** A file or folder that is there. */
export interface Place {
  /** Its path. */
  readonly path: string
  /** Whether it is a file or a folder. */
  readonly kind: 'file' | 'folder'
}

/**
 * What a command in the sandbox may reach, whatever holds it there. All paths are real ones. What is not named can be
 * read and not written. Of places inside each other the inner one counts, except for `denied`.
 */
export interface SandboxDescription {
  /** Folders and files that can be written. */
  readonly writable: readonly Place[]
  /** Inside what is writable: can be read, and neither written, renamed nor removed. */
  readonly readOnly: readonly Place[]
  /** Inside what is writable: can be written, and not be renamed, since something below it is read-only. */
  readonly pinned: readonly string[]
  /** Paths inside what is writable that are not there and must not come to be. */
  readonly missing: readonly string[]
  /** Can be neither read nor written. */
  readonly masked: readonly Place[]
  /** Inside what is masked: can be read. */
  readonly readable: readonly Place[]
  /** The same as `masked`, and nothing inside them is open again: what deny rules name. */
  readonly denied: readonly Place[]
  /** A folder that is `/tmp` of the command, and belongs to the session. */
  readonly temporary: string
  /** With a proxy the domains of the sandbox can be reached, and nothing else. */
  readonly network: 'none' | 'proxy'
  /** Whether sockets of the file system and of the abstract namespace may be opened. */
  readonly unixSockets: boolean
}

/** A program with its arguments, as it would be started without a sandbox. */
export interface PlainCommand {
  /** Path or name of the program. */
  readonly file: string
  /** Its arguments. */
  readonly args: readonly string[]
  /** The folder in which it starts. */
  readonly directory: string
}
