import { join } from 'node:path'
import type { Json, JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { DefinitionRef } from './definitions.ts'
import type { FileState } from './file-hashes.ts'

/** States by path, relative to the workspace. */
export type FileStatesByPath = ReadonlyMap<string, FileState>

/** A definition and its recorded state. */
export interface RecordedDefinition {
  readonly ref: DefinitionRef
  readonly state: FileState
}

/** The reference for comparisons: the files of the first round, updated with the changes that checks made. */
export interface Baseline {
  /** Hashes of commands whose definitions are recorded. */
  readonly commands: readonly string[]
  readonly definitions: readonly RecordedDefinition[]
  /** The effective globs, and the files that they matched; undefined before the first round. */
  readonly globs: string | undefined
  readonly protected: FileStatesByPath
  /** Hashes of the paths of matched files that git ignores, and the state of the ignore rules. */
  readonly ignored: readonly string[]
  readonly ignoreRules: string
  /** States of the test files; undefined before the first round. */
  readonly tests: FileStatesByPath | undefined
}

const noBaseline: Baseline = {
  commands: [],
  definitions: [],
  globs: undefined,
  protected: new Map(),
  ignored: [],
  ignoreRules: '',
  tests: undefined,
}

const version = 1

/**
 * Converts the baseline to JSON for the session: hashes and names, no contents. It has at most 200 definitions per
 * command, 2,000 protected files and 2,000 tests, so a few hundred kilobytes.
 */
export function memoOf(baseline: Baseline): Json {
  return {
    version,
    commands: [...baseline.commands],
    definitions: baseline.definitions.map(({ ref, state }) => [ref.kind, ref.folder, ref.name, state]),
    ...(baseline.globs !== undefined && { globs: baseline.globs }),
    protected: byFolder(baseline.protected),
    ignored: [...baseline.ignored],
    ignoreRules: baseline.ignoreRules,
    ...(baseline.tests !== undefined && { tests: byFolder(baseline.tests) }),
  }
}

/** @throws Error for a memo of a later version, whose protection rules are unknown to this version. */
export function baselineOf(memo: Json | null): Baseline {
  if (memo === null) return noBaseline
  if (!isJsonObject(memo) || memo['version'] !== version)
    throw new Error(
      'The session has protected files on record in a form that this version does not know. Go on with it in the version that wrote it.',
    )
  const { globs, ignoreRules, tests } = memo
  return {
    commands: textsIn(memo['commands']),
    definitions: definitionsIn(memo['definitions']),
    globs: typeof globs === 'string' ? globs : undefined,
    protected: fromFolders(memo['protected']),
    ignored: textsIn(memo['ignored']),
    ignoreRules: typeof ignoreRules === 'string' ? ignoreRules : '',
    tests: tests === undefined ? undefined : fromFolders(tests),
  }
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []
}

const kinds: readonly DefinitionRef['kind'][] = [
  'file',
  'script',
  'scripts',
  'config',
  'make',
  'just',
  'target',
  'bin',
  'program',
]

function definitionsIn(value: unknown): readonly RecordedDefinition[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((one: unknown) => {
    const [kindName, folder, name, state] = textsIn(one)
    const kind = kinds.find((known) => known === kindName)
    if (kind === undefined || folder === undefined || name === undefined || state === undefined) return []
    return [{ ref: { kind, folder, name }, state }]
  })
}

/** Writes the name of each folder once instead of once per file. */
function byFolder(states: FileStatesByPath): JsonObject {
  const folders = new Map<string, [string, Json][]>()
  for (const [path, state] of states) {
    const at = path.lastIndexOf('/')
    const folder = at < 0 ? '' : path.slice(0, at)
    const names = folders.get(folder) ?? []
    names.push([path.slice(at + 1), state])
    folders.set(folder, names)
  }
  return Object.fromEntries([...folders].map(([folder, names]) => [folder, Object.fromEntries(names)]))
}

function fromFolders(value: unknown): FileStatesByPath {
  const states = new Map<string, FileState>()
  for (const [folder, names] of Object.entries(isJsonObject(value) ? value : {}))
    for (const [name, state] of Object.entries(isJsonObject(names) ? names : {}))
      if (typeof state === 'string') states.set(join(folder, name), state)
  return states
}
