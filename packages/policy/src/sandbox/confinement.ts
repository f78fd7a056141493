import type { DeniedPatterns } from './describe.ts'

/** Confinement of a command that runs because it was judged read-only. */
export interface ReadConfinement {
  /** `read`: files only; `look`: also the processes of the machine. */
  readonly kind: 'read' | 'look'
  /** What it may read in addition to the session's directories and the system. */
  readonly readable: readonly string[]
}

/** Confinement of a command that the mode `acceptEdits` lets change the workspace. */
export interface EditConfinement {
  /** It may change the workspace and nothing else. */
  readonly kind: 'edit'
  /** The directories of the session. It may write them except for control files. */
  readonly directories: readonly string[]
  /** What it may read in addition to these and the system. */
  readonly readable: readonly string[]
  /** Files of deny rules, which it cannot access. */
  readonly denied: DeniedPatterns
  /** Whether git may write its folders: the line has git commands that change only the index or the history. */
  readonly writesGit: boolean
}

/**
 * Confinement of a command that is tried before a person is asked. Everything that it writes is discarded, so that only its output and exit code
 * remain.
 */
export interface TrialConfinement extends Pick<EditConfinement, 'directories' | 'readable' | 'denied'> {
  /** It changes nothing. */
  readonly kind: 'trial'
}

/** Confinement of a command that runs without a rule. */
export type Confinement = ReadConfinement | EditConfinement | TrialConfinement
