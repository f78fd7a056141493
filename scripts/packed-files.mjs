// What the packages may hold, and how large they may be. A bound is raised in the commit that needs it, with the reason in its message.

import { entriesOf, manifestOf } from './packages.mjs'

const kilobyte = 1_000

/** What every library holds. Sources are packed for the source maps. */
const library = [
  /^package\.json$/,
  /^src\/[\w/-]+(?:\.d)?\.ts$/,
  /^dist\/[\w/-]+\.d\.ts(?:\.map)?$/,
  /^dist\/chunks\/chunk-[A-Z\d]{8}\.js(?:\.map)?$/,
]

/** What it is imported by. */
const entriesIn = (name) => {
  const paths = entriesOf(name).map(({ path }) => path)
  return new RegExp(`^dist/(?:${paths.join('|')})\\.js(?:\\.map)?$`)
}

/** What is loaded with import() has the name of its file. */
const loadedLater = /^dist\/chunks\/[a-z-]+-[A-Z\d]{8}\.js(?:\.map)?$/

/** What some libraries hold beside. */
const more = {
  core: [loadedLater],
  journal: [loadedLater],
  policy: [loadedLater],
  agent: [loadedLater],
  // The page is bundled: its sources are not packed.
  inspector: [/^dist\/page\/page\.(?:js|css)$/],
}

/** Most kilobytes of a library, packed and unpacked. */
const kilobytes = {
  core: [1_200, 5_000],
  models: [420, 1_650],
  journal: [145, 565],
  telemetry: [61, 250],
  policy: [630, 2_400],
  agent: [1_130, 4_340],
  analysis: [375, 1_500],
  restate: [220, 890],
  inspector: [200, 800],
}

const libraries = Object.entries(kilobytes).map(([name, [packed, unpacked]]) => [
  manifestOf(name).name,
  {
    holds: [...library, entriesIn(name), ...(more[name] ?? [])],
    entry: 'dist/index.js',
    mostBytes: { packed: packed * kilobyte, unpacked: unpacked * kilobyte },
  },
])

export const packedFiles = {
  ...Object.fromEntries(libraries),
  halting: {
    holds: [
      /^package\.json$/,
      /^bin\/halting\.js$/,
      /^dist\/main\.js$/,
      // Licences of what the bundle holds.
      /^dist\/notices\.txt$/,
      /^dist\/inspector\/page\.(?:js|css)$/,
      /^dist\/chunks\/[a-z-]+(?:-[A-Z\d]{8}){1,2}\.js$/,
      /^dist\/chunks\/shell-parser\.cjs$/,
      /^examples\/fix-the-bug\/[\w./-]+\.(?:json|md|mjs)$/,
    ],
    entry: 'dist/main.js',
    mostBytes: { packed: 2_010 * kilobyte, unpacked: 7_900 * kilobyte },
  },
}
