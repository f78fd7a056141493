import { type Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isJsonObject } from '@halting/core/adapters'
import { boundedText } from '@halting/policy/files'

/** Returns the text of an AGENTS.md for a folder, derived from its files. Asks no model and runs nothing. */
export async function agentsFileFor(folder: string, name: string): Promise<string> {
  const entries = await entriesOf(folder)
  const names = new Set(entries.map((entry) => entry.name))
  const parts = [
    `# ${oneLine(name) || 'Here'}`,
    'For people and agents that work on this code.',
    section('What it is', await whatItIs(folder, names)),
    section('Where things are', await folderLines(folder, entries)),
    section('Build, test, check', await commandLines(folder, names)),
    section('Rules', await ruleLines(folder, names)),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `## ${title}\n\n${lines.map((line) => `- ${line}`).join('\n')}`
}

const maxBytes = 256 * 1024

async function textOf(folder: string, name: string): Promise<string> {
  const read = await boundedText(join(folder, name), maxBytes)
  return read.kind === 'text' ? read.text : ''
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  return entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

/** Files that identify the kind of project, and its language. */
const languages: readonly (readonly [file: string, language: string])[] = [
  ['tsconfig.json', 'TypeScript'],
  ['package.json', 'JavaScript'],
  ['pyproject.toml', 'Python'],
  ['requirements.txt', 'Python'],
  ['setup.py', 'Python'],
  ['Cargo.toml', 'Rust'],
  ['go.mod', 'Go'],
  ['pom.xml', 'Java'],
  ['build.gradle', 'Java'],
  ['build.gradle.kts', 'Kotlin'],
  ['Gemfile', 'Ruby'],
  ['composer.json', 'PHP'],
  ['mix.exs', 'Elixir'],
  ['CMakeLists.txt', 'C or C++'],
  ['Package.swift', 'Swift'],
  ['pubspec.yaml', 'Dart'],
]

async function whatItIs(folder: string, names: ReadonlySet<string>): Promise<readonly string[]> {
  const found = [...new Set(languages.flatMap(([file, language]) => (names.has(file) ? [language] : [])))]
  const own = found.includes('TypeScript') ? found.filter((language) => language !== 'JavaScript') : found
  const { description, engines } = await packageOf(folder)
  return [
    ...(typeof description === 'string' && description !== '' ? [oneLine(description)] : []),
    ...(own.length === 0 ? [] : [`Written in ${own.join(', ')}.`]),
    ...(isJsonObject(engines) && typeof engines['node'] === 'string'
      ? [`Runs on Node ${oneLine(engines['node'])}.`]
      : []),
    ...(names.has('README.md') ? ['[README.md](README.md) describes it for users.'] : []),
    ...(names.has('CONTRIBUTING.md') ? ['[CONTRIBUTING.md](CONTRIBUTING.md) describes how to change it.'] : []),
  ]
}

const skippedFolders: ReadonlySet<string> = new Set([
  'node_modules',
  'dist',
  'build',
  'target',
  'vendor',
  'coverage',
  '__pycache__',
])
const meanings: { readonly [folder: string]: string } = {
  src: 'the sources',
  lib: 'the sources',
  test: 'the tests',
  tests: 'the tests',
  spec: 'the tests',
  docs: 'the documents',
  examples: 'examples',
  scripts: 'scripts',
  bin: 'programs',
  packages: 'packages',
  apps: 'programs',
  cmd: 'programs',
  public: 'static files',
}
const maxFolders = 20

async function folderLines(folder: string, entries: readonly Dirent[]): Promise<readonly string[]> {
  const folders = entries.filter(
    (entry) => entry.isDirectory() && !entry.name.startsWith('.') && !skippedFolders.has(entry.name),
  )
  const lines = folders.slice(0, maxFolders).map(async ({ name }) => {
    const meaning = meanings[name]
    const isGroup = name === 'packages' || name === 'apps'
    const within = isGroup ? await entriesOf(join(folder, name)).catch(() => []) : []
    const inner = within.filter((entry) => entry.isDirectory())
    const holds =
      inner.length === 0
        ? ''
        : ` (${inner
            .slice(0, maxFolders)
            .map((entry) => oneLine(entry.name))
            .join(', ')})`
    return `\`${oneLine(name)}/\`${meaning === undefined ? '' : `: ${meaning}`}${holds}`
  })
  return Promise.all(lines)
}

const maxScripts = 30

/** Scripts with these names check a change, so they are listed first. */
const checking = ['test', 'build', 'lint', 'typecheck', 'types', 'check', 'format', 'start', 'dev']

async function commandLines(folder: string, names: ReadonlySet<string>): Promise<readonly string[]> {
  const lines: string[] = []
  if (names.has('package.json')) lines.push(...scriptLines(await packageOf(folder), names))
  const python = `${await textOf(folder, 'pyproject.toml')}${await textOf(folder, 'requirements.txt')}`
  if (names.has('pytest.ini') || /\bpytest\b/.test(python)) lines.push('`pytest`: the tests')
  if (/\bruff\b/.test(python)) lines.push('`ruff check .`: lint')
  if (/\bmypy\b/.test(python)) lines.push('`mypy .`: the types')
  if (names.has('Cargo.toml')) lines.push('`cargo build`', '`cargo test`: the tests', '`cargo clippy`: lint')
  if (names.has('go.mod')) lines.push('`go build ./...`', '`go test ./...`: the tests', '`go vet ./...`: lint')
  if (names.has('pom.xml')) lines.push('`mvn test`: the tests')
  if (names.has('gradlew')) lines.push('`./gradlew test`: the tests')
  if (names.has('Gemfile') && names.has('Rakefile')) lines.push('`bundle exec rake`')
  if (names.has('mix.exs')) lines.push('`mix test`: the tests')
  if (names.has('Makefile')) {
    const targets = [...(await textOf(folder, 'Makefile')).matchAll(/^([A-Za-z][\w-]*):(?!=)/gm)].map(
      ([, target = '']) => target,
    )
    lines.push(...[...new Set(targets)].slice(0, maxScripts).map((target) => `\`make ${target}\``))
  }
  return lines
}

function scriptLines({ scripts }: PackageFile, names: ReadonlySet<string>): readonly string[] {
  const [program, install] = names.has('pnpm-lock.yaml')
    ? ['pnpm', 'pnpm install']
    : names.has('yarn.lock')
      ? ['yarn', 'yarn install']
      : names.has('bun.lock') || names.has('bun.lockb')
        ? ['bun', 'bun install']
        : ['npm', names.has('package-lock.json') ? 'npm ci' : 'npm install']
  const own = isJsonObject(scripts) ? Object.entries(scripts) : []
  const place = (name: string): number => (checking.includes(name) ? checking.indexOf(name) : checking.length)
  const commands = own
    .filter(([name, script]) => typeof script === 'string' && !/^(?:pre|post)(?!view)/.test(name) && name !== 'prepare')
    .toSorted(([one], [other]) => place(one) - place(other))
    .slice(0, maxScripts)
    .map(([name, script]) => {
      const isTest = name === 'test' && program !== 'bun'
      return `\`${program} ${isTest ? '' : 'run '}${oneLine(name)}\`: ${code(oneLine(typeof script === 'string' ? script : ''))}`
    })
  return [`\`${install}\`: installs`, ...commands]
}

const longest = 120

function code(text: string): string {
  const short = text.length <= longest ? text : `${text.slice(0, longest)}…`
  return short.includes('`') ? `\`\` ${short} \`\`` : `\`${short}\``
}

/** Files that define the code style. */
const ruleFiles: readonly (readonly [file: RegExp, what: string])[] = [
  [/^\.editorconfig$/, 'formatting'],
  [/^(?:\.prettierrc.*|prettier\.config\..*)$/, 'formatting (Prettier)'],
  [/^(?:\.eslintrc.*|eslint\.config\..*)$/, 'lint rules (ESLint)'],
  [/^(?:\.oxlintrc\.json|oxlint\.config\..*)$/, 'lint rules (oxlint)'],
  [/^biome\.jsonc?$/, 'formatting and lint rules (Biome)'],
  [/^(?:rustfmt|\.rustfmt)\.toml$/, 'formatting (rustfmt)'],
  [/^\.golangci\.ya?ml$/, 'lint rules (golangci-lint)'],
]

async function ruleLines(folder: string, names: ReadonlySet<string>): Promise<readonly string[]> {
  const files = [...names].flatMap((name) => {
    const what = ruleFiles.find(([file]) => file.test(name))?.[1]
    return what === undefined ? [] : [`\`${oneLine(name)}\` says ${what}.`]
  })
  const strict = /"strict"\s*:\s*true/.test(await textOf(folder, 'tsconfig.json')) ? ['TypeScript is strict.'] : []
  return [...strict, ...files]
}

interface PackageFile {
  readonly description?: unknown
  readonly engines?: unknown
  readonly scripts?: unknown
}

async function packageOf(folder: string): Promise<PackageFile> {
  try {
    const read: unknown = JSON.parse(await textOf(folder, 'package.json'))
    return isJsonObject(read) ? read : {}
  } catch {
    return {}
  }
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim()
}
