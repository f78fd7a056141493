import { homedir } from 'node:os'
import { bothEnds, isInside } from '../files/paths.ts'

/** What confines commands that may change the workspace, in `acceptEdits`. */
export type EditMeans =
  | {
      /** Bubblewrap. Landlock cannot protect a folder inside a writable one. */
      readonly kind: 'bubblewrap'
      /** Path of bubblewrap. */
      readonly file: string
      /** Whether it can forbid further user namespaces. */
      readonly canDisableUserNamespaces: boolean
    }
  /** Nothing confines them: such commands need approval, as in the mode `default`. */
  | {
      readonly kind: 'off'
      /** Why nothing can, as the end of a sentence. */
      readonly why: string
      /** What a person can do about it, in a sentence; absent if the person, a setting or the system turned it off on purpose. */
      readonly todo?: string
    }

/** Why the directories of a session are too broad for a workspace; undefined if they are not. */
export function tooBroadReason(directories: readonly string[], home: string): string | undefined {
  const holding = (inner: readonly string[]): string | undefined =>
    directories.find((folder) =>
      inner.flatMap(bothEnds).some((one) => bothEnds(folder).some((end) => isInside(one, end))),
    )
  const root = holding(['/usr', '/etc'])
  if (root !== undefined) return `${root} contains system folders`
  const temporary = holding(['/tmp'])
  if (temporary !== undefined) return `other programs use ${temporary}`
  const own = holding([home, homedir()])
  return own === undefined ? undefined : `${own} contains your home folder, with settings of other programs`
}

/** One line for a person about what confines commands that may change the workspace. */
export function editSummary(means: EditMeans): string {
  return means.kind === 'bubblewrap'
    ? 'in acceptEdits, commands without a rule run confined to the workspace by bubblewrap'
    : `in acceptEdits, commands without a rule ask: ${means.why}`
}
