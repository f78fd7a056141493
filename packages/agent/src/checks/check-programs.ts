import { withoutWrappers, programName, type Words } from './wrapped-commands.ts'
import { type CheckKind, kindOfTask } from './task-names.ts'

type Judge = (args: Words) => CheckKind | undefined

const always =
  (kind: CheckKind): Judge =>
  () =>
    kind

/** Determines the kind of check by the first word that is not an option. */
function byVerb(kinds: { readonly [kind in CheckKind]?: string }, without?: CheckKind): Judge {
  const verbs = new Map(
    Object.entries(kinds).flatMap(([kind, names]) =>
      // Type assertion: the keys are those of `kinds`.
      names.split(' ').map((name): readonly [string, CheckKind] => [name, kind as CheckKind]),
    ),
  )
  return (args) => {
    const verb = args.find((word) => !/^[-+@]/.test(word))
    return verb === undefined ? without : verbs.get(verb)
  }
}

/** Returns the kind only if one of the options is present. */
function withOption(options: RegExp, kind: CheckKind, without?: CheckKind): Judge {
  return (args) => (args.some((word) => options.test(word)) ? kind : without)
}

/** Determines the kind by task names: `make test lint`, `just check`. `without`: the kind of a call without a task. */
function byTask(without: CheckKind | undefined, values?: RegExp): Judge {
  return (args) => {
    const names: string[] = []
    for (let at = 0; at < args.length; at += 1) {
      const word = args[at] ?? ''
      if (values?.test(word) === true) at += 1
      else if (!word.startsWith('-') && !word.includes('=') && word !== '') names.push(word)
    }
    return names.length === 0 ? without : firstKind(names)
  }
}

function firstKind(names: Words): CheckKind | undefined {
  for (const name of names) {
    const kind = kindOfTask(name)
    if (kind !== undefined) return kind
  }
  return undefined
}

/** Scripts of package.json: `npm test`, `pnpm -r run lint`, `yarn workspace x test`. */
function byScript(isShort: boolean): Judge {
  return (args) => {
    const names: string[] = []
    for (let at = 0; at < args.length; at += 1) {
      const word = args[at] ?? ''
      if (word === '--') break
      if (/^(?:-C|-F|-w|--dir|--cwd|--filter|--workspace|--prefix)$/.test(word)) at += 1
      else if (!word.startsWith('-') && word !== '') names.push(word)
    }
    const [verb = '', name, third] = names
    if (verb === 'test' || verb === 't' || verb === 'tst') return 'tests'
    if (verb === 'run' || verb === 'run-script' || verb === 'rum')
      return name === undefined ? undefined : kindOfTask(name)
    if (verb === 'workspace' && third !== undefined) return kindOfCheck(names.slice(2)) ?? kindOfTask(third)
    if (verb === 'workspaces' || verb === 'recursive') return firstKind(names.slice(1))
    if (!isShort || notScripts.has(verb)) return undefined
    // Yarn and pnpm run scripts and programs without `run`.
    return kindOfCheck(names) ?? kindOfTask(verb)
  }
}

const notScripts: ReadonlySet<string> = new Set(
  'install i add remove rm ci audit list ls why outdated update up upgrade init create publish pack link config cache info view start exec dlx version import rebuild'.split(
    ' ',
  ),
)

const goVerbs = byVerb({ tests: 'test', build: 'build install', lint: 'vet' })
const compiler: Judge = (args) =>
  args.some((word) =>
    /\.(?:c|cc|cpp|cxx|m|mm|rs|java|kt|hs|d|f90|adb|s|S|asm|o|scala|pas|ml|v|sv|vhd|cu|zig|nim|cr)$/.test(word),
  )
    ? 'build'
    : undefined

const tests =
  'jest vitest mocha ava tape jasmine qunit uvu lab tsd wdio testcafe pytest py.test tox nox nose2 nosetests unittest trial behave robot rspec cucumber ' +
  'minitest phpunit pest paratest codecept ctest bats shunit2 prove busted gotestsum ginkgo elm-test zunit ward stestr doctest testinfra kuttl'
const types =
  'mypy dmypy pyright basedpyright pytype pyre vue-tsc svelte-check flow psalm phpstan attw publint astro-check'
