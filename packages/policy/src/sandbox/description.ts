/** An existing file or folder. */
export interface Place {
  /** Its path. */
  readonly path: string
  /** Whether it is a file or a folder. */
  readonly kind: 'file' | 'folder'
}

/**
 * What a command in the sandbox may reach, independent of the system that enforces it. All paths are real paths. Places
 * that no field names can be read but not written. Of nested places the inner one applies, except for `denied`.
 */
export interface SandboxDescription {
  /** Files and folders that can be written. */
  readonly writable: readonly Place[]
  /** Places inside writable ones that can be read, but not written, renamed or removed. */
  readonly readOnly: readonly Place[]
  /** Folders inside writable ones that can be written but not renamed, as something below is read-only. */
  readonly pinned: readonly string[]
  /** Missing paths inside writable places that must not be created. */
  readonly missing: readonly string[]
  /** Places that can be neither read nor written. */
  readonly masked: readonly Place[]
  /** Places inside masked ones that can be read. */
  readonly readable: readonly Place[]
  /** Like `masked`, without exceptions inside: the places of deny rules. */
  readonly denied: readonly Place[]
  /** The folder that is `/tmp` of the command. It belongs to the session. */
  readonly temporary: string
  /** With a proxy, only the domains of the sandbox can be reached. */
  readonly network: 'none' | 'proxy'
  /** Whether sockets of the file system and of the abstract namespace may be opened. */
  readonly unixSockets: boolean
}

/** A program with its arguments, as it would start without a sandbox. */
export interface PlainCommand {
  /** Path or name of the program. */
  readonly file: string
  /** Its arguments. */
  readonly args: readonly string[]
  /** The folder in which it starts. */
  readonly directory: string
}
