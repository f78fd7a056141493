/** What a check covers; tests prove the most about a change. */
export type CheckKind = 'tests' | 'types' | 'lint' | 'build'

/** Common names of each kind of task in project files, best first. */
export const taskNames: { readonly [kind in CheckKind | 'all']: readonly string[] } = {
  tests: ['test', 'tests', 'test:unit', 'unit', 'unit-test', 'spec', 'test-unit', 'test_unit'],
  all: ['check', 'verify', 'validate', 'ci', 'test-all', 'test:all'],
  types: ['typecheck', 'type-check', 'check-types', 'check:types', 'types', 'tsc', 'mypy', 'pyright'],
  lint: ['lint', 'eslint', 'lint:check', 'check:lint', 'clippy', 'vet', 'ruff'],
  build: ['build', 'compile', 'all'],
}

const parts: readonly (readonly [CheckKind, RegExp])[] = [
  [
    'tests',
    /^(?:tests?|testing|spec|specs|e2e|unit|integration|check|checks|checkall|verify|validate|ci|smoke|coverage|cov|jest|vitest|mocha|pytest|presubmit|precommit|qa|doctest|testall|runtests?|ctest|nextest)$/,
  ],
  ['types', /^(?:types?|typecheck|typechecks|tsc|mypy|pyright|typescript)$/],
  [
    'lint',
    /^(?:lint|linter|eslint|stylelint|oxlint|biome|ruff|flake8|pylint|clippy|vet|golangci|rubocop|shellcheck|analy[sz]e|phpstan|psalm)$/,
  ],
  ['build', /^(?:build|builds|compile|bundle|assemble|all|buildall|rebuild|package)$/],
]

/** Words in a task name that exclude it as a check: the task watches, changes files, or publishes. */
const others =
  /^(?:watch|watcher|serve|server|dev|start|fix|format|fmt|clean|install|setup|deps|deploy|release|publish|push|upload|open|ui|debug|update|upgrade|clear|init|generate|gen|docs?|storybook|list|help)$/

const longest = 80

/** What a task of this name checks, such as a script of package.json or a target of make; undefined if nothing. */
export function kindOfTask(name: string): CheckKind | undefined {
  if (name.length > longest) return undefined
  const words = name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
  if (words.some((word) => others.test(word))) return undefined
  for (const [kind, pattern] of parts) if (words.some((word) => pattern.test(word))) return kind
  return undefined
}

const maxWords = 5

/** Whether a name is safe to show to a model in a command: not a sentence. */
export function isPlainName(name: string): boolean {
  return name.length <= 40 && /^[A-Za-z][\w:.-]*$/.test(name) && name.split(/[^A-Za-z0-9]+/).length <= maxWords
}