const linters =
  'eslint oxlint xo standard tslint knip depcheck jshint stylelint markdownlint markdownlint-cli2 cspell flake8 pylint bandit pycodestyle pydocstyle vulture ' +
  'pyflakes staticcheck revive rubocop reek brakeman swiftlint ktlint detekt checkstyle spotbugs clang-tidy cppcheck cpplint hlint luacheck ' +
  'selene shellcheck shfmt-check actionlint yamllint hadolint tflint ansible-lint htmlhint html-validate xmllint commitlint ls-lint dependency-cruiser depcruise madge ' +
  'semgrep phpcs phpmd credo jsonlint buf-lint vale proselint lychee arch-unit py_compile compileall pre-commit djlint curlylint nbqa'
const compilers =
  'gcc g++ cc c++ clang clang++ rustc javac kotlinc scalac ghc nasm dmd ldc2 gfortran gnatmake nvcc fpc ocamlfind ocamlopt valac ghdl iverilog verilator arm-none-eabi-gcc x86_64-linux-gnu-gcc musl-gcc emcc'

const programs = new Map<string, Judge>([
  ...tests.split(' ').map((name): [string, Judge] => [name, always('tests')]),
  ...types.split(' ').map((name): [string, Judge] => [name, always('types')]),
  ...linters.split(' ').map((name): [string, Judge] => [name, always('lint')]),
  ...compilers.split(' ').map((name): [string, Judge] => [name, compiler]),
  ['npm', byScript(false)],
  ['pnpm', byScript(true)],
  ['yarn', byScript(true)],
  ['bun', (args) => (args[0] === 'test' ? 'tests' : args[0] === 'build' ? 'build' : byScript(false)(args))],
  ['deno', byVerb({ tests: 'test', types: 'check', lint: 'lint', build: 'compile bundle' })],
  ['node', withOption(/^--test(?:=|$)|^--test-(?!reporter)/, 'tests')],
  ['tsx', withOption(/^--test$/, 'tests')],
  ['tsc', (args) => (args.some((word) => /^(?:-b|--build|--outDir|--outFile)$/.test(word)) ? 'build' : 'types')],
  ['tsgo', always('types')],
  ['ty', byVerb({ types: 'check' })],
  ['biome', byVerb({ lint: 'check lint ci format' })],
  ['prettier', withOption(/^(?:-c|--check|-l|--list-different)$/, 'lint')],
  ['oxfmt', withOption(/^(?:-c|--check|--list-different)$/, 'lint')],
  ['dprint', byVerb({ lint: 'check' })],
  ['ruff', byVerb({ lint: 'check' }, undefined)],
  ['black', withOption(/^(?:--check|--diff)$/, 'lint')],
  ['isort', withOption(/^(?:-c|--check|--check-only)$/, 'lint')],
  ['golangci-lint', byVerb({ lint: 'run' })],
  ['gofmt', withOption(/^-[a-z]*[ld]$/, 'lint')],
  ['rustfmt', withOption(/^--check$/, 'lint')],
  ['shfmt', withOption(/^-[a-z]*[dl]$/, 'lint')],
  ['clang-format', withOption(/^(?:--dry-run|-n|-Werror|--Werror)$/, 'lint')],
  [
    'terraform',
    (args) =>
      args[0] === 'fmt'
        ? args.includes('-check')
          ? 'lint'
          : undefined
        : byVerb({ lint: 'validate', tests: 'test' })(args),
  ],
  [
    'go',
    (args) => (args.some((word) => /\w@\w/.test(word)) ? undefined : goVerbs(args[0] === '-C' ? args.slice(2) : args)),
  ],
  [
    'cargo',
    (args) =>
      args.includes('fmt')
        ? args.includes('--check')
          ? 'lint'
          : undefined
        : byVerb({
            tests: 'test t nextest tarpaulin miri llvm-cov',
            types: 'check c',
            build: 'build b',
            lint: 'clippy deny audit',
          })(args),
  ],
  ['cross', byVerb({ tests: 'test', build: 'build' })],
  ['make', byTask('build', /^(?:-C|-f|-I|-o|--directory|--file)$/)],
  ['gmake', byTask('build', /^(?:-C|-f|-I|-o|--directory|--file)$/)],
  ['ninja', byTask('build', /^(?:-C|-f|-j)$/)],
  ['just', byTask(undefined, /^(?:-f|-d|--justfile|--working-directory|--set)$/)],
  ['task', byTask(undefined, /^(?:-d|-t)$/)],
  ['mage', byTask(undefined)],
  ['invoke', byTask(undefined)],
  ['inv', byTask(undefined)],
  ['doit', byTask(undefined)],
  ['scons', byTask('build')],
  ['ant', byTask('build')],
  ['mise', (args) => (args[0] === 'run' || args[0] === 'r' ? firstKind(args.slice(1)) : undefined)],
  ['moon', (args) => firstKind(args.flatMap((word) => word.split(':')))],
  ['turbo', (args) => firstKind(args)],
  ['nx', (args) => firstKind(args.flatMap((word) => word.split(':')))],
  ['lerna', (args) => (args[0] === 'run' ? firstKind(args.slice(1)) : undefined)],
  ['rush', byTask(undefined)],
  ['wireit', byTask(undefined)],
  ['mvn', byVerb({ tests: 'test verify integration-test', build: 'package compile install test-compile' })],
  ['mvnw', byVerb({ tests: 'test verify integration-test', build: 'package compile install test-compile' })],
  ['gradle', (args) => firstKind(gradleWords(args))],
  ['gradlew', (args) => firstKind(gradleWords(args))],
  ['sbt', (args) => firstKind(args.flatMap((word) => word.split(/[\s/]+/)))],
  ['mill', (args) => firstKind(args.flatMap((word) => word.split('.')))],
  ['dotnet', byVerb({ tests: 'test vstest', build: 'build publish msbuild' })],
  ['msbuild', always('build')],
  ['xcodebuild', (args) => (args.includes('test') ? 'tests' : 'build')],
  ['swift', byVerb({ tests: 'test', build: 'build' })],
  ['mix', byVerb({ tests: 'test', build: 'compile', lint: 'credo', types: 'dialyzer' })],
  ['rebar3', byVerb({ tests: 'eunit ct proper', build: 'compile', types: 'dialyzer' })],
  ['dart', byVerb({ tests: 'test', lint: 'analyze', build: 'compile' })],
  ['flutter', byVerb({ tests: 'test', lint: 'analyze', build: 'build' })],
  ['stack', byVerb({ tests: 'test', build: 'build' })],
  ['cabal', byVerb({ tests: 'test', build: 'build' })],
  ['dune', byVerb({ tests: 'test runtest', build: 'build' })],
  ['lein', byVerb({ tests: 'test midje', build: 'compile', lint: 'eastwood' })],
  ['clj', withOption(/^-[MXT]:?.*test/, 'tests')],
  ['clojure', withOption(/^-[MXT]:?.*test/, 'tests')],
  ['zig', byVerb({ tests: 'test', build: 'build build-exe build-lib', lint: 'ast-check' })],
  ['gleam', byVerb({ tests: 'test', build: 'build', types: 'check' })],
  ['crystal', byVerb({ tests: 'spec', build: 'build' })],
  ['nimble', byVerb({ tests: 'test', build: 'build', types: 'check' })],
  ['nim', byVerb({ build: 'c cpp js compile', types: 'check' })],
  ['bazel', byVerb({ tests: 'test coverage', build: 'build' })],
  ['bazelisk', byVerb({ tests: 'test coverage', build: 'build' })],
  ['buck2', byVerb({ tests: 'test', build: 'build' })],
  ['pants', byVerb({ tests: 'test', lint: 'lint', types: 'check' })],
  ['meson', byVerb({ tests: 'test', build: 'compile' })],
  ['cmake', withOption(/^--build$/, 'build')],
  ['forge', byVerb({ tests: 'test', build: 'build' })],
  ['hardhat', byVerb({ tests: 'test', build: 'compile' })],
  ['anchor', byVerb({ tests: 'test', build: 'build' })],
  ['truffle', byVerb({ tests: 'test', build: 'compile' })],
  ['cypress', byVerb({ tests: 'run' })],
  ['playwright', byVerb({ tests: 'test' })],
  ['karma', withOption(/^--single-run/, 'tests')],
  ['ng', byVerb({ tests: 'test', build: 'build', lint: 'lint' })],
  ['next', byVerb({ build: 'build', lint: 'lint' })],
  ['vite', byVerb({ build: 'build' })],
  ['nuxi', byVerb({ build: 'build', types: 'typecheck' })],
  ['nuxt', byVerb({ build: 'build', types: 'typecheck' })],
  ['astro', byVerb({ build: 'build', types: 'check' })],
  ['tap', (args) => (args[0] === 'run' || args.length === 0 || /\.\w+$/.test(args.at(-1) ?? '') ? 'tests' : undefined)],
  ['react-scripts', byVerb({ tests: 'test', build: 'build' })],
  ['rollup', withOption(/^(?:-c|--config|-i|--input)/, 'build')],
  ['webpack', (args) => (args.includes('serve') ? undefined : 'build')],
  ['esbuild', (args) => (args.some((word) => /^--(?:serve|watch)/.test(word)) ? undefined : 'build')],
  ['tsup', always('build')],
  ['parcel', byVerb({ build: 'build' })],
  ['rake', byTask('tests', /^-[CfI]$/)],
  ['rails', byVerb({ tests: 'test spec test:all' })],
  ['srb', byVerb({ types: 'tc' })],
  [
    'composer',
    (args) =>
      args[0] === 'run' || args[0] === 'run-script'
        ? firstKind(args.slice(1))
        : args[0] === 'validate'
          ? 'lint'
          : firstKind(args.slice(0, 1)),
  ],
  ['artisan', byVerb({ tests: 'test' })],
  ['helm', byVerb({ lint: 'lint', build: 'template' })],
  ['kubeconform', always('lint')],
  ['buf', byVerb({ lint: 'lint', build: 'build' })],
  ['protoc', always('build')],
  ['docker', (args) => (args[0] === 'build' || (args[0] === 'buildx' && args[1] === 'build') ? 'build' : undefined)],
  ['docker-compose', byVerb({ build: 'build' })],
  ['ansible-playbook', withOption(/^--(?:syntax-check|check)$/, 'lint')],
  ['nginx', withOption(/^-t$/, 'lint')],
  ['sqlfluff', byVerb({ lint: 'lint' })],
  ['latexmk', always('build')],
  ['sphinx-build', always('build')],
  ['sphinx', always('build')],
  ['pdflatex', always('build')],
  ['xelatex', always('build')],
  ['lualatex', always('build')],
  ['typst', byVerb({ build: 'compile' })],
  ['mkdocs', byVerb({ build: 'build' })],
  ['hugo', (args) => (args.includes('server') ? undefined : 'build')],
  ['coqc', always('build')],
  ['lean', always('build')],
  ['lake', byVerb({ build: 'build', tests: 'test' }, 'build')],
  ['agda', always('build')],
  ['json.tool', always('lint')],
  ['jq', (args) => (args.includes('empty') ? 'lint' : undefined)],
  ['bash', withOption(/^-n$/, 'lint')],
  ['sh', withOption(/^-n$/, 'lint')],
  ['zsh', withOption(/^-n$/, 'lint')],
  [
    'php',
    (args) =>
      args.includes('-l')
        ? 'lint'
        : args.some((word) => /(?:^|\/)artisan$/.test(word)) && args.includes('test')
          ? 'tests'
          : undefined,
  ],
  [
    'ruby',
    (args) =>
      args.some((word) => /^-\w*c$/.test(word)) ? 'lint' : testFile(args, /_(?:test|spec)\.rb$|^test_.*\.rb$/),
  ],
  ['perl', withOption(/^-\w*c$/, 'lint')],
  ['luac', withOption(/^-p$/, 'lint')],
  [
    'Rscript',
    (args) => (args.some((word) => /testthat|devtools::(?:test|check)|R CMD check/.test(word)) ? 'tests' : undefined),
  ],
  ['R', (args) => (args[0] === 'CMD' && args[1] === 'check' ? 'tests' : undefined)],
  ['julia', (args) => (args.some((word) => /Pkg\.test|runtests\.jl$/.test(word)) ? 'tests' : undefined)],
  ['hatch', byVerb({ tests: 'test', types: 'typecheck', build: 'build' })],
  ['build', always('build')],
  ['setup.py', byVerb({ tests: 'test', build: 'build build_ext' })],
  ['manage.py', byVerb({ tests: 'test', lint: 'check' })],
])

