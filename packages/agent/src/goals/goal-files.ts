import { join, relative, resolve } from 'node:path'
import type { GoalFiles, GoalFilesEnd, GoalFilesRound, GoalSpec, Json } from '@halting/core'
import { realPath } from '@halting/journal/files'
import type { Environment } from '@halting/policy/files'
import type { ReadOnlyGit } from '../tools/read-only-git.ts'
import { gitQuotedName } from '../checkpoints/git-quoted-name.ts'
import {
  type DetectedChanges,
  FileSnapshots,
  snapshotLimits,
  type WorktreeSnapshot,
} from '../checkpoints/worktree-snapshot.ts'
import { type CheckedCommand, definitionsOf, type DefinitionPlace } from './definitions.ts'
import { definitionState, definitionText, isAccepted } from './definition-state.ts'
import { FileHashes, type FileState, nothing, shortHash } from './file-hashes.ts'
import { type Baseline, baselineOf, type FileStatesByPath, type RecordedDefinition, memoOf } from './goal-memo.ts'
import { filesThatFit, type ProtectedFiles, protectedGlobs, type ProtectedGlobs } from './protected-globs.ts'
import { maxTestFiles, testFilesIn, type TestFiles } from './test-files.ts'
import { repositoryGit } from './repository-git.ts'
import { snapshotFolder } from '../checkpoints/folder-snapshot.ts'
import { GitProject, isInRepository } from '../checkpoints/git-snapshot.ts'
import { ContentStore } from '../checkpoints/content-store.ts'

/** Options of `goalFiles`. */
export interface GoalFilesOptions {
  /** The workspace. */
  readonly cwd: string
  /**
   * The folder in which the command of a goal runs, whose definitions are protected. Undefined for a goal that is not
   * a command. Default: the workspace, for goals that are not judged.
   */
  readonly folderOf?: (goal: GoalSpec) => string | undefined
  /** Globs, relative to the workspace, of files that the agent must not change. Files that git ignores are exempt. */
  readonly protect?: readonly string[]
  /** The environment of the checks (default: that of this process). */
  readonly env?: Environment
  /** Receives the changes that checks made, before the round ends. */
  readonly onChangedByChecks?: (changes: readonly ChangedByCheck[]) => Promise<void> | void
}

/** A file that a check has changed, created or removed. */
export interface ChangedByCheck {
  /** Real path of the file. */
  readonly path: string
  /**
   * SHA-256 of its content before the check, in hexadecimal; undefined if the file did not exist or its content is
   * unknown.
   */
  readonly sha256Before: string | undefined
}

const maxIgnored = 500

/**
 * Watches the files around the checks of a workspace, for `RunOptions.goalFiles`. What determines a check, and what
 * `protect` names, must stay as it was in the first round. Changes by the checks themselves do not count as changes of
 * the agent.
 * @throws ConfigurationError for invalid globs.
 */
export function goalFiles(options: GoalFilesOptions): GoalFiles {
  const root = realPath(resolve(options.cwd))
  const { env = process.env } = options
  const { folderOf = ({ judged }) => (judged === true ? undefined : root) } = options
  const files = new WatchedFiles({ root, env }, protectedGlobs(options.protect ?? [], root), { ...options, folderOf })
  return { begin: (memo, signal, goals) => files.begin(memo, signal, goals) }
}

/** The state of the workspace at one time. */
interface WorkspaceState {
  readonly fits: ProtectedFiles
  readonly protected: FileStatesByPath
  readonly ignoreRules: string
  readonly testFiles: TestFiles
  readonly tests: FileStatesByPath
  /** The states of the definitions, in the order of the baseline. */
  readonly definitions: readonly FileState[]
}

/** The changes that checks made between two states. */
interface CheckEffects {
  readonly before: WorkspaceState
  readonly after: WorkspaceState
  readonly seen: DetectedChanges
}

type WatchedOptions = Pick<GoalFilesOptions, 'onChangedByChecks'> & Required<Pick<GoalFilesOptions, 'folderOf'>>

class WatchedFiles {
  readonly #place: DefinitionPlace
  readonly #globs: ProtectedGlobs
  readonly #options: WatchedOptions
  readonly #hashes = new FileHashes()
  readonly #workspace: WorkspaceInspector

  constructor(place: DefinitionPlace, globs: ProtectedGlobs, options: WatchedOptions) {
    this.#place = place
    this.#globs = globs
    this.#options = options
    this.#workspace = new WorkspaceInspector(place.root, place.env)
  }

