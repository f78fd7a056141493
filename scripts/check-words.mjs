// Refuses words that readers have to translate back (docs/glossary.md), in identifiers, comments and texts of sources, tests and scripts. Part of `npm run lint`.
//   node scripts/check-words.mjs [folder or file]...
// Names on disk and on the wire are as they are: `recorded` lists them.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { parseSync, Visitor } from 'oxc-parser'
import { fileURLToPath } from 'node:url'
import { root as rootUrl } from './packages.mjs'

const root = fileURLToPath(rootUrl)

/** In comments and texts, with what to write instead. */
const words = [
  [/\btold\b/i, 'reported, emitted, printed, notified'],
  [/\btells\b/i, 'reports, says which, distinguishes'],
  [/\bwhoever\b/i, 'the caller, the reader, a client'],
  [/\bis none\b/i, 'is not an X, is invalid, is missing'],
]

/** As a part of an identifier in camel case. */
const parts = [
  [/(?:^|[a-z_#$])Told(?![a-z])|^#?told(?![a-z])/, 'reported, emitted, printed, notified'],
  [/(?:^|[a-z_#$])Tells(?![a-z])|^#?tells(?![a-z])/, 'reports, emits'],
  [/whoever/i, 'the caller, the reader, a client'],
  [/isNone(?![a-z])/i, 'isMissing, isInvalid'],
]

/** Whole identifiers that named no concept, with the kind of name that took their place. */
const replaced = new Map(
  Object.entries({
    Came: 'CallOutcome',
    CameToEnd: 'AgentResult',
    EndToTell: 'UnreportedEnding',
    Held: 'Confinement',
    holdCommands: 'confineCommands',
    HeldBack: 'Reserve',
    Given: 'Validator, InitializeRequest',
    Written: 'UserContent',
    Said: 'UserStatement, ErrorBody, ExpandedPrompt',
    saidIn: 'recordedTranscript',
    shownIn: 'displayTranscript',
    whose: 'sessionScope',
    usable: 'asUsageError',
    keeper: 'settingsWriter',
    isOwnHook: 'isBuiltinHook',
    OwnReply: 'StoredReply',
    OwnBlocks: 'FrozenBlocks',
    misfitOfRecord: 'validateRecord',
    untoldIn: 'unreportedUsage',
    Untold: 'UnreportedUsage',
    wayOn: 'resumeHint',
    goOn: 'resumeCommand',
    ProjectLook: 'WorktreeSnapshot',
    PiecesAhead: 'ReadAheadBuffer',
    inertGit: 'readOnlyGit',
    inert: 'sanitizeTerminalText',
    payLostRequests: 'chargeOrphanedRequests',
    lap: 'iteration',
    laps: 'iterations',
    Lap: 'Iteration',
    onward: 'continueWith',
    goesOn: 'proceed',
    Stranger: 'UntrustedPort',
    Face: 'Frontend',
    AgentsBeside: 'BackgroundAgents',
    stepBeside: 'stepConcurrently',
    tellingChanges: 'withChangeNotices',
    tellingFailures: 'withErrorResults',
    tellingProgress: 'withProgress',
    tellingTail: 'tailReporter',
  }),
)

/** Names of records, of requests and of options of programs: they do not change. By file, or `*` for all. */
const recorded = new Map(
  Object.entries({
    '*': ['lap'],
    // `laps` of a certificate, and of the state in a record.
    'packages/core/test/certificate.test.ts': ['laps'],
    'packages/core/test/guards/identity.test.ts': ['laps'],
    'packages/core/test/guards/reminders.test.ts': ['laps'],
    'packages/core/test/hooks/agents-and-defer.test.ts': ['laps'],
    'packages/core/test/steps/driver.test.ts': ['laps'],
    'packages/core/test/verification/any-run.test.ts': ['laps'],
  }),
)

/** Folders that still have some: the list only shrinks. */
const unchecked = ['bench', 'examples', 'packages', 'scripts', 'vitest']

const chosen = process.argv.slice(2)
const files = execFileSync(
  'git',
  ['ls-files', '-co', '--exclude-standard', '--', ...(chosen.length > 0 ? chosen : ['.'])],
  {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  },
)
  .split('\n')
  .filter((path) => /\.(?:ts|tsx|mts|mjs)$/.test(path) && path !== 'scripts/check-words.mjs' && existsSync(root + path))

const isChecked = (path) => chosen.length > 0 || !unchecked.some((folder) => path.startsWith(folder))
const found = files.filter(isChecked).flatMap((path) => wordsIn(path, readFileSync(root + path, 'utf8')))
for (const line of found) console.error(line)
if (found.length > 0) {
  console.error(`${found.length} words to replace: AGENTS.md says how we write.`)
  process.exitCode = 1
}

/** Lines of what is refused in a source. */
function wordsIn(path, text) {
  const { program, comments, errors } = parseSync(path, text)
  if (errors.length > 0) return [`${path}: cannot be read: ${errors[0].message}`]
  const refused = new Map()
  const exempt = new Set([...(recorded.get('*') ?? []), ...(recorded.get(path) ?? [])])
  const refuse = (at, what, instead) => {
    const line = text.slice(0, at).split('\n').length
    refused.set(`${line} ${what}`, `${path}:${line}: ${what}: write ${instead}`)
  }
  const prose = (at, passage) => {
    for (const [pattern, instead] of words) {
      const hit = pattern.exec(passage)
      if (hit !== null) refuse(at + hit.index, hit[0], instead)
    }
  }
  const name = (at, identifier) => {
    if (exempt.has(identifier)) return
    for (const [pattern, instead] of parts) if (pattern.test(identifier)) refuse(at, identifier, instead)
    const instead = replaced.get(identifier)
    if (instead !== undefined) refuse(at, identifier, instead)
  }
  for (const { start, value } of comments) prose(start, value)
  new Visitor({
    Identifier: ({ start, name: identifier }) => name(start, identifier),
    PrivateIdentifier: ({ start, name: identifier }) => name(start, identifier),
    JSXText: ({ start, value }) => prose(start, value),
    Literal: ({ start, value }) => typeof value === 'string' && prose(start, value),
    TemplateElement: ({ start, value }) => prose(start, value.raw),
  }).visit(program)
  return [...refused.values()]
}
