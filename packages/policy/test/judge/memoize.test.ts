// Holds R-RULE-7t of docs/spec: cached results about texts equal new ones, and results that depend on the environment are not cached.
import { array, assert, integer, property } from 'fast-check'
import { readFileSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'
import { createPermissions } from '../../src/permissions/permissions.ts'
import { analyseShell } from '../../src/shell/analysis.ts'
import { literalWord } from '../../src/shell/read-grammar.ts'
import { memoizeByObject, memoizeByWords, RecentTexts, tailOf } from '../../src/shell/memoize.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { bashCall, judged } from './support.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

test('tailOf returns the words of slice, as one list however it is requested', () => {
  assert(
    property(integer({ min: 1, max: 12 }), array(integer({ min: 0, max: 5 }), { maxLength: 6 }), (count, steps) => {
      const words = Array.from({ length: count }, (_none, at) => literalWord(String(at)))
      let tail: ReturnType<typeof tailOf> = words
      let at = 0
      for (const step of steps) {
        tail = tailOf(tail, step)
        at += step
        expect(tail).toEqual(words.slice(at))
        expect(tail).toBe(tailOf(words, at))
      }
    }),
  )
})

test('a result is computed once per object, and each time for words that name ps', () => {
  const find = vi.fn<(about: object) => number>((about) => Object.keys(about).length)
  const known = memoizeByObject(find)
  const [one, other] = [{ a: 1 }, { a: 1 }]
  expect([known(one), known(one), known(other)]).toEqual([1, 1, 1])
  expect(find).toHaveBeenCalledTimes(2)
  const count = vi.fn<(words: readonly unknown[]) => number>((words) => words.length)
  const ofCommand = memoizeByWords(count)
  const words = [literalWord('xargs'), literalWord('ps')]
  expect([ofCommand(words), ofCommand(words)]).toEqual([2, 2])
  expect(count).toHaveBeenCalledTimes(2)
})

test('the cache stores neither more texts nor longer texts than allowed', () => {
  const texts = new RecentTexts<number>(2, 3)
  for (const [at, text] of ['a', 'b', 'four', 'c'].entries()) texts.set(text, at)
  expect(['a', 'b', 'four', 'c'].map((text) => texts.get(text))).toEqual([undefined, 1, undefined, 3])
})

test('ps is judged by the current environment', () => {
  const cwd = temporaryFolder()
  const find = (): readonly string[] =>
    ['ps aux', 'timeout 5 ps aux', 'ps aux | head'].map((command) => judged(command, { cwd }))
  expect(find()).toEqual(['allow', 'allow', 'allow'])
  vi.stubEnv('PS_FORMAT', 'environ')
  expect(find()).toEqual(['ask', 'ask', 'ask'])
  vi.stubEnv('PS_FORMAT', undefined)
  expect(find()).toEqual(['allow', 'allow', 'allow'])
})

test('characters are read by the current locale, also in an inner script', () => {
  const find = (): readonly boolean[] =>
    ['echo é', String.raw`bash -c $'echo \303\251'`, "bash -c 'echo é'"].map(
      (command) => analyseShell(command).opaque.length > 0,
    )
  vi.stubEnv('LC_ALL', 'C.UTF-8')
  const first = find()
  vi.stubEnv('LC_ALL', 'zh_CN.GBK')
  expect(find()).toEqual([true, true, true])
  vi.stubEnv('LC_ALL', 'C.UTF-8')
  expect(find()).toEqual(first)
  expect(first[0]).toBe(false)
})

test('a variable that enters the environment is no longer local', () => {
  const cwd = temporaryFolder()
  const command = 'width=5; echo $width'
  expect(judged(command, { cwd })).toBe('allow')
  vi.stubEnv('width', '1')
  expect(judged(command, { cwd })).toBe('ask')
})

test('judging a command does not depend on earlier commands', async () => {
  const text = readFileSync(new URL('corpus/commands-programs.txt', import.meta.url), 'utf8')
  const all = text.split('\n').filter((line) => line !== '' && !/^(?:==|\/\/|setup:)/.test(line))
  const commands = all.filter((_line, at) => at % 3 === 0)
  const rules = {
    cwd: temporaryFolder(),
    deny: ['Bash(rm:*)', 'Bash(git push *)', 'Read(.env)'],
    allow: ['Bash(npm test:*)'],
  }
  const permissions = createPermissions(rules)
  const found = commands.map((command) => permissions.decide(bashCall(command)))
  vi.resetModules()
  const fresh = await import('../../src/permissions/permissions.ts')
  const others = fresh.createPermissions(rules)
  const backwards = commands.toReversed().map((command) => others.decide(bashCall(command)))
  expect(backwards.toReversed()).toEqual(found)
  expect(commands.map((command) => others.decide(bashCall(command)))).toEqual(found)
})
