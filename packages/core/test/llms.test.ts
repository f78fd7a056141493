// Tests llms.txt, the list of documents for programs.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = new URL('../../../', import.meta.url)
const list = readFileSync(new URL('llms.txt', root), 'utf8')
const links = [...list.matchAll(/^- \[[^\]]+\]\(([^)]+)\): (.*)$/gm)].map(([, path = '', says = '']) => ({
  path,
  says,
}))

const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, [fileURLToPath(new URL('scripts/llms.mjs', root)), ...args], { encoding: 'utf8' })

test('llms.txt matches the documents: npm run names rewrites it', () => {
  expect(run()).toMatchObject({ status: 0, stderr: '' })
})

test('has a title, a summary, and each guide once, all of them in a sentence', () => {
  expect(list).toMatch(/^# halting\n\n> [A-Z`].*\.\n/)
  const guides = readdirSync(new URL('docs/guide/', root)).filter((name) => name.endsWith('.md'))
  const listed = links.flatMap(({ path }) => /^docs\/guide\/(.*)$/.exec(path)?.[1] ?? [])
  expect(listed).toEqual(guides.toSorted())
  expect(links.filter(({ says }) => !/^\S.*\.$/.test(says))).toEqual([])
})

test('names only what exists', () => {
  expect(links.map(({ path }) => path).filter((path) => !existsSync(new URL(path, root)))).toEqual([])
})

test('--full prints the README and every guide whole', () => {
  const { stdout } = run('--full')
  for (const path of ['README.md', 'docs/guide/embedding.md', 'docs/guide/why.md'])
    expect(stdout).toContain(readFileSync(new URL(path, root), 'utf8'))
})
