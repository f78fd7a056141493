import { homedir } from 'node:os'
import { bothEnds, isInside } from '../files/paths.ts'

/** What confines commands that may change the workspace, in `acceptEdits`. */
export type EditMeans =
  | {
      /** Bubblewrap does: Landlock cannot protect a folder inside one that can be written. */
      readonly kind: 'bubblewrap'
      /** Path of bubblewrap. */
      readonly file: string
      /** Whether it can forbid further user namespaces. */
      readonly canDisableUserNamespaces: boolean
    }
  /** Nothing does: such commands ask, as in the mode `default`. */
  | {
      readonly kind: 'off'
      /** Why, as the end of a sentence. */
      readonly why: string
      /** What a person can do about it, in a sentence; absent where they, a setting or the system want it so. */
      readonly todo?: string
    }

/** Why directories of a session are more than a workspace; undefined where they are not. */
export function tooBroadReason(directories: readonly string[], home: string): string | undefined {
  const holding = (inner: readonly string[]): string | undefined =>
    directories.find((folder) =>
      inner.flatMap(bothEnds).some((one) => bothEnds(folder).some((end) => isInside(one, end))),
    )
  const root = holding(['/usr', '/etc'])
  if (root !== undefined) return `folders of the system are in ${root}`
  const temporary = holding(['/tmp'])
  if (temporary !== undefined) return `other programs use ${temporary}`
  const own = holding([home, homedir()])
  return own === undefined ? undefined : `your home folder is in ${own}, and too much there is obeyed later`
}

/** One line about what confines commands that may change the workspace, for a person. */
export function editSummary(means: EditMeans): string {
  return means.kind === 'bubblewrap'
    ? 'in acceptEdits, commands without a rule run confined to the workspace by bubblewrap'
    : `in acceptEdits, commands without a rule ask: ${means.why}`
}
