// A copy of core, and of analysis, which reads its records, in which mutations are made: the working tree is never touched.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { entriesOf } from '../packages.mjs'
import { run } from './run.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
const copied = ['core', 'analysis']

/** Where a mutation changes a file, or a test is: in core, or in analysis where its name begins with `@analysis/`. */
export function placeOf(path, part) {
  const [, name = 'core', rest] = /^(?:@(\w+)\/)?(.*)$/.exec(path)
  return join('packages', name, part, rest)
}

/** Copies the sources and tests to a folder of their own, below the repository so that packages are found. */
export function copyCore() {
  const folder = join(root, '.tmp', `mutations-${process.pid}`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const name of copied) {
    const home = join('packages', name)
    for (const part of ['src', 'test', 'public-names.md'])
      cpSync(join(root, home, part), join(folder, home, part), { recursive: true })
    writeFileSync(join(folder, home, 'tsconfig.json'), JSON.stringify(typesOnly(name)))
  }
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'vitest.config.mjs'), vitestConfig)
  return {
    folder,
    remove: () => rmSync(folder, { recursive: true, force: true }),
    /** Makes a mutation; the returned function takes it back. @throws when a text is not found exactly once. */
    apply(mutation) {
      const before = new Map()
      for (const [file, from, to] of mutation.changes) {
        const path = join(folder, placeOf(file, 'src'))
        const text = readFileSync(path, 'utf8')
        if (!before.has(path)) before.set(path, text)
        writeFileSync(path, replaced(text, from, to))
      }
      return () => {
        for (const [path, text] of before) writeFileSync(path, text)
      }
    },
    /** What the compiler says against it: what does not compile is no mutation. */
    async problems() {
      const tsc = join(root, 'node_modules/typescript/bin/tsc')
      for (const name of copied) {
        const home = join(folder, 'packages', name)
        const { output, code } = await run(process.execPath, [tsc, '-p', home], { limitMs: 300_000 })
        if (code !== 0) return output.trim().split('\n')[0]
      }
      return undefined
    },
  }
}

const typesOnly = (name) => ({
  extends: '../../../../tsconfig.base.json',
  compilerOptions: {
    composite: false,
    incremental: false,
    declaration: false,
    isolatedDeclarations: false,
    noEmit: true,
    types: name === 'core' ? [] : ['node'],
  },
  include: ['src'],
})

const vitestConfig = `
import { fileURLToPath } from 'node:url'
const source = (path) => fileURLToPath(new URL(path, import.meta.url))
export default {
  resolve: {
    alias: [
${copied
  .flatMap((name) =>
    entriesOf(name).map(
      ({ specifier, path }) =>
        `      { find: /^${specifier.replaceAll('/', '\\/')}$/, replacement: source('packages/${name}/src/${path}.ts') },`,
    ),
  )
  .join('\n')}
    ],
  },
  test: { include: ['packages/*/test/**/*.test.ts'] },
}
`

/** Why a mutation cannot be made on the sources as they are; undefined when it can. */
export function misfitOf(mutation) {
  const texts = new Map()
  for (const [file, from, to] of mutation.changes) {
    try {
      const path = join(root, placeOf(file, 'src'))
      texts.set(path, replaced(texts.get(path) ?? readFileSync(path, 'utf8'), from, to))
    } catch (error) {
      return `${file}: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}`
    }
  }
  return undefined
}

function replaced(text, from, to) {
  const found =
    typeof from === 'string' ? text.split(from).length - 1 : [...text.matchAll(new RegExp(from, 'g'))].length
  if (found !== 1) throw new Error(`found ${found} times instead of once: ${String(from).split('\n')[0]}`)
  // A function gives its text as it is: in a string, $ would have a meaning.
  const after = text.replace(from, typeof to === 'string' ? () => to : to)
  if (after === text) throw new Error(`changes nothing: ${String(from).split('\n')[0]}`)
  return after
}
