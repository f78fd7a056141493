import { isJsonObject } from '@halting/core/adapters'
import type { ProjectFolder } from './project-folder.ts'
import { type CheckKind, isPlainName, kindOfTask, taskNames } from './task-names.ts'

/** A check that a project file declares. */
export interface DeclaredCheck {
  readonly kind: CheckKind | 'all'
  readonly command: string
}

type Names = ReadonlySet<string>

const order = ['tests', 'all', 'types', 'lint', 'build'] as const

/** The tasks of a file whose names denote checks: the best of each kind. */
function bestTasks(candidates: Iterable<string>, commandOf: (name: string) => string): readonly DeclaredCheck[] {
  const names = [...candidates].filter(isPlainName)
  const known = new Set(names)
  return order.flatMap((kind): readonly DeclaredCheck[] => {
    const name =
      taskNames[kind].find((one) => known.has(one)) ??
      (kind === 'tests' ? names.find((one) => kindOfTask(one) === 'tests' && /test|spec/i.test(one)) : undefined)
    return name === undefined ? [] : [{ kind, command: commandOf(name) }]
  })
}

function objectOf(text: string): { readonly [key: string]: unknown } {
  try {
    const read: unknown = JSON.parse(text)
    return isJsonObject(read) ? read : {}
  } catch {
    return {}
  }
}

function keysOf(value: unknown): readonly string[] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
}

/**
 * The scripts of package.json, run by the package manager whose lock file exists; otherwise the installed test runner.
 */
export async function checksOfPackage(folder: ProjectFolder, names: Names): Promise<readonly DeclaredCheck[]> {
  if (!names.has('package.json')) return []
  const { scripts, packageManager, devDependencies, dependencies } = objectOf(await folder.text('package.json'))
  const manager = managerOf(names, packageManager)
  const texts: { readonly [name: string]: unknown } = isJsonObject(scripts) ? scripts : {}
  const defined = keysOf(scripts).filter((name) => {
    const text = texts[name]
    // The default that npm writes.
    return typeof text === 'string' && text.trim() !== '' && !text.includes('no test specified')
  })
  const found = bestTasks(defined, (name) => {
    if (name === 'test') return manager === 'bun' ? 'bun run test' : `${manager} test`
    return `${manager} run ${name}`
  })
  const installed = new Set([...keysOf(devDependencies), ...keysOf(dependencies)])
  const run = { npm: 'npx', pnpm: 'pnpm exec', yarn: 'yarn', bun: 'bunx' }[manager]
  const has = (kind: DeclaredCheck['kind']): boolean => found.some((one) => one.kind === kind)
  const runner = (['vitest', 'jest', 'mocha', 'ava'] as const).find((name) => installed.has(name))
  return [
    ...found,
    ...(has('tests') || runner === undefined
      ? []
      : [{ kind: 'tests', command: `${run} ${runner}${runner === 'vitest' ? ' run' : ''}` } as const]),
    ...(has('types') || !names.has('tsconfig.json') || !installed.has('typescript')
      ? []
      : [{ kind: 'types', command: `${run} tsc --noEmit` } as const]),
  ]
}

function managerOf(names: Names, field: unknown): 'npm' | 'pnpm' | 'yarn' | 'bun' {
  if (names.has('pnpm-lock.yaml')) return 'pnpm'
  if (names.has('yarn.lock')) return 'yarn'
  if (names.has('bun.lock') || names.has('bun.lockb')) return 'bun'
  if (names.has('package-lock.json') || typeof field !== 'string') return 'npm'
  const [name] = field.split('@')
  return name === 'pnpm' || name === 'yarn' || name === 'bun' ? name : 'npm'
}

const makefiles = ['GNUmakefile', 'makefile', 'Makefile'] as const
const justfiles = ['justfile', 'Justfile', '.justfile'] as const
const miseFiles = ['mise.toml', '.mise.toml'] as const
const taskfiles = ['Taskfile.yml', 'Taskfile.yaml', 'taskfile.yml'] as const

