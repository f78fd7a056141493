import { join, relative } from 'node:path'
import { walk } from '../checkpoints/folder-snapshot.ts'
import { ContentStore } from '../checkpoints/content-store.ts'
import { statsAt } from '../checkpoints/path-state.ts'
import { FileSnapshots, snapshotLimits } from '../checkpoints/worktree-snapshot.ts'
import type { ReadOnlyGit } from '../tools/read-only-git.ts'

/** Usual names of test files in common languages; a folder ends in a slash. */
const patterns: readonly RegExp[] = [
  /(?:^|\/)(?:__tests__|__test__|__snapshots__|tests?|specs?|e2e|testdata|cypress)\//,
  /[.\-_](?:test|tests|spec|specs|e2e|cy)\.[\w]+$/i,
  /(?:^|\/)tests?\.[\w]+$/,
  /(?:^|\/)(?:test_[^/]*|conftest)\.py$/,
  /(?:Test|Tests|TestCase|IT|Spec|Specs)\.(?:java|kt|kts|scala|groovy|cs|fs|vb|php|swift|m|mm|cpp|hs)$/,
  /(?:^|\/)Test[A-Z]\w*\.(?:java|kt|php)$/,
  /(?:^|\/)t\/[^/]+\.t$/,
  /\.(?:feature|bats|snap)$/,
  // Configuration files that determine which tests run, and how.
  /(?:^|\/)\.?(?:vitest|jest|playwright|cypress|karma|ava|wdio|nightwatch)\.(?:config|conf|workspace|setup)\.\w+$/,
  /(?:^|\/)(?:\.(?:mocharc|nycrc|taprc|rspec)[^/]*|pytest\.ini|tox\.ini|phpunit\.xml(?:\.dist)?)$/,
]

/**
 * Whether a path, relative to the workspace, is a test file by its name: in a test folder, named like a test, or the
 * configuration of a test runner.
 */
export function isTestFile(path: string): boolean {
  return patterns.some((pattern) => pattern.test(path))
}

/** Maximum number of test files that are compared. */
export const maxTestFiles = 2_000

/** The test files of a workspace, relative to it. */
export interface TestFiles {
  readonly paths: readonly string[]
  /** Whether there are more test files than are compared. */
  readonly isCut: boolean
}

/**
 * Returns the test files by name: files that git tracks or does not ignore. Outside a repository, returns those below
 * the folder that are found in two seconds.
 */
export async function testFilesIn(root: string, git: ReadOnlyGit): Promise<TestFiles> {
  const listed = await git(['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', '.'])
  if (listed === undefined) return testsBelow(root)
  const paths = [...new Set(listed.text.split('\0'))].filter(
    (path) => path !== '' && !path.endsWith('/') && isTestFile(path),
  )
  return { paths: paths.toSorted().slice(0, maxTestFiles), isCut: listed.isCut || paths.length > maxTestFiles }
}

async function testsBelow(root: string): Promise<TestFiles> {
  const files = new FileSnapshots(new ContentStore(root), [])
  const { paths, cut } = await walk(root, files, snapshotLimits)
  const tests = paths
    .map((path) => relative(root, path))
    .filter((path) => isTestFile(path) && statsAt(join(root, path))?.isDirectory() === false)
  return { paths: tests.toSorted().slice(0, maxTestFiles), isCut: cut !== undefined || tests.length > maxTestFiles }
}
