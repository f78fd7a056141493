import { tmpdir } from 'node:os'
import { detectEdits, type EditMeansOptions } from './edit-detect.ts'
import type { EditMeans } from './edit-means.ts'
import { detectOverlays } from './overlay-launcher.ts'

/** What tries commands before a person is asked. */
export type TrialMeans =
  | {
      /** Overlays, which receive the writes of the commands. */
      readonly kind: 'overlay'
      /** What confines them. */
      readonly bubblewrap: Extract<EditMeans, { readonly kind: 'bubblewrap' }>
      /** Path of perl, which mounts the overlays. */
      readonly perl: string
      /** A folder for written data until it is discarded. */
      readonly folder: string
    }
  /** Nothing can try commands: a person is asked at once. */
  | {
      readonly kind: 'off'
      /** Why, as the end of a sentence. */
      readonly why: string
    }

/** Detects whether commands can be tried in the directories of the session, by trying. */
export function detectTrials(options: EditMeansOptions): TrialMeans {
  const bubblewrap = detectEdits(options)
  if (bubblewrap.kind === 'off') return bubblewrap
  const { path, directories } = options
  let why = ''
  // If temporary files are on an overlay, as in containers, only memory remains.
  for (const folder of [tmpdir(), '/dev/shm']) {
    const found = detectOverlays({ path, writable: directories, folder, bubblewrap: bubblewrap.file })
    if (found.kind === 'overlay') return { kind: 'overlay', bubblewrap, perl: found.perl, folder }
    why ||= found.why
  }
  return { kind: 'off', why }
}

/** One line for a person about whether commands are tried before a person is asked. */
export function trialSummary(means: TrialMeans): string {
  return means.kind === 'overlay'
    ? 'tryReadOnly: in default mode, commands without a rule are tried on overlays before they ask'
    : `tryReadOnly: commands are not tried before they ask: ${means.why}`
}
