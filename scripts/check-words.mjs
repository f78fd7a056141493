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
  [/(?<!there )\bis none\b/i, 'is not an X, is invalid, is missing'],
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

/** Fields of records, and of values that programs print: allowed as the name of a property, nowhere else. */
const recordedFields = new Set(['goOn', 'limitsTold', 'told'])

/** What names the words itself. */
const withTheWords = new Set(['scripts/check-words.mjs', 'scripts/structure.mjs'])

/** Names and texts of records, of printed JSON and of options of programs: they do not change. */
const recorded = new Set([
  // Type of a record and of an event, and the counters of iterations in them.
  'lap',
  'laps',
  // Fields of `halting what-if --json`, and of trajectories that pages contain as JSON.
  'toldAfterTurn',
  'isTold',
  // Labels of explored paths, whose hashes choose the kills that packages/explorer/golden.json counts.
  'a failure that is none',
  'gives an input that is none',
  'gives an output that is none',
  'a prompt that is none',
  'a block that is none',
  'an error that is none',
  'a signal that is none',
  'a fit that is none',
  'an input that is none',
  'an id that is none',
  'a reason that is none',
  'a stream error that is none',
  'hangs after a name that is none',
  // Messages of plan mode in sessions of earlier versions.
  'Plan mode is on (told by halting, not by the user).',
  'Plan mode is over (told by halting, not by the user).',
])

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
  .filter((path) => /\.(?:ts|tsx|mts|mjs)$/.test(path) && !withTheWords.has(path) && existsSync(root + path))

const found = files.flatMap((path) => wordsIn(path, readFileSync(root + path, 'utf8')))
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
  const refuse = (at, what, instead) => {
    const line = text.slice(0, at).split('\n').length
    refused.set(`${line} ${what}`, `${path}:${line}: ${what}: write ${instead}`)
  }
  const prose = (at, passage) => {
    if (recorded.has(passage)) return
    for (const [pattern, instead] of words) {
      const hit = pattern.exec(passage)
      if (hit !== null) refuse(at + hit.index, hit[0], instead)
    }
  }
  const name = (at, identifier) => {
    if (recorded.has(identifier)) return
    for (const [pattern, instead] of parts) if (pattern.test(identifier)) refuse(at, identifier, instead)
    const instead = replaced.get(identifier)
    if (instead !== undefined) refuse(at, identifier, instead)
  }
  for (const { start, value } of comments) prose(start, value)
  // A property is visited before the name in it.
  const fieldsAt = new Set()
  const field = ({ key, property, computed = false }) => {
    const at = key ?? property
    if (!computed && recordedFields.has(at.name)) fieldsAt.add(at.start)
  }
  new Visitor({
    MemberExpression: field,
    Property: field,
    PropertyDefinition: field,
    TSPropertySignature: field,
    Identifier: ({ start, name: identifier }) => fieldsAt.has(start) || name(start, identifier),
    PrivateIdentifier: ({ start, name: identifier }) => name(start, identifier),
    JSXText: ({ start, value }) => prose(start, value),
    Literal: ({ start, value }) => typeof value === 'string' && prose(start, value),
    TemplateElement: ({ start, value }) => prose(start, value.raw),
  }).visit(program)
  return [...refused.values()]
}