function gradleWords(args: Words): Words {
  return args
    .filter((word) => !word.startsWith('-'))
    .flatMap((word) => word.split(':'))
    .map((word) => word.replaceAll(/([a-z])([A-Z])/g, '$1-$2').replaceAll(/Debug|Release/g, ''))
}

function testFile(args: Words, pattern: RegExp): CheckKind | undefined {
  const file = args.find((word) => !word.startsWith('-'))
  return file !== undefined && pattern.test(programName(file)) ? 'tests' : undefined
}

/** Options that only print information, only list, or never end. */
const notRun =
  /^(?:--version|--help|--list|--list-tests|--listTests|--list-files|--collect-only|--co|--dry-run|--just-print|--recon|--print-config|--showConfig|--show-config|--init|--watch|--watchAll|--ui|--no-run|--setup-plan|--fixtures|--markers|--list-suites|--show-files|--show-settings|--serve|--tasks|--show-only)(?:=|$)/

/** Whether the exit code reflects the findings and is reported after the work is done. */
function endsWell(command: Words, name: string, args: Words): boolean {
  if (/^(?:docker|podman|docker-compose)$/.test(programName(command[0] ?? '')))
    return command.some((word) => /^(?:-d|--detach)$/.test(word))
  if (name === 'mvn' || name === 'mvnw')
    return args.some((word) =>
      /^(?:-fn|--fail-never|-D(?:maven\.test\.failure\.ignore|testFailureIgnore)(?:=true)?)$/.test(word),
    )
  if (name === 'make' || name === 'gmake')
    return args.some((word) => /^(?:--ignore-errors|-[BbkLmrRsSwj\d]*i)/.test(word))
  if (name === 'golangci-lint') return /--issues-exit-code[= ]0/.test(args.join(' '))
  return args.some((word) => /^(?:--exit-zero|--noCheck)$/.test(word))
}

