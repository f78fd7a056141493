import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { entriesOf, packages, publishedPackages } from '../../../scripts/packages.mjs'
import { transitionRules } from '../src/limits/transition-rules.ts'
import { endings, StopCategory } from '../src/index.ts'

const root = new URL('../../../', import.meta.url)
const thisTest = 'packages/core/test/docs.test.ts'
const tools = ['vitest.config.ts', 'vitest.build.ts', 'package.json', ...filesIn('scripts', '.mjs')]
const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8')

const ends = endsOfPaths()
const entries = new Set(packages.flatMap((name) => entriesOf(name).map(({ specifier }) => specifier)))

/** The cells of the rows below a table's head, without their markup. */
function tableBelow(text: string, head: string): readonly (readonly string[])[] {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => line.startsWith(head))
  if (start < 0) throw new Error(`There is no table that begins with ${head}.`)
  const rows = lines.slice(start + 2)
  const end = rows.findIndex((line) => !line.startsWith('|'))
  return rows.slice(0, end).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}

const exitOf = (code: number | null): string => (code === null ? '–' : String(code))
const yesOrNo = (value: boolean): string => (value ? 'yes' : 'no')

test('docs/guide/commands.md lists the endings of the code, with their categories and exit codes', () => {
  const rows = tableBelow(textOf('docs/guide/commands.md'), '| reason | category |')
  expect(rows.map(([reason, category, , exit]) => [reason, category, exit])).toEqual(
    Object.entries(endings).map(([reason, { category, exitCode }]) => [reason, category, exitOf(exitCode)]),
  )
  expect(rows.filter(([, , meaning]) => meaning === '')).toEqual([])
})

describe('README', () => {
  test('states how many endings there are', () => {
    expect(textOf('README.md')).toContain(`${Object.keys(endings).length} reasons`)
  })

  test('names the two commands', () => {
    expect(textOf('README.md')).toContain('npm ci && npm start\nnpm ci && npm test\n')
  })
})

