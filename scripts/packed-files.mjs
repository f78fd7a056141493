// Which files the packages may contain, and how large they may be. Raise a limit in the commit that needs it, and give the reason in the commit message.

import { entriesOf, manifestOf } from './packages.mjs'

const kilobyte = 1_000

/** Files that npm packs of every package. */
const always = [/^package\.json$/, /^LICENSE$/, /^README\.md$/]

/** Files of every library. The JavaScript is readable, so there are neither sources nor source maps. */
const library = [...always, /^dist\/[\w/-]+\.d\.ts$/, /^dist\/chunks\/chunk-[A-Z\d]{8}\.js$/]

/** The files of its entries. */
const entriesIn = (name) => {
  const paths = entriesOf(name).map(({ path }) => path)
  return new RegExp(`^dist/(?:${paths.join('|')})\\.(?:js|cjs|d\\.cts)$`)
}

/** A chunk that is loaded with import() has the name of its file. */
const loadedLater = /^dist\/chunks\/[a-z-]+-[A-Z\d]{8}\.js$/

/** Further files of some libraries. */
const more = {
  core: [loadedLater],
  // Files that browsers and edge runtimes load instead of those that need Node.
  models: [/^dist\/browser\/(?:index|ai-sdk\/index|chunks\/chunk-[A-Z\d]{8})\.js$/],
  journal: [loadedLater],
  policy: [loadedLater],
  agent: [loadedLater],
  analysis: [loadedLater],
  inspector: [/^dist\/page\/page\.(?:js|css)$/],
}

/** Maximum size of a library in kilobytes, packed and unpacked. */
const kilobytes = {
  core: [530, 1_960],
  models: [280, 1_010],
  journal: [77, 277],
  'store-sqlite': [40, 160],
  'store-postgres': [40, 160],
  telemetry: [30, 110],
  policy: [330, 1_160],
  agent: [510, 1_720],
  analysis: [185, 650],
  restate: [145, 540],
  inspector: [130, 345],
}

const libraries = Object.entries(kilobytes).map(([name, [packed, unpacked]]) => [
  manifestOf(name).name,
  {
    holds: [...library, entriesIn(name), ...(more[name] ?? [])],
    entry: 'dist/index.js',
    maxBytes: { packed: packed * kilobyte, unpacked: unpacked * kilobyte },
  },
])

export const packedFiles = {
  ...Object.fromEntries(libraries),
  halting: {
    holds: [
      ...always,
      // The second one declares that the first is CommonJS.
      /^bin\/(?:halting\.js|package\.json)$/,
      /^dist\/(?:start|terminal)\.cjs$/,
      // Licenses of the bundled packages.
      /^dist\/notices\.txt$/,
      /^dist\/inspector\/page\.(?:js|css)$/,
      /^dist\/chunks\/(?:[a-z-]+-[A-Z\d]{8}|(?:json|shell)-parser)\.cjs$/,
      /^examples\/fix-the-bug\/[\w./-]+\.(?:json|md|mjs)$/,
    ],
    entry: 'dist/start.cjs',
    maxBytes: { packed: 2_080 * kilobyte, unpacked: 7_600 * kilobyte },
  },
}