/**
 * Returns what a command checks: tests, types, style or the build; undefined if the command checks nothing. `words`:
 * '' for a word that only the shell knows.
 */
export function kindOfCheck(command: Words): CheckKind | undefined {
  const words = withoutWrappers(command)
  const [first = '', ...args] = words
  const name = programName(first)
  if (args.some((word) => notRun.test(word)) || isOnlyWords(name, args) || endsWell(command, name, args))
    return undefined
  const ofProgram = programs.get(name)?.(args)
  if (ofProgram !== undefined) return ofProgram
  if (programs.has(name) && !isInterpreter(name)) return undefined
  return kindOfScript(name, first, args) ?? kindOfNamedTask(command)
}

/** Tools of Python run tasks and programs with the same verb. */
function kindOfNamedTask([first = '', verb, ...names]: Words): CheckKind | undefined {
  return /^(?:hatch|pdm|rye|poe)$/.test(programName(first)) && verb === 'run' ? firstKind(names) : undefined
}

const formatters: { readonly [name: string]: RegExp } = {
  prettier: /^(?:-w|--write)$/,
  oxfmt: /^(?!-)/,
  dprint: /^fmt$/,
  biome: /^format$/,
  black: /^(?!-)/,
  isort: /^(?!-)/,
  autopep8: /^(?:-i|--in-place)$/,
  yapf: /^(?:-i|--in-place)$/,
  ruff: /^format$/,
  gofmt: /^-w$/,
  gofumpt: /^-w$/,
  goimports: /^-w$/,
  go: /^fmt$/,
  cargo: /^fmt$/,
  rustfmt: /^(?!-)/,
  'clang-format': /^-i/,
  shfmt: /^-\w*w/,
  terraform: /^fmt$/,
  mix: /^format$/,
  dart: /^format$/,
  swiftformat: /^(?!-)/,
  ktlint: /^-F$/,
}