describe('docs/spec', () => {
  const pages = filesIn('docs/spec', '.md')
  const spec = pages.map(textOf).join('\n\n')

  test('has pages of readable length, and an index that links each', () => {
    const most = 15_360
    expect(pages.filter((path) => Buffer.byteLength(textOf(path)) > most)).toEqual([])
    const index = textOf('docs/spec/README.md')
    const names = pages.map((path) => path.slice(path.lastIndexOf('/') + 1)).filter((name) => name !== 'README.md')
    expect(names.filter((name) => !index.includes(`](${name})`))).toEqual([])
  })

  test('has every ending of the code', () => {
    expect(tableBelow(spec, '| reason | category |')).toEqual(
      Object.entries(endings).map(([reason, ending]) => [
        reason,
        ending.category,
        ending.manner,
        ending.toolResults,
        ending.subtype,
        exitOf(ending.exitCode),
        yesOrNo(ending.overridable),
        yesOrNo(ending.wrapsUp),
      ]),
    )
  })

  test('has every transition of the code', () => {
    const rows = tableBelow(spec, '| # | transition |')
    expect(rows.map(([, transition, , allowance, refilled, turn]) => [transition, allowance, refilled, turn])).toEqual(
      Object.entries(transitionRules).map(([transition, { chargedTo, iterations: laps, resets, countsAsTurn }]) => [
        transition,
        chargedTo === 'own' ? String(laps) : chargedTo,
        chargedTo === 'own' ? yesOrNo(resets === 'refill') : '–',
        yesOrNo(countsAsTurn),
      ]),
    )
  })

  /** The rules by id, each without code spans. A letter marks a part of the rule with the same number. */
  const rules = [...`${spec}\n`.matchAll(/^- \*\*(R-[A-Z]+-\d+[a-z]?)\*\* ([^]*?)(?=\n- |\n\n)/gm)].map(
    ([, id = '', text = '']) => ({
      id,
      text: text.replaceAll(/`[^`]*`/g, ''),
    }),
  )

  test('gives an id to one rule, and a letter to a part of the rule before it', () => {
    const ids = rules.map(({ id }) => id)
    expect(ids.length).toBeGreaterThan(100)
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
    const before = (id: string): string => id.replace(/[a-z]$/, (letter) => (letter === 'a' ? '' : previous(letter)))
    expect(ids.filter((id, index) => /[a-z]$/.test(id) && ids[index - 1] !== before(id))).toEqual([])
  })

  test('says one thing in a rule: two sentences at most', () => {
    const sentences = (text: string): number => text.match(/[.!?](?=\s|$)/g)?.length ?? 0
    expect(rules.filter(({ text }) => sentences(text) > 2).map(({ id }) => id)).toEqual([])
  })

  test('has every rule that code, tests and documents cite', () => {
    const cited = new Set(
      [...sources(), ...documents()].flatMap((path) => textOf(path).match(/\bR-[A-Z]+-\d+[a-z]?\b/g) ?? []),
    )
    expect([...cited].filter((id) => !spec.includes(`- **${id}**`))).toEqual([])
  })
})

const previous = (letter: string): string => String.fromCharCode(letter.charCodeAt(0) - 1)

test('docs/halting.md has the retry limits of the code', () => {
  const rows = tableBelow(textOf('docs/halting.md'), '| transition | allowance |')
  const own = Object.entries(transitionRules).filter(([, { chargedTo }]) => chargedTo === 'own')
  expect(rows.map((row) => row.join(' ')).toSorted()).toEqual(
    own
      .map(([transition, { iterations: laps, resets }]) => `${transition} ${laps} ${yesOrNo(resets === 'refill')}`)
      .toSorted(),
  )
})

describe('AGENTS.md', () => {
  const agents = textOf('AGENTS.md')

  test('names every file and folder of core', () => {
    const unnamed = readdirSync(new URL('packages/core/src/', root), { withFileTypes: true })
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
      .filter((name) => !['index.ts', 'platform.d.ts'].includes(name) && !agents.includes(`\`${name}`))
    expect(unnamed).toEqual([])
  })

  test('has the rooms of core in the order of the README of core', async () => {
    const { coreRooms } = (await import(new URL('scripts/core-rooms.mjs', root).href)) as {
      readonly coreRooms: readonly string[]
    }
    const roomsIn = (text: string): readonly string[] =>
      [...text.matchAll(/^\| `([a-z-]+)\/` \| /gm)]
        .map(([, name = '']) => name)
        .filter((name) => coreRooms.includes(name))
    const [, tableOfCore = ''] = agents.split('In `packages/core/src`,')
    const [, table = ''] = textOf('packages/core/README.md').split('## Rooms')
    expect(roomsIn(tableOfCore).slice(0, coreRooms.length)).toEqual(coreRooms)
    expect(roomsIn(table)).toEqual(coreRooms)
  })

  test('names every package, and every folder of the program', () => {
    expect(packages.filter((name) => !agents.includes(`\npackages/${name} `))).toEqual([])
    const folders = readdirSync(new URL('packages/cli/src/', root), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => `${entry.name}/`)
    expect(folders.filter((name) => !agents.includes(`\`${name}`))).toEqual([])
  })

  test('names only files, folders, entries and identifiers that exist', () => {
    const code = [...agents.replaceAll(/^```[^]*?^```$/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text)
    expect(unknownPaths(code.flatMap(pathsIn))).toEqual([])
    expect(unknownEntries(agents)).toEqual([])
    const words = new Set(
      [...sources(), ...tools].flatMap((path) => (path === thisTest ? [] : (textOf(path).match(/[\w$]+/g) ?? []))),
    )
    const named = code.flatMap(
      (text) => text.match(/(?<![\w./$-])(?:[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)(?![\w/-])/g) ?? [],
    )
    expect(named.length).toBeGreaterThan(60)
    expect(named.filter((name) => !words.has(name))).toEqual([])
  })
})

describe('docs/glossary.md', () => {
  const glossary = textOf('docs/glossary.md')

  test('has the numbers of the code', () => {
    expect(glossary).toContain(`from a closed set of ${Object.keys(endings).length} |`)
    expect(glossary).toContain(`in ${StopCategory.all.length} classes`)
    expect(glossary).toContain(`from a closed set of ${Object.keys(transitionRules).length} |`)
  })

  test('names only types that exist', () => {
    const types = textOf('packages/core/public-names.md')
    const named = tableBelow(glossary, '| there | type |').flatMap(([, type = '']) => type.match(/^\w+/) ?? [])
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter((name) => !new RegExp(`^- (?:type )?\`${name}\``, 'm').test(types))).toEqual([])
  })
})

