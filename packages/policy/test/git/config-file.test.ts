// Holds R-RULE-7q of docs/spec: the judge reads the same settings in a configuration file as git.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { readGitConfig } from '../../src/git/config-file.ts'
import { drawn } from '../support/deep.ts'

type Reading = readonly (readonly [name: string, value: string | undefined])[] | undefined

const folder = mkdtempSync(join(tmpdir(), 'halting-config-'))
const file = join(folder, 'config')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function readByGit(text: string): Reading {
  writeFileSync(file, text, 'latin1')
  const env = { PATH: process.env['PATH'], LC_ALL: 'C' }
  const { status, stdout } = spawnSync('git', ['config', '--file', file, '--list', '-z'], { env })
  if (status !== 0) return undefined
  return stdout
    .toString()
    .split('\0')
    .slice(0, -1)
    .map((entry) => {
      const at = entry.indexOf('\n')
      return at < 0 ? [entry, undefined] : [entry.slice(0, at), entry.slice(at + 1)]
    })
}

const isVerbatim = readByGit('[a]b = x\ty')?.[0]?.[1] === 'x\ty'

/** Before 2.45 git replaced each tab inside a value by a space. */
function comparable(reading: Reading): Reading {
  return reading?.map(([name, value]) => [name, isVerbatim ? value : value?.replaceAll(/[\t\r]/g, ' ')])
}

function readByUs(text: string): Reading {
  return readGitConfig(Buffer.from(text, 'latin1'))?.map(({ section, key, value }) => [
    section === '' ? key : `${section}.${key}`,
    value,
  ])
}

const pieces = [
  '[core]', '[core', ']', '[Core "A b"]', '[a.B]', '[a "b\\"c"]', '[a "b\\\\"]', '[a "\\t"]', '[ "x"]', '[]', '[a "]', '[a"b"]', '[a\t "b"]', '[a "b" ]', '[.]', '[a-1.b]', '[a_b]', '[a "b"]k=v',
  'fsmonitor', 'HooksPath', 'key-1', '1key', 'k_y', 'worktree', '=', ' = ', '\t=\t', '"x""y"', '"', '""', '" "', '\\', '\\\n', '\\\r\n', '\\n', '\\t', '\\b', '\\"', '\\\\', '\\x', '\\ ', '# c', '; c', '#', ';', ' ', '\t', '\r', '\n', '\n', '\n', '\r\n', '\v', '\f',
  'x', 'y z', 'hooks ; comment', 'a # c', '\u00EF\u00BB\u00BF', '\u00EF\u00BB', '\u00C2\u00A0', '\u00E2\u0080\u008B', '\u0001', '\u007F', "'", '$(x)', '~/x', '/dev/null',
] // prettier-ignore

const soup = fc.array(fc.constantFrom(...pieces), { maxLength: 25 }).map((some) => some.join(''))

const quoted = fc
  .array(fc.constantFrom('a', ' ', '#', ';', '\\"', '\\\\', '\\n', '\\\n', "'", '\t', '='), { maxLength: 8 })
  .map((some) => `"${some.join('')}"`)
const bare = fc
  .array(fc.constantFrom('a', 'b', ' ', '\\t', '\\"', '\\\n', '/', '=', '[', ']'), { maxLength: 8 })
  .map((some) => some.join(''))
const value = fc.array(fc.oneof(quoted, bare), { maxLength: 4 }).map((some) => some.join(''))
const space = fc.constantFrom('', ' ', '\t', '  ', '\r')
const end = fc.constantFrom('\n', '\r\n', ' ; c\n', '# "\n', '')
const setting = fc
  .tuple(space, fc.constantFrom('key', 'Key-2', 'k'), space, fc.option(value), space, end)
  .map(
    ([before, key, between, set, after, last]) =>
      `${before}${key}${between}${set === null ? '' : `=${set}${after}`}${last}`,
  )
const header = fc
  .tuple(
    fc.constantFrom('a', 'A.B', 'a.'),
    fc.option(fc.string({ unit: 'binary-ascii', maxLength: 5 })),
    fc.constantFrom('\n', ' '),
  )
  .map(([name, part, last]) => `[${name}${part === null ? '' : ` "${part.replaceAll('\0', '')}"`}]${last}`)
const likely = fc.array(fc.oneof(setting, header), { maxLength: 8 }).map((some) => some.join(''))

test('random files are parsed as git parses them, or rejected if git rejects them', () => {
  let readable = 0
  fc.assert(
    fc.property(
      fc.oneof(
        soup,
        likely,
        soup.map((text) => `[core]\n\tkey = ${text}\n`),
      ),
      (text) => {
        const byGit = readByGit(text)
        if (byGit !== undefined && byGit.length > 0) readable += 1
        expect(comparable(readByUs(text))).toEqual(comparable(byGit))
      },
    ),
    { numRuns: drawn(2_000) },
  )
  // Otherwise the generator would not test values.
  expect(readable).toBeGreaterThan(drawn(2_000) / 10)
}, 300_000)

test.each([
  ['core.worktree = "x""y"', 'xy'],
  ['core.hookspath = hooks ; comment', 'hooks'],
  ['core.hookspath = hooks # comment', 'hooks'],
  ['core.x = a"b;c"d', 'ab;cd'],
  ['core.x = a\\\nb', 'ab'],
  ['core.x = a \\\n b', 'a  b'],
  ['core.x = a\\', 'a'],
  ['core.x = "\\"\\\\\\n\\t\\b"', '"\\\n\t\b'],
  ['core.x = "a" ', 'a'],
  ['core.x = "a "', 'a '],
  ['core.x =', ''],
  ['core.x', undefined],
  ['core.x = a\r', 'a'],
])('%s', (line, expected) => {
  const text = `[core]${line.replace('core.', '')}`
  expect(readByUs(text)?.[0]?.[1]).toBe(expected)
  expect(readByGit(text)?.[0]?.[1]).toBe(expected)
})

test('a file with a NUL byte is rejected, as git truncates names and values there', () => {
  expect(readByUs('[core "fsmonitor\0"]\nx = y\n')).toBeUndefined()
  expect(readByUs('[core]\nx = y\0z\n')).toBeUndefined()
})
