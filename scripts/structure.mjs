// Prints figures about the structure of the code: files that are too small, imports in both directions, and things that are done in several places.
// `npm run structure`, `-- --json` for machines, `-- --list` with the files behind the figures. It always succeeds: AGENTS.md says in which direction
// the figures should go. What each figure counts:
//   files, folders       sources of all packages (`packages/*/src`, .ts and .tsx), and the folders that have at least one
// one importer files of at most 60 lines that one other source file imports (types and `import()` count, and re-exports); entries do not count
//   floors, upward       `packages/core/src`: a room is a folder directly below it, or a file directly in it. The rooms are put in an order with few imports
//                        against it (a greedy heuristic, see `layers`); upward are the pairs of files that import against that order, floors is
//                        the length of the longest chain of rooms along it
// session builders files that put the tools of a session together: they call `createCodingTools`
// read sessions published packages with a file that imports one of `readers` and imports or declares one of `models`: it computes sums or models
//                        of recorded sessions
//   tables of an ending  constants typed by `EndingReason`, whole or partial, and switches over at least half of its members
//   tellWords            occurrences of forms of the verb tell in sources, not as parts of longer names
//   documents            bytes of CHANGELOG.md, and of the largest page of the specification
//   longest              the largest file in lines, and functions of more than 70 lines without their doc comments
import { readdirSync, statSync } from 'node:fs'
import { packages, publishedPackages, root } from './packages.mjs'
import {
  filesAndFolders,
  largestDocument,
  largestFile,
  layers,
  longFunctions,
  occurrencesOf,
  filesThatReadSessions,
  packagesOf,
  sessionBuilders,
  smallFilesWithOneImporter,
  tablesOf,
} from './structure/figures.mjs'
import { readTexts, treeOf } from './structure/tree.mjs'

/** A function that every builder of a session has to call. */
const wiring = ['createCodingTools']

/** Functions that read recorded sessions, of this program and of others. */
const readers = [
  'foldRun',
  'foldSession',
  'parseJournal',
  'readForeign',
  'readJournal',
  'recordedStep',
  'recordedSteps',
  'recordsOfForeign',
]

/** Functions that compute sums or models of recorded sessions. Not `recordedAccount`: it restores the ledger of a session that continues. */
const models = [
  'accountOf',
  'recordedProgress',
  'recordedWork',
  'sessionTranscript',
  'suggestLimits',
  'summariesOf',
  'summaryOf',
  'timeByPhase',
  'trajectoryOf',
  'trajectoryOfForeign',
  'viewOf',
  'whatIf',
]

/** Files that Node starts or a browser loads. */
const started = ['packages/cli/src/main.ts', 'packages/inspector/src/page/main.tsx']

const tree = treeOf(readTexts(root, packages), started)
const small = smallFilesWithOneImporter(tree)
const { floors, upward, rooms } = layers(tree, 'packages/core/src')
const builders = sessionBuilders(tree, wiring)
const readingFiles = filesThatReadSessions(tree, { readers, models })
const reading = packagesOf(readingFiles).filter((name) => publishedPackages.includes(name))
const tables = tablesOf(tree, 'EndingReason')
const functions = longFunctions(tree)
const specification = largestDocument(new Map(specPages().map((path) => [path, sizeOf(path)])))
const largest = largestFile(tree)

const figures = {
  ...filesAndFolders(tree),
  smallFilesWithOneImporter: small.length,
  coreRooms: rooms,
  coreFloors: floors,
  coreUpwardImports: upward,
  sessionBuilders: builders.length,
  packagesThatReadSessions: reading.length,
  tablesOfEndings: tables.length,
  tellWords: occurrencesOf(tree, ['told', 'tells', 'tell']),
  changelogBytes: sizeOf('CHANGELOG.md'),
  largestSpecBytes: specification.bytes,
  largestFileLines: largest.lines,
  functionsOver70Lines: functions.length,
}

const flags = process.argv.slice(2)
if (flags.includes('--json')) console.log(JSON.stringify(figures, null, 2))
else print()

function print() {
  const rows = [
    ['source files / folders', `${figures.files} / ${figures.folders}`],
    ['files with one importer and at most 60 lines', small.length],
    ['floors / upward imports of core', `${floors} / ${upward} (of ${rooms} rooms)`],
    ['builders of a session', builders.length],
    ['packages that read finished sessions', `${reading.length} (${reading.join(', ')})`],
    ['tables of an ending', `${tables.length} (in ${new Set(tables.map((each) => each.split(':')[0])).size} files)`],
    ['told, tells, tell in sources', figures.tellWords],
    [
      'CHANGELOG.md / largest page of the specification',
      `${kilobytes(figures.changelogBytes)} / ${kilobytes(specification.bytes)}`,
    ],
    ['largest file', `${largest.lines} lines (${largest.path})`],
    ['functions of more than 70 lines', functions.length],
  ]
  for (const [name, value] of rows) console.log(`${name.padEnd(50)}${value}`)
  if (!flags.includes('--list')) return
  const lists = {
    'One importer': small,
    Builders: builders,
    'Finished sessions': readingFiles,
    Tables: tables,
    'Long functions': functions.map(({ name, lines }) => `${name}, ${lines} lines`),
  }
  for (const [title, list] of Object.entries(lists))
    console.log(`\n${title}\n${list.map((each) => `  ${each}`).join('\n')}`)
}

function specPages() {
  return readdirSync(new URL('docs/spec/', root)).map((name) => `docs/spec/${name}`)
}

function sizeOf(path) {
  return statSync(new URL(path, root)).size
}

function kilobytes(bytes) {
  return `${Math.round(bytes / 1000)} kB`
}
