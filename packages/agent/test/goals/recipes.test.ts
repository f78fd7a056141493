// Holds R-GOAL-35c of docs/spec: what a target of make or a recipe of just runs.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isPhony, justDefinition, makeDefinition } from '../../src/goals/recipes.ts'

const nothingIncluded = (): undefined => undefined
const make = (text: string, target?: string): string => makeDefinition(text, target, nothingIncluded)
const just = (text: string, recipe?: string): string => justDefinition(text, recipe, nothingIncluded)

describe('the definition of a make target', () => {
  const makefile = [
    'CC = cc',
    'FLAGS = -O2 $(MORE)',
    'MORE = -g',
    'VERSION = 1',
    '',
    '.PHONY: check clean',
    'all: app',
    '',
    'app: main.o \\',
    '     util.o',
    '\t$(CC) $(FLAGS) -o app',
    '%.o: %.c',
    '\tcompile $<',
    'check: app | data',
    '\t./run $(CC)',
    'data:',
    '\tfetch',
    'clean:',
    '\trm -f app',
    '',
  ].join('\n')
  const changed = (from: string, to: string): boolean =>
    make(makefile.replace(from, to), 'check') !== make(makefile, 'check')

  test.each([
    ['./run', './skip'],
    ['\tfetch', '\ttrue'],
    ['compile $<', 'true'],
    ['CC = cc', 'CC = true'],
    ['MORE = -g', 'MORE = -x'],
    ['util.o', 'none.o'],
    ['$(CC) $(FLAGS) -o app', 'true'],
    ['CC = cc', 'CC = cc\nSHELL = /bin/true'],
    ['.PHONY: check clean', '.PHONY: clean'],
    ['CC = cc', 'CC = cc\ninclude evil.mk'],
    ['CC = cc', 'CC = cc\n.ONESHELL:'],
    ['CC = cc', 'CC = cc\n$(eval check: ; true)'],
    ['CC = cc', 'CC = cc\ncheck: CC = true'],
  ])('differs between %j and %j', (from, to) => {
    expect(changed(from, to)).toBe(true)
  })

  test.each([
    ['VERSION = 1', 'VERSION = 2'],
    ['rm -f app', 'rm -rf app'],
    ['CC = cc', '# a word\nCC = cc'],
    ['clean:\n', 'new: check\n\tx\nclean:\n'],
    ['.PHONY: check clean', '.PHONY: check clean all'],
  ])('is the same for %j and %j', (from, to) => {
    expect(changed(from, to)).toBe(false)
  })

  test('is the whole file if the target is unknown or undeterminable', () => {
    for (const text of [makefile, `${makefile}\n$(eval x)`])
      expect(make(text, 'unknown').endsWith(text) || make(text, 'check').endsWith(text)).toBe(true)
    expect([isPhony(makefile, 'check'), isPhony(makefile, 'app')]).toEqual([true, false])
  })

  test('without a name is that of the first target, and includes included files', () => {
    const text = 'include a.mk\nfirst:\n\tx\nother:\n\ty\n'
    expect(make(text)).not.toBe(make(text.replace('\tx', '\tz')))
    expect(make(text)).toBe(make(text.replace('\ty', '\tz')))
    expect(makeDefinition(text, 'first', () => '1')).not.toBe(makeDefinition(text, 'first', () => '2'))
  })
})

test('the definition of a just recipe is the recipe, its dependencies, and everything that is not a recipe', () => {
  const file =
    'set shell := ["bash", "-c"]\nx := "1"\nalias t := check\n\n# what it does\ncheck arg="": build (lint "a")\n  ./t {{x}}\n\nbuild:\n  cc\nlint what:\n  l\nclean:\n  rm x\n'
  const changed = (from: string, to: string, name = 'check'): boolean =>
    just(file.replace(from, to), name) !== just(file, name)
  for (const [from, to] of [
    ['./t', 'true'],
    ['  cc', '  true'],
    ['  l\n', '  true\n'],
    ['"bash"', '"true"'],
    ['x := "1"', 'x := "2"'],
  ] as const)
    expect([from, changed(from, to), changed(from, to, 't')]).toEqual([from, true, true])
  expect([changed('rm x', 'rm y'), changed('# what it does', '# anything')]).toEqual([false, false])
  expect(just(file, 'unknown')).toContain('whole')
})

test('any text is parsed quickly, and changing all of it changes the definition', () => {
  const line = fc.constantFrom(
    'a: b',
    '\tx',
    'b:',
    'X = 1',
    'define X',
    'endef',
    'include y',
    '%.o: %.c',
    '.PHONY: a',
    '',
    '#',
    'a b : c ; d',
    '\\',
    'ifeq (1,1)',
    'endif',
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 40 }), (lines) => {
      const text = lines.join('\n')
      expect(typeof make(text, 'a')).toBe('string')
      expect(typeof just(text, 'a')).toBe('string')
      // Another recipe for the target is never missed.
      expect(make(`${text}\na:\n\tevil\n`, 'a')).toContain('evil')
    }),
  )
})