  async begin(memo: Json | null, signal: AbortSignal, goals: readonly GoalSpec[]): Promise<GoalFilesRound> {
    const known = this.#withCommands(baselineOf(memo), goals)
    const git = await repositoryGit(this.#place.root, this.#place.env)
    const before = await this.#look(known, git, signal)
    const baseline = this.#withFiles(known, before)
    const tampered = [...this.#changedDefinitions(baseline, before), ...this.#changedFiles(baseline, before)]
    const workspace = await this.#workspace.inspect()
    return {
      tampered,
      end: async () => {
        const seen = await workspace.changes()
        return this.#end(baseline, { before, after: await this.#look(baseline, git, signal), seen })
      },
    }
  }

  /** Adds the current definitions of commands that are checked for the first time. */
  #withCommands(baseline: Baseline, goals: readonly GoalSpec[]): Baseline {
    const commands = new Set(baseline.commands)
    const definitions = [...baseline.definitions]
    const has = new Set(definitions.map(({ ref }) => JSON.stringify(ref)))
    for (const goal of goals) {
      const folder = this.#options.folderOf(goal)
      if (folder === undefined) continue
      const command: CheckedCommand = { command: goal.name, cwd: realPath(resolve(this.#place.root, folder)) }
      const hash = shortHash(JSON.stringify([command.command, relative(this.#place.root, command.cwd)]))
      if (commands.has(hash)) continue
      commands.add(hash)
      for (const ref of definitionsOf(command, this.#place)) {
        const state = definitionState(ref, this.#place, this.#hashes)
        // The agent may create missing files, except for files that hide or override something.
        const isHiding = ref.kind === 'config' || ref.kind === 'bin' || ref.kind === 'program' || ref.kind === 'target'
        if (has.has(JSON.stringify(ref)) || (state === nothing && !isHiding)) continue
        has.add(JSON.stringify(ref))
        definitions.push({ ref, state })
      }
    }
    return { ...baseline, commands: [...commands], definitions }
  }

  async #look(baseline: Baseline, git: ReadOnlyGit, signal: AbortSignal): Promise<WorkspaceState> {
    const { root } = this.#place
    const fits = await filesThatFit(this.#globs, root, git, signal)
    // Protected files remain protected even if git ignores them by now.
    const paths = new Set([...fits.paths, ...baseline.protected.keys()])
    const testFiles = await testFilesIn(root, git)
    const tests = new Set([...testFiles.paths, ...(baseline.tests?.keys() ?? [])])
    return {
      fits,
      protected: withOddNames(await this.#statesOf(paths, signal), fits.paths),
      ignoreRules: shortHash(
        fits.ignoreFiles.map((path) => `${path} ${this.#hashes.stateOf(join(root, path))}`).join('\n'),
      ),
      testFiles,
      tests: await this.#statesOf(tests, signal),
      definitions: baseline.definitions.map(({ ref }) => definitionState(ref, this.#place, this.#hashes)),
    }
  }

  async #statesOf(paths: Iterable<string>, signal: AbortSignal): Promise<FileStatesByPath> {
    const { root } = this.#place
    const states = await this.#hashes.statesOf(
      [...paths].map((path) => join(root, path)),
      signal,
    )
    return new Map([...states].map(([path, state]) => [relative(root, path), state]))
  }

  /** Starts from the current files in the first round, and when the globs change. */
  #withFiles(baseline: Baseline, look: WorkspaceState): Baseline {
    const globs = shortHash(JSON.stringify(this.#globs.given))
    const tests = baseline.tests ?? withoutNothing(look.tests)
    if (baseline.globs === globs) return { ...baseline, tests }
    return {
      ...baseline,
      globs,
      protected: withoutNothing(new Map(look.fits.paths.map((path) => [path, look.protected.get(path) ?? nothing]))),
      ignored: look.fits.ignored.slice(0, maxIgnored).map(shortHash),
      ignoreRules: look.ignoreRules,
      tests,
    }
  }

  #changedDefinitions({ definitions }: Baseline, look: WorkspaceState): readonly string[] {
    const changed = definitions.filter(({ ref, state }, at) => !isAccepted(ref, state, look.definitions[at] ?? nothing))
    return [...new Set(changed.map(({ ref }) => definitionText(ref, this.#place)))]
  }

  #changedFiles(baseline: Baseline, { fits, protected: states, ignoreRules }: WorkspaceState): readonly string[] {
    const tampered = [...states].flatMap(([path, state]) => {
      const before = baseline.protected.get(path) ?? nothing
      if (before === state) return []
      const how = before === nothing ? ' (new)' : state === nothing ? ' (deleted)' : ''
      return [`${gitQuotedName(path)}${how}`]
    })
    if (ignoreRules === baseline.ignoreRules || baseline.ignored.length >= maxIgnored) return tampered
    const knownIgnored = new Set(baseline.ignored)
    const hidden = fits.ignored.filter((path) => !knownIgnored.has(shortHash(path)) && !baseline.protected.has(path))
    return [
      ...tampered,
      ...hidden.map((path) => `${gitQuotedName(path)} (new, and ignored by git since the first check)`),
    ]
  }

  async #end(baseline: Baseline, { before, after, seen }: CheckEffects): Promise<GoalFilesEnd> {
    await this.#options.onChangedByChecks?.(
      seen.changes.map(({ path, before: was }) => ({
        path,
        sha256Before: was.kind === 'file' ? was.sha256 : undefined,
      })),
    )
    const { root } = this.#place
    const changed = new Set([
      ...seen.changes
        .filter((change) => change.before.kind !== 'folder' && change.after.kind !== 'folder')
        .map(({ path }) => relative(root, path)),
      ...differing(before.protected, after.protected),
      ...differing(before.tests, after.tests),
    ])
    const tests = afterChecks(baseline.tests ?? new Map(), before.tests, after.tests)
    const next: Baseline = {
      ...baseline,
      definitions: definitionsAfter(baseline, before, after),
      protected: afterChecks(baseline.protected, before.protected, after.protected),
      tests,
    }
    const changedTests = differing(tests, after.tests).toSorted().map(gitQuotedName)
    const last = changedTests.pop()
    // Names one file, and reports how many files were compared if the list is truncated.
    const cut = after.testFiles.isCut ? ` (of more than ${maxTestFiles} test files the first were compared)` : ''
    return {
      memo: memoOf(next),
      tampered: this.#changedDefinitions(next, after),
      changedByChecks: [...changed].toSorted().map(gitQuotedName),
      changedTests: last === undefined ? [] : [...changedTests, `${last}${cut}`],
    }
  }
}

/**
 * A make target that a check created counts as existing from now on. All other definitions stay as recorded:
 * a check may run what the agent wrote.
 */
function definitionsAfter(
  { definitions }: Baseline,
  before: WorkspaceState,
  after: WorkspaceState,
): readonly RecordedDefinition[] {
  return definitions.map((recorded, at) =>
    recorded.ref.kind === 'target' && before.definitions[at] === nothing
      ? { ...recorded, state: after.definitions[at] ?? nothing }
      : recorded,
  )
}

/** A name that is not UTF-8 is listed in its folder, but no file is found under the decoded name. */
function withOddNames(states: FileStatesByPath, seen: readonly string[]): FileStatesByPath {
  const odd = seen.filter((path) => path.includes('\uFFFD') && states.get(path) === nothing)
  return odd.length === 0 ? states : new Map([...states, ...odd.map((path) => [path, 'odd'] as const)])
}

function withoutNothing(states: FileStatesByPath): FileStatesByPath {
  return new Map([...states].filter(([, state]) => state !== nothing))
}

/** Paths whose states differ; a missing path has the state `nothing`. */
function differing(before: FileStatesByPath, after: FileStatesByPath): readonly string[] {
  const paths = new Set([...before.keys(), ...after.keys()])
  return [...paths].filter((path) => (before.get(path) ?? nothing) !== (after.get(path) ?? nothing))
}

/**
 * Updates the baseline with files that were unmodified before the checks. Files that the agent had changed stay
 * changed.
 */
function afterChecks(baseline: FileStatesByPath, before: FileStatesByPath, after: FileStatesByPath): FileStatesByPath {
  const next = new Map<string, FileState>(baseline)
  for (const path of differing(before, after)) {
    if ((baseline.get(path) ?? nothing) !== (before.get(path) ?? nothing)) continue
    const state = after.get(path) ?? nothing
    if (state === nothing) next.delete(path)
    else next.set(path, state)
  }
  return next
}

/** Inspects a workspace before and after checks, with git if it is a repository. Stores no content. */
class WorkspaceInspector {
  readonly #root: string
  readonly #env: Environment
  readonly #contents: ContentStore
  readonly #files: FileSnapshots
  #git: GitProject | undefined

  constructor(cwd: string, env: Environment) {
    this.#root = realPath(cwd)
    this.#env = env
    // The store is never opened, so it stores nothing.
    this.#contents = new ContentStore(this.#root)
    this.#files = new FileSnapshots(this.#contents, [])
  }

  async inspect(): Promise<WorktreeSnapshot> {
    // A repository may be created or removed during a session.
    if (!isInRepository(this.#root)) this.#git = undefined
    else this.#git ??= await GitProject.of(this.#root, this.#env)
    const look = await this.#git?.snapshot(this.#files, this.#contents, snapshotLimits)
    return look ?? snapshotFolder(this.#root, this.#files, snapshotLimits)
  }
}
