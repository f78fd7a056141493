// What the packages may hold, and how large they may be. A bound is raised in the commit that needs it, with the reason in its message.

const kilobyte = 1_000

/** What every library holds. Sources are packed for the source maps. */
const library = [
  /^package\.json$/,
  /^src\/[\w/-]+(?:\.d)?\.ts$/,
  /^dist\/[\w/-]+\.d\.ts(?:\.map)?$/,
  /^dist\/chunks\/chunk-[A-Z\d]{8}\.js(?:\.map)?$/,
]

export const packedFiles = {
  '@halting/core': {
    holds: [...library, /^dist\/(?:(?:steps|adapters|after|testing)\/)?index\.js(?:\.map)?$/],
    entry: 'dist/index.js',
    mostBytes: { packed: 940 * kilobyte, unpacked: 3_900 * kilobyte },
  },
  '@halting/models': {
    holds: [...library, /^dist\/(?:(?:scripted|ai-sdk)\/)?index\.js(?:\.map)?$/],
    entry: 'dist/index.js',
    mostBytes: { packed: 280 * kilobyte, unpacked: 1_115 * kilobyte },
  },
  '@halting/agent': {
    holds: [
      ...library,
      /^dist\/(?:(?:session\/foreign|after|hooks|instructions|json-schema|live-session|mcp|memory|sandbox|telemetry)\/)?index\.js(?:\.map)?$/,
      // What is loaded with import() bears the name of its file.
      /^dist\/chunks\/[a-z-]+-[A-Z\d]{8}\.js(?:\.map)?$/,
    ],
    entry: 'dist/index.js',
    mostBytes: { packed: 1_490 * kilobyte, unpacked: 5_680 * kilobyte },
  },
  '@halting/restate': {
    holds: [...library, /^dist\/(?:client\/)?index\.js(?:\.map)?$/],
    entry: 'dist/index.js',
    mostBytes: { packed: 195 * kilobyte, unpacked: 800 * kilobyte },
  },
  '@halting/inspector': {
    // The page is bundled: its sources are not packed.
    holds: [
      ...library,
      /^dist\/(?:index|changing-calls|figures|visible|open-entries|what-if-words)\.js(?:\.map)?$/,
      /^dist\/page\/page\.(?:js|css)$/,
    ],
    entry: 'dist/index.js',
    mostBytes: { packed: 200 * kilobyte, unpacked: 800 * kilobyte },
  },
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
    mostBytes: { packed: 1_670 * kilobyte, unpacked: 6_650 * kilobyte },
  },
}