/** Whether a command only formats files, without changing their meaning. */
export function onlyFormats(command: Words): boolean {
  const [first = '', ...args] = withoutWrappers(command)
  const name = programName(first)
  if (/^(?:npm|pnpm|yarn|bun|make|just)$/.test(name))
    return args.some((word) => /^(?:format|fmt|prettier)(?::(?:write|fix|all))?$/.test(word))
  const pattern = Object.hasOwn(formatters, name) ? formatters[name] : undefined
  return pattern !== undefined && args.some((word) => pattern.test(word))
}

function isOnlyWords(name: string, args: Words): boolean {
  const [first, second] = args
  if (args.length === 1 && /^(?:-h|-V|-v|help|version)$/.test(first ?? '') && !(first === '-v' && mayBeLoud.has(name)))
    return true
  if (name === 'make' || name === 'gmake')
    return args.some((word) => /^(?:--question|--touch|-[BbkLmrRsSwj\d]*[nqt])/.test(word))
  if (name === 'ninja') return args.some((word) => /^-[nt]$/.test(word))
  if (helpsByLetter.test(name) && args.includes('-h')) return true
  if (name === 'tox' || name === 'nox') return args.some((word) => /^(?:-l|-a|list)$/.test(word))
  if (name === 'gradle' || name === 'gradlew') return args.includes('-m')
  if (/^(?:tsc|tsgo|vue-tsc|webpack|rollup)$/.test(name)) return args.includes('-w')
  if (/^(?:vitest|jest|playwright)$/.test(name))
    return /^(?:watch|list|init|bench|dev|show-report|install|codegen)$/.test(first ?? '')
  if (name === 'ctest') return args.includes('-N')
  if (name === 'rake') return args.some((word) => /^-[TPAW]$/.test(word))
  if (name === 'go') return first === 'test' && args.some((word) => word === '-list')
  return name === 'pre-commit' ? first !== 'run' : name === 'ruff' && second === undefined && first === 'rule'
}

