import { posix } from 'node:path'

/** Files that programs write for themselves and that git ignores: no check covers them. */
const ownFolders =
  /(?:^|\/)(?:\.git|\.hg|\.svn|node_modules|\.venv|venv|__pycache__|\.tox|\.nox|\.cache|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.gradle|\.next|\.nuxt|\.turbo|\.parcel-cache|\.nyc_output|coverage|htmlcov|dist|build|target|_build|cmake-build-\w+|__snapshots__|\.idea|\.vscode|\.claude|\.halting)(?:\/|$)/

const temporary = /^(?:\/tmp|\/var\/tmp|\/dev|\/proc|\/private\/tmp|\/var\/folders|\/run|\$TMPDIR|\$\{TMPDIR\})(?:\/|$)/

const documents = /\.(?:md|mdx|markdown|rst|adoc|asciidoc|txt|log|out|diff|patch|orig|rej|bak|tmp|pid|snap)$/i
const documentNames =
  /(?:^|\/)(?:LICEN[CS]E|COPYING|NOTICE|AUTHORS|CHANGELOG|README|CONTRIBUTING|CODEOWNERS|TODO|\.gitignore|\.gitattributes|\.mailmap)$/
const lockFiles =
  /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|bun\.lockb|[\w.-]+\.lock)$/
/** Text files that programs read. */
const inputTexts = /(?:^|\/)(?:CMakeLists|(?:dev-|test-)?requirements[\w.-]*|constraints[\w.-]*)\.txt$/i

// Spec R-VERI-11.
/** Whether a check covers a file: not documents, lock files, build output, temporary files or caches. */
export function isChecked(path: string): boolean {
  if (temporary.test(path) || ownFolders.test(path)) return false
  return inputTexts.test(path) || ![documents, documentNames, lockFiles].some((pattern) => pattern.test(path))
}

/** Returns the path of a command relative to the start of its line; undefined if only the shell knows the folder. */
export function pathFrom(folder: string | undefined, path: string): string | undefined {
  if (path.startsWith('/')) return posix.normalize(path)
  if (folder === undefined) return undefined
  return posix.normalize(posix.join(folder, path))
}

/** Whether two names may denote the same file: one may be absolute or relative to another folder. */
export function mayBeSameFile(one: string, other: string): boolean {
  return one === other || one.endsWith(`/${other}`) || other.endsWith(`/${one}`)
}

/** The name of a file without folder and extension. */
export function stemOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).replace(/\.\w+$/, '')
}
