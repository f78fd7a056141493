import { homedir } from 'node:os'
import { bothEnds, isInside } from '../files/paths.ts'
import { editRemedy, type EditLack } from './edit-remedies.ts'
import { findProgram } from './find-bubblewrap.ts'
import { findNamespaces } from './wall-means.ts'

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

/** What to look for, and where. */
export interface EditMeansOptions {
  /** The search path. */
  readonly path: string
  /** The directories of the session: no program that confines is taken from there. */
  readonly directories: readonly string[]
  /** The person's own folder. */
  readonly home: string
}

/** Finds out whether commands can be confined to the directories of the session, by trying. */
export function detectEdits({ path, directories, home }: EditMeansOptions): EditMeans {
  const off = (why: string, lack?: EditLack): EditMeans => ({
    kind: 'off',
    why,
    ...(lack !== undefined && { todo: editRemedy(lack) }),
  })
  if (process.platform !== 'linux') return off(`commands are not confined on ${process.platform}`)
  const tooMuch = directories.find((folder) => holdsHome(folder, home))
  if (tooMuch !== undefined) return off(`your home folder is in ${tooMuch}, and too much there is obeyed later`, 'home')
  const means = findNamespaces(path, directories)
  if (means?.kind !== 'bubblewrap')
    return findProgram('bwrap', path, directories) === undefined
      ? off('bubblewrap is missing', 'bubblewrap')
      : off('bubblewrap is not allowed to make namespaces', 'namespaces')
  if (!means.hasOwnProc) return off('bubblewrap cannot give commands a /proc of their own here', 'proc')
  const { file, canDisableUserNamespaces } = means
  return { kind: 'bubblewrap', file, canDisableUserNamespaces }
}

function holdsHome(folder: string, home: string): boolean {
  return [home, homedir()].flatMap(bothEnds).some((own) => bothEnds(folder).some((end) => isInside(own, end)))
}

/** One line about what confines commands that may change the workspace, for a person. */
export function editSummary(means: EditMeans): string {
  return means.kind === 'bubblewrap'
    ? 'in acceptEdits, commands without a rule run confined to the workspace by bubblewrap'
    : `in acceptEdits, commands without a rule ask: ${means.why}`
}