const helpsByLetter =
  /^(?:pytest|py\.test|unittest|tsc|eslint|mypy|ruff|flake8|pylint|jest|vitest|mocha|npm|pnpm|yarn)$/

/** Programs whose `-v` alone means verbose. */
const mayBeLoud: ReadonlySet<string> = new Set([
  'pytest',
  'py.test',
  'unittest',
  'phpunit',
  'nosetests',
  'nose2',
  'mocha',
  'tap',
  'ctest',
  'prove',
  'ninja',
  'xcodebuild',
])

function isInterpreter(name: string): boolean {
  return /^(?:node|tsx|bash|sh|zsh|php|ruby|perl|bun|deno|julia|Rscript|python[\d.]*|pypy3?)$/.test(name)
}

const testScript =
  /^(?:(?:run[-_]?)?(?:all[-_]?)?(?:tests?|specs?|checks?|e2e|smoke|lint|verify|ci|typecheck)(?:[-_.](?:all|unit|integration|e2e|runner|suite|local))?|run[-_]?(?:the[-_]?)?tests?|runtests?|test[-_]runner)(?:\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|rb|pl|php))?$/i

/** Scripts whose names say that they check: `bash run_tests.sh`, `./scripts/check.sh`, `python tests/test_x.py`. */
function kindOfScript(name: string, first: string, args: Words): CheckKind | undefined {
  if (isInterpreter(name)) {
    const script = args.find((word) => !word.startsWith('-'))
    if (script === undefined || args.some((word) => /^-[ce]$|^--(?:eval|print)$/.test(word))) return undefined
    const file = programName(script)
    if (file === 'manage.py' || file === 'setup.py') return programs.get(file)?.(args.slice(args.indexOf(script) + 1))
    if (/^(?:test_\w+|\w+_test)\.py$|\.(?:test|spec)\.[cm]?[jt]sx?$|^runtests\.\w+$/.test(file)) return 'tests'
    return testScript.test(file) ? (kindOfTask(file.replace(/\.\w+$/, '')) ?? 'tests') : undefined
  }
  if (!first.includes('/')) return undefined
  if (name === 'manage.py' || name === 'setup.py') return programs.get(name)?.(args)
  return testScript.test(name) || /^(?:test_\w+|\w+_test)(?:\.\w+)?$/.test(name)
    ? (kindOfTask(name.replace(/\.\w+$/, '')) ?? 'tests')
    : undefined
}
