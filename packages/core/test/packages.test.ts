// Tests what npm shows of each published package, and how programs import it.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { entriesOf, publishedPackages } from '../../../scripts/packages.mjs'

const root = new URL('../../../', import.meta.url)
const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8')

interface Manifest {
  readonly name: string
  readonly description: string
  readonly keywords: readonly string[]
  readonly license: string
  readonly exports: Readonly<Record<string, unknown>>
  readonly typesVersions?: unknown
  readonly files: readonly string[]
}

/** The entry in package.json: the same ES module for `import` and `require()`, with types for both. */
const exported = (path: string): unknown => ({
  import: { types: `./dist/${path}.d.ts`, default: `./dist/${path}.js` },
  require: { types: `./dist/${path}.d.cts`, default: `./dist/${path}.cjs` },
})

describe.each(publishedPackages)('%s', (folder) => {
  const manifest = JSON.parse(textOf(`packages/${folder}/package.json`)) as Manifest
  const entries = entriesOf(folder)

  test('has a description, keywords, the license, and no address, which the release script requires', () => {
    expect(manifest.description).toMatch(/^[A-Z][^]{20,}[^.]$/)
    expect(new Set(manifest.keywords).size).toBeGreaterThanOrEqual(5)
    expect(manifest.license).toBe('MIT')
    expect(textOf(`packages/${folder}/LICENSE`)).toBe(textOf('LICENSE'))
    for (const field of ['repository', 'homepage', 'bugs']) expect(manifest).not.toHaveProperty(field)
  })

  test('packs the build and no sources', () => {
    expect(manifest.files.filter((pattern) => pattern.startsWith('src'))).toEqual([])
    expect(manifest.files.some((pattern) => pattern.startsWith('dist'))).toBe(true)
  })

  test.skipIf(entries.length === 0)('has types for ES modules, CommonJS and resolution without `exports`', () => {
    const keys = Object.keys(manifest.exports).filter((key) => key !== './package.json')
    const plain = (target: unknown): unknown =>
      JSON.parse(
        JSON.stringify(target, (key, value: unknown) =>
          /^(?:browser|workerd|edge-light)$/.test(key) ? undefined : value,
        ),
      )
    expect(keys.map((key) => plain(manifest.exports[key]))).toEqual(entries.map(({ path }) => exported(path)))
    expect(manifest).toMatchObject({ main: './dist/index.cjs', types: './dist/index.d.ts' })
    const below = keys.flatMap((key, index) =>
      key === '.' ? [] : [[key.slice(2), [`./dist/${entries[index]?.path}.d.ts`]] as const],
    )
    expect(manifest.typesVersions).toEqual(below.length === 0 ? undefined : { '*': Object.fromEntries(below) })
  })

  test('has a page: install, a sample, its entries, guides', () => {
    const readme = textOf(`packages/${folder}/README.md`)
    expect(readme).toMatch(new RegExp(`^# ${manifest.name}\n\n[A-Z]`))
    expect(readme).toMatch(new RegExp(`^npm install .*${manifest.name}( |$)`, 'm'))
    // JavaScript is an example that runs; scripts/consumers.mjs compiles TypeScript.
    expect(readme).toMatch(folder === 'cli' ? /^```sh\nhalting/m : /^```(?:js|ts)\n/m)
    const rows = [...readme.matchAll(/^\| `(@halting\/[\w/-]+)` \| \S/gm)].map(([, name]) => name)
    expect(rows).toEqual(entries.map(({ specifier }) => specifier))
    expect(readme).toContain('](../../docs/guide/')
    expect(readme.split('\n').length).toBeLessThan(110)
  })
})

test('both stores detect live processes by the same code, except for another boot: a wrongly judged lock loses sessions', () => {
  const linesOf = (folder: string): readonly string[] =>
    textOf(`packages/${folder}/src/process-identity.ts`).split('\n')
  const [ofFile, ofDatabase] = [linesOf('store-sqlite'), linesOf('store-postgres')]
  const different = ofFile.flatMap((line, index) => (line === ofDatabase[index] ? [] : [line.trim()]))
  expect(ofDatabase).toHaveLength(ofFile.length)
  // Machines of a cluster may share a name; the processes of one file are on one machine.
  expect(different).toEqual([
    expect.stringMatching(/^\/\*\* Whether a process runs: /),
    "if (began !== '' && boot !== '' && !began.startsWith(`${boot} `)) return 'dead'",
  ])
})
