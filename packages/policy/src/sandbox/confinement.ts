import type { DeniedPatterns } from './describe.ts'

/** To what a command is confined that runs because it was judged to read only. */
export interface ReadConfinement {
  /** `read`: files only; `look`: also the processes of the machine. */
  readonly kind: 'read' | 'look'
  /** What it reads beside the session's directories and the system. */
  readonly readable: readonly string[]
}

/** To what a command is confined that runs because the mode `acceptEdits` lets it change the workspace. */
export interface EditConfinement {
  /** It changes the workspace, and nothing outside of it. */
  readonly kind: 'edit'
  /** The directories of the session: what it may write, but for what is obeyed later. */
  readonly directories: readonly string[]
  /** What it reads beside them and the system. */
  readonly readable: readonly string[]
  /** What deny rules name: shut for it. */
  readonly denied: DeniedPatterns
  /** Whether git may write to its folders: the line has commands of git that change the index or the history alone. */
  readonly writesGit: boolean
}

/**
 * To what a command is confined that is tried before a person is asked about it: all that it writes is thrown away, so that
 * only its output and exit code are left of it.
 */
export interface TrialConfinement extends Pick<EditConfinement, 'directories' | 'readable' | 'denied'> {
  /** It changes nothing. */
  readonly kind: 'trial'
}

/** To what a command is confined that runs without a rule. */
export type Confinement = ReadConfinement | EditConfinement | TrialConfinement
