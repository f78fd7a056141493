import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { packages } from '../../../scripts/packages.mjs'
import { allowances } from '../src/allowance.ts'
import { endings } from '../src/index.ts'

const root = new URL('../../../', import.meta.url)
const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8')

/** The cells of the rows below a table's head, without the marks around them. */
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

describe('README', () => {
  test('has the endings of the code, with their categories and exit codes', () => {
    const rows = tableBelow(textOf('README.md'), '| reason | category |')
    expect(rows.map(([reason, category, , exit]) => [reason, category, exit])).toEqual(
      Object.entries(endings).map(([reason, { category, exitCode }]) => [reason, category, exitOf(exitCode)]),
    )
    expect(rows.filter(([, , meaning]) => meaning === '')).toEqual([])
  })

  test('says how many endings there are', () => {
    expect(textOf('README.md')).toContain(`${Object.keys(endings).length} reasons`)
  })

  test('names the two commands', () => {
    expect(textOf('README.md')).toContain('npm ci && npm start\nnpm ci && npm test\n')
  })
})

describe('docs/spec.md', () => {
  const spec = textOf('docs/spec.md')

  test('has every ending, as the code has it', () => {
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

  test('has every transition, as the code has it', () => {
    const rows = tableBelow(spec, '| # | transition |')
    expect(rows.map(([, transition, , allowance, refilled, turn]) => [transition, allowance, refilled, turn])).toEqual(
      Object.entries(allowances).map(([transition, { paidFrom, laps, resets, countsAsTurn }]) => [
        transition,
        paidFrom === 'own' ? String(laps) : paidFrom,
        paidFrom === 'own' ? yesOrNo(resets === 'refill') : '–',
        yesOrNo(countsAsTurn),
      ]),
    )
  })

  /** The rules by id, each without what stands in code. A letter marks a part of the rule with the same number. */
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

test('docs/halting.md has the allowances of the code', () => {
  const rows = tableBelow(textOf('docs/halting.md'), '| transition | allowance |')
  const own = Object.entries(allowances).filter(([, { paidFrom }]) => paidFrom === 'own')
  expect(rows.map((row) => row.join(' ')).toSorted()).toEqual(
    own.map(([transition, { laps, resets }]) => `${transition} ${laps} ${yesOrNo(resets === 'refill')}`).toSorted(),
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

  test('names no file that is not there', () => {
    const all = [...sources(), ...filesIn('scripts', '.mjs'), 'vitest.build.ts', 'vitest.config.ts']
    const named = [...agents.matchAll(/`([\w./-]+\.(?:ts|mjs))`/g)].map(([, name = '']) => name)
    expect(named.length).toBeGreaterThan(40)
    expect(named.filter((name) => !all.some((path) => `/${path}`.endsWith(`/${name}`)))).toEqual([])
  })
})

test('every npm command in the documents is a script', () => {
  const { scripts } = JSON.parse(textOf('package.json')) as { readonly scripts: Readonly<Record<string, string>> }
  const named = documents().flatMap((path) =>
    [...textOf(path).matchAll(/\bnpm (?:run ([\w:]+)|(start|test))\b/g)].map(([, run, short]) => run ?? short ?? ''),
  )
  expect([...new Set(named)].filter((name) => !(name in scripts))).toEqual([])
  expect(named).toContain('start')
})

test('every link between the documents leads somewhere', () => {
  const broken = documents().flatMap((path) =>
    [...textOf(path).matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !target.startsWith('https:'))
      .filter((target) => !exists(new URL(target, new URL(path, root))))
      .map((target) => `${path}: ${target}`),
  )
  expect(broken).toEqual([])
})

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
  const below = ['docs', 'docs/guide', 'docs/decisions'].flatMap((folder) => filesIn(folder, '.md'))
  return ['README.md', 'AGENTS.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...below]
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