/** The targets of make, recipes of just, and tasks of mise, Task, Deno and Composer. */
export async function checksOfTaskFiles(folder: ProjectFolder, names: Names): Promise<readonly DeclaredCheck[]> {
  const read = async (list: readonly string[]): Promise<string> => {
    const name = list.find((one) => names.has(one))
    return name === undefined ? '' : folder.text(name)
  }
  const [make, just, mise, task, deno, composer] = await Promise.all([
    read(makefiles),
    read(justfiles),
    read(miseFiles),
    read(taskfiles),
    read(['deno.json', 'deno.jsonc']),
    read(['composer.json']),
  ])
  const denoTasks = keysOf(objectOf(deno)['tasks'])
  const ofDeno = bestTasks(denoTasks, (name) => `deno task ${name}`)
  return [
    ...bestTasks(linesOf(make, /^([\w.-]+(?:[ \t]+[\w.-]+)*)[ \t]*::?(?!=)/), (name) => `make ${name}`),
    ...bestTasks(linesOf(just, /^@?([A-Za-z_][\w-]*)[^:=\n]*:(?!=)/), (name) => `just ${name}`),
    ...bestTasks(miseTasks(mise), (name) => `mise run ${name}`),
    ...bestTasks(linesOf(task, /^ {2}['"]?([A-Za-z][\w:.-]*?)['"]?:\s*(?:$|#|\{|\[)/), (name) => `task ${name}`),
    ...ofDeno,
    ...(deno === '' || ofDeno.some(({ kind }) => kind === 'tests')
      ? []
      : [{ kind: 'tests', command: 'deno test' } as const]),
    ...bestTasks(keysOf(objectOf(composer)['scripts']), (name) => `composer ${name === 'test' ? name : `run ${name}`}`),
  ]
}

const longestLine = 500

/** The first group of each matching line, split at spaces. */
function linesOf(text: string, pattern: RegExp): readonly string[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const [, names] = line.length > longestLine ? [] : (pattern.exec(line) ?? [])
    return names === undefined ? [] : names.split(/[ \t]+/)
  })
}

function miseTasks(text: string): readonly string[] {
  const names: string[] = []
  let isInTasks = false
  for (const line of text.split(/\r?\n/)) {
    if (line.length > longestLine) continue
    const [, table] = /^\s*\[([^\]]+)\]/.exec(line) ?? []
    if (table !== undefined) {
      isInTasks = table.trim() === 'tasks'
      const [, name] = /^tasks\.["']?([\w:.-]+)["']?$/.exec(table.trim()) ?? []
      if (name !== undefined) names.push(name)
    } else if (isInTasks) {
      const [, name] = /^\s*["']?([\w:.-]+)["']?\s*=/.exec(line) ?? []
      if (name !== undefined) names.push(name)
    }
  }
  return names
}

/** The checks of pytest, tox, nox, unittest, ruff and mypy, according to their settings. */
export async function checksOfPython(folder: ProjectFolder, names: Names): Promise<readonly DeclaredCheck[]> {
  const isPython = [...names].some((name) =>
    /\.py$|^(?:pyproject\.toml|setup\.cfg|tox\.ini|pytest\.ini|requirements.*\.txt)$/.test(name),
  )
  if (!isPython) return []
  const texts = await Promise.all(
    ['pyproject.toml', 'setup.cfg', 'tox.ini', 'requirements-dev.txt', 'requirements.txt'].map((name) =>
      names.has(name) ? folder.text(name) : Promise.resolve(''),
    ),
  )
  const all = texts.join('\n')
  const run = names.has('uv.lock') ? 'uv run ' : names.has('poetry.lock') ? 'poetry run ' : ''
  const hasTestFiles = [...names].some((name) => /^(?:test_.*|.*_test)\.py$/.test(name))
  const hasTests = names.has('tests') || names.has('test') || hasTestFiles
  const usesPytest = names.has('pytest.ini') || names.has('conftest.py') || /\bpytest\b/.test(all)
  const tests = names.has('manage.py')
    ? 'python manage.py test'
    : usesPytest || hasTests
      ? `${run}python -m pytest`
      : undefined
  return [
    ...(tests === undefined ? [] : [{ kind: 'tests', command: tests } as const]),
    ...(names.has('tox.ini') ? [{ kind: 'all', command: 'tox' } as const] : []),
    ...(names.has('noxfile.py') ? [{ kind: 'all', command: 'nox' } as const] : []),
    ...(names.has('mypy.ini') || /\[(?:tool\.)?mypy\b/.test(all)
      ? [{ kind: 'types', command: `${run}mypy .` } as const]
      : []),
    ...(names.has('ruff.toml') || all.includes('[tool.ruff')
      ? [{ kind: 'lint', command: `${run}ruff check .` } as const]
      : []),
  ]
}

/** Files whose existence alone determines the check command. */
const fixed: readonly (readonly [file: RegExp, kind: DeclaredCheck['kind'], command: string, unless?: string])[] = [
  [/^Cargo\.toml$/, 'tests', 'cargo test'],
  [/^Cargo\.toml$/, 'build', 'cargo check'],
  [/^go\.mod$/, 'tests', 'go test ./...'],
  [/^go\.mod$/, 'lint', 'go vet ./...'],
  [/^go\.mod$/, 'build', 'go build ./...'],
  [/^gradlew$/, 'tests', './gradlew test'],
  [/^build\.gradle(?:\.kts)?$/, 'tests', 'gradle test', 'gradlew'],
  [/^mvnw$/, 'tests', './mvnw test'],
  [/^pom\.xml$/, 'tests', 'mvn test', 'mvnw'],
  [/^build\.sbt$/, 'tests', 'sbt test'],
  [/^phpunit\.xml(?:\.dist)?$/, 'tests', 'vendor/bin/phpunit', 'composer.json'],
  [/^\.rspec$/, 'tests', 'bundle exec rspec'],
  [/^Rakefile$/, 'tests', 'bundle exec rake', '.rspec'],
  [/^mix\.exs$/, 'tests', 'mix test'],
  [/^Package\.swift$/, 'tests', 'swift test'],
  [/^pubspec\.yaml$/, 'tests', 'dart test'],
  [/^stack\.yaml$/, 'tests', 'stack test'],
  [/^[\w.-]+\.cabal$/, 'tests', 'cabal test', 'stack.yaml'],
  [/^dune-project$/, 'tests', 'dune test'],
  [/^build\.zig$/, 'tests', 'zig build test'],
  [/^rebar\.config$/, 'tests', 'rebar3 eunit'],
  [/^(?:MODULE\.bazel|WORKSPACE(?:\.bazel)?)$/, 'tests', 'bazel test //...'],
  [/^[\w.-]+\.(?:sln|slnx|csproj|fsproj)$/, 'tests', 'dotnet test'],
  [/^foundry\.toml$/, 'tests', 'forge test'],
  [/^run_?tests?\.sh$/, 'tests', 'bash run_tests.sh'],
]

/** The checks that follow from the existence of files: Rust, Go, Java, .NET, Ruby and others, and test scripts. */
export async function checksOfFixedFiles(folder: ProjectFolder, names: Names): Promise<readonly DeclaredCheck[]> {
  const found: DeclaredCheck[] = []
  for (const [file, kind, command, unless] of fixed) {
    const name = [...names].find((one) => file.test(one))
    if (name === undefined || (unless !== undefined && names.has(unless))) continue
    found.push({ kind, command: command.replace(/^bash .*\.sh$/, `bash ${name}`) })
  }
  if (names.has('test.sh')) found.push({ kind: 'tests', command: 'bash test.sh' })
  if (names.has('CMakeLists.txt')) {
    const built = new Set(folder.folder('build')?.names())
    if (built.has('CTestTestfile.cmake')) found.push({ kind: 'tests', command: 'ctest --test-dir build' })
    if (built.has('CMakeCache.txt')) found.push({ kind: 'build', command: 'cmake --build build' })
  }
  return found
}
