// What the packages may hold, and how large they may be. A bound is raised in the commit that needs it, with the reason in its message.

import { entriesOf, manifestOf } from './packages.mjs'

const kilobyte = 1_000

/** What npm packs of every package. */
const always = [/^package\.json$/, /^LICENSE$/, /^README\.md$/]

/** What every library holds. The JavaScript is readable, so there are neither sources nor source maps. */
const library = [...always, /^dist\/[\w/-]+\.d\.ts$/, /^dist\/chunks\/chunk-[A-Z\d]{8}\.js$/]

/** What it is imported by. */
const entriesIn = (name) => {
  const paths = entriesOf(name).map(({ path }) => path)
  return new RegExp(`^dist/(?:${paths.join('|')})\\.(?:js|cjs|d\\.cts)$`)
}

/** What is loaded with import() has the name of its file. */
const loadedLater = /^dist\/chunks\/[a-z-]+-[A-Z\d]{8}\.js$/

/** What some libraries hold beside. */
const more = {
  core: [loadedLater],
  // What browsers and edge runtimes load, in the place of what needs Node.
  models: [/^dist\/browser\/(?:index|ai-sdk\/index|chunks\/chunk-[A-Z\d]{8})\.js$/],
  journal: [loadedLater],
  policy: [loadedLater],
  agent: [loadedLater],
  analysis: [loadedLater],
  inspector: [/^dist\/page\/page\.(?:js|css)$/],
}

/** Most kilobytes of a library, packed and unpacked. */
const kilobytes = {
  core: [530, 1_930],
  models: [280, 1_010],
  journal: [77, 277],
  'store-sqlite': [40, 160],
  'store-postgres': [40, 160],
  telemetry: [30, 110],
  policy: [330, 1_160],
  agent: [510, 1_720],
  analysis: [185, 650],
  restate: [145, 525],
  inspector: [130, 345],
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
      ...always,
      // The second says that the first is CommonJS.
      /^bin\/(?:halting\.js|package\.json)$/,
      /^dist\/(?:start|terminal)\.cjs$/,
      // Licences of what the bundle holds.
      /^dist\/notices\.txt$/,
      /^dist\/inspector\/page\.(?:js|css)$/,
      /^dist\/chunks\/(?:[a-z-]+-[A-Z\d]{8}|shell-parser)\.cjs$/,
      /^examples\/fix-the-bug\/[\w./-]+\.(?:json|md|mjs)$/,
    ],
    entry: 'dist/start.cjs',
    mostBytes: { packed: 2_080 * kilobyte, unpacked: 7_450 * kilobyte },
  },
}
