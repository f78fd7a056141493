import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type CacheOptions, cachePlaces } from './cache-places.ts'
import type { Overlay } from './overlay-launcher.ts'

/** The caches of tools for a command that is tried. */
export interface TrialCaches {
  /** To be mounted before bubblewrap starts. */
  readonly overlays: readonly Overlay[]
  /** Arguments of bubblewrap. */
  readonly mounts: readonly string[]
}

/** The caches of the person, as confined commands see them. What is written to them is thrown away and does not count. */
export function trialCaches(options: CacheOptions, folder: string): TrialCaches {
  const shown = cachePlaces(options).map((place, index) => ({ ...place, own: join(folder, `cache-${index}`) }))
  for (const { own } of shown) mkdirSync(join(own, 'at'), { recursive: true, mode: 0o755 })
  return {
    overlays: shown.flatMap(({ real, isThere, own, shown: names, hidden }) =>
      !isThere
        ? []
        : [
            {
              lower: [real],
              upper: join(own, 'upper'),
              work: join(own, 'work'),
              at: join(own, 'at'),
              ...(names !== undefined && { shown: names }),
              ...(hidden !== undefined && { hidden }),
            },
          ],
    ),
    mounts: shown.flatMap(({ path, own }) => ['--bind', join(own, 'at'), path]),
  }
}