test('documents and comments name only paths and entries that exist', () => {
  const paths = (path: string): readonly string[] =>
    [...textOf(path).matchAll(/(?<![\w./-])packages\/[a-z]+\/(?:src|test)\/[\w./-]*\w/g)].map(([name]) => name)
  const current = documents().filter((path) => !/^docs\/decisions|^CHANGELOG/.test(path))
  const ownSources = sources().filter((path) => /^packages\/\w+\/src/.test(path))
  expect(
    [...current, ...ownSources].flatMap((path) => unknownPaths(paths(path)).map((name) => `${path}: ${name}`)),
  ).toEqual([])
  expect(current.flatMap((path) => unknownEntries(textOf(path)).map((name) => `${path}: ${name}`))).toEqual([])
})

test('every npm command in the documents is a script', () => {
  const { scripts } = JSON.parse(textOf('package.json')) as { readonly scripts: Readonly<Record<string, string>> }
  const named = documents().flatMap((path) =>
    [...textOf(path).matchAll(/\bnpm (?:run ([\w:]+)|(start|test))\b/g)].map(([, run, short]) => run ?? short ?? ''),
  )
  expect([...new Set(named)].filter((name) => !(name in scripts))).toEqual([])
  expect(named).toContain('start')
})

test('every link between the documents has a target', () => {
  const broken = documents().flatMap((path) =>
    [...textOf(path).matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !target.startsWith('https:'))
      .filter((target) => !exists(new URL(target, new URL(path, root))))
      .map((target) => `${path}: ${target}`),
  )
  expect(broken).toEqual([])
})

/** Words that look like a path: with a slash after a name, or with a file extension. Patterns and flags are excluded. */
function pathsIn(code: string): readonly string[] {
  if (/[*<>=…$@]|NAME|--/.test(code)) return []
  return code.match(/(?<![\w./-])(?:\.?[\w-]+\/)+[\w.-]*|(?<![\w./-])[\w-]+\.(?:tsx?|mjs|md|json|txt)\b/g) ?? []
}

/** Those that are neither a path from the root nor the end of one. */
function unknownPaths(paths: readonly string[]): readonly string[] {
  return paths.filter((path) => !ends.has(path.replace(/\/$/, '')))
}

/** Every file and folder of the repository that documents may name: `a/b/c`, and also `b/c` and `c`. */
function endsOfPaths(): ReadonlySet<string> {
  const known = new Set<string>()
  const folders = ['.ci', '.github', 'action', 'docs', 'examples', 'bench', 'scripts']
  const ofPackages = packages.flatMap((name) => [
    `packages/${name}/public-names.md`,
    ...['src', 'test'].flatMap((each) => filesIn(`packages/${name}/${each}`, '', true)),
  ])
  for (const path of [...readdirSync(root), ...folders.flatMap((name) => filesIn(name, '', true)), ...ofPackages]) {
    const parts = path.split('/')
    for (let last = parts.length; last > 0; last--)
      for (let first = 0; first < last; first++) known.add(parts.slice(first, last).join('/'))
  }
  return known
}

/** Named entries of our packages that no package exports. */
function unknownEntries(text: string): readonly string[] {
  return (text.match(/@halting\/[a-z]+(?:-[a-z]+)*(?:\/[a-z-]+)*/g) ?? []).filter((name) => !entries.has(name))
}

function exists(url: URL): boolean {
  try {
    if (url.pathname.endsWith('/')) readdirSync(url)
    else readFileSync(url)
    return true
  } catch {
    return false
  }
}

function documents(): readonly string[] {
  const below = ['docs', 'docs/guide', 'docs/decisions', 'docs/spec'].flatMap((folder) => filesIn(folder, '.md'))
  const ofPackages = publishedPackages
    .map((name) => `packages/${name}/README.md`)
    .filter((path) => exists(new URL(path, root)))
  return ['README.md', 'AGENTS.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', ...ofPackages, ...below]
}

function sources(): readonly string[] {
  return packages.flatMap((name) =>
    ['src', 'test'].flatMap((folder) => filesIn(`packages/${name}/${folder}`, '.ts', true)),
  )
}

function filesIn(folder: string, suffix: string, recursive = false): readonly string[] {
  const names = readdirSync(new URL(`${folder}/`, root), { recursive, encoding: 'utf8' })
  return names.filter((name) => name.endsWith(suffix)).map((name) => `${folder}/${name}`)
}
