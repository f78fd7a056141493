import { mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { createPermissions } from '@halting/policy'
import type { PermissionDecision, Tool } from '@halting/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codingTools } from './support/harness.ts'
import { drawn } from './support/deep.ts'

/** The decision about a call with one allow rule. */
function behaviorUnder(rule: string, name: string, input: unknown): PermissionDecision['behavior'] {
  const tool: Tool = { name, description: '', inputSchema: {}, readOnly: false, execute: () => '' }
  const call = { type: 'tool_use' as const, id: 'call_1', name, input }
  const decision = createPermissions({ cwd: '/', allow: [rule] }).decide({ call, tool, readOnly: false })
  if (decision instanceof Promise) throw new Error('rules decide at once')
  return decision.behavior
}

/** Whether a rule that denies reading matches a path below the working directory. */
function reaches(pattern: string, path: string): boolean {
  return createPermissions({ cwd: '/project', deny: [`Read(${pattern})`] }).deniesReading(`/project/${path}`)
}

describe('brackets in a denying rule (spec R-RULE-3b)', () => {
  test.each([
    ['app/[id]/**', 'app/[id]/page.tsx', true],
    ['/app/[id]/page.tsx', 'app/[id]/page.tsx', true],
    ['[id].ts', 'deep/[id].ts', true],
    ['app/[...all]/[id]/*', 'app/[...all]/[id]/x', true],
    // They are still a set of characters.
    ['app/[id]/**', 'app/i/page.tsx', true],
    ['app/[id]/**', 'app/other/page.tsx', false],
    [String.raw`app/\[id]/**`, 'app/i/page.tsx', false],
  ])('Read(%s) and %s', (pattern, path, isDenied) => {
    expect(reaches(pattern, path)).toBe(isDenied)
  })

  test('in an allow rule mean only the set, and a list shows the rule once', () => {
    expect(behaviorUnder('Edit(app/[id]/**)', 'Edit', { file_path: '/app/[id]/x' })).toBe('ask')
    const rules = createPermissions({ cwd: '/project', deny: ['Read(app/[id]/**)'] }).rules()
    expect(rules).toEqual([{ behavior: 'deny', rule: 'Read(app/[id]/**)' }])
  })
})

describe('patterns with *', () => {
  test('agree with the same pattern as a regular expression', () => {
    const host = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 12 })
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*'), minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(pattern, host, (glob, name) => {
        const isMatch = new RegExp(`^${glob.replaceAll('*', '.*')}$`).test(name)
        const behavior = behaviorUnder(`WebFetch(domain:${glob})`, 'WebFetch', { url: `https://${name}/` })
        expect(behavior).toBe(isMatch ? 'allow' : 'ask')
      }),
      { numRuns: drawn(2000) },
    )
  })

  test.each([
    ['münchen.de', 'https://münchen.de/', 'allow'],
    ['*.münchen.de', 'https://www.xn--mnchen-3ya.de/', 'allow'],
    ['Example.com.', 'https://example.com/', 'allow'],
    ['ex*.com', 'https://example.com/', 'allow'],
    ['[2606:4700::1]', 'https://[2606:4700::1]/', 'allow'],
  ])('WebFetch(domain:%s) is compared with %s as it is resolved (spec R-WEB-7)', (domain, url, expected) => {
    expect(behaviorUnder(`WebFetch(domain:${domain})`, 'WebFetch', { url })).toBe(expected)
  })

  test('rejects a domain that no host can have: a rule about it would protect nothing', () => {
    expect(() => createPermissions({ cwd: '/project', deny: ['WebFetch(domain:mün*.de)'] })).toThrow(
      'not a valid host name',
    )
    expect(() => createPermissions({ cwd: '/project', deny: ['WebFetch(domain:a..de)'] })).toThrow(
      'not a valid host name',
    )
  })

  test('no pattern and command take long together', () => {
    expect(behaviorUnder(`Bash(${'*a'.repeat(200)}b)`, 'Bash', { command: 'a'.repeat(100_000) })).toBe('ask')
  })

  test.each([
    ['npm run test:*', 'npm run test', 'allow'],
    ['npm run test:*', 'npm run test --watch', 'allow'],
    ['npm run test:*', 'npm run tests', 'ask'],
    ['make *', 'make', 'allow'],
    ['make *', 'makedepend', 'ask'],
    ['make*', 'makedepend', 'allow'],
    ['git * main', 'git push origin main', 'allow'],
    ['npm test', 'npm test --force', 'ask'],
    ['* --help', 'tool --help', 'allow'],
  ])('Bash(%s), %s: %s', (pattern, command, expected) => {
    expect(behaviorUnder(`Bash(${pattern})`, 'Bash', { command })).toBe(expected)
  })
})

describe('patterns of paths', () => {
  test.each([
    ['a/b', 'a/b', true],
    ['a/b', 'a/b/c', true],
    ['a/b', 'a', false],
    ['a/**', 'a', false],
    ['a/**', 'a/b', true],
    ['b', 'a/b/c', true],
    ['./b', 'a/b', false],
    ['/b', 'b', true],
    ['/b', 'a/b', false],
    ['/b', 'b/c', true],
    ['/*.ts', 'c.ts', true],
    ['/*.ts', 'a/c.ts', false],
    ['//project/b', 'b', true],
    ['//project/b', 'a/b', false],
    ['**/b', 'a/b', true],
    ['a/', 'a/b', true],
    ['a*/c', 'abc/c', true],
    ['a*/c', 'a/b/c', false],
  ])('Read(%s), %s: %s', (pattern, path, isReached) => {
    expect(reaches(pattern, path)).toBe(isReached)
  })

  test('a pattern that begins with / matches what the same pattern with ./ matches (spec R-RULE-3a)', () => {
    const segment = fc.constantFrom('a', 'b', '*', '**', 'a*')
    const pattern = fc.array(segment, { minLength: 1, maxLength: 3 })
    const path = fc.array(fc.constantFrom('a', 'b', 'ab'), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(pattern, path, (segments, names) => {
        const [glob, file] = [segments.join('/'), names.join('/')]
        expect(reaches(`/${glob}`, file)).toBe(reaches(`./${glob}`, file))
      }),
      { numRuns: drawn(500) },
    )
  })

  test('a name below the home folder is one file, even if the session works in the home folder', () => {
    const permissions = createPermissions({ cwd: homedir(), deny: ['Read(~/notes.txt)'] })
    expect(permissions.deniesReading(join(homedir(), 'notes.txt'))).toBe(true)
    expect(permissions.deniesReading(join(homedir(), 'a/notes.txt'))).toBe(false)
  })

  test.each(['/', '!a', '../a'])('%s is not a pattern', (pattern) => {
    expect(() => createPermissions({ cwd: '/project', deny: [`Read(${pattern})`] })).toThrow('cannot be read')
  })

  test('a name agrees with the same pattern as a regular expression', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 10 })
    const pattern = fc
      .string({ unit: fc.constantFrom('a', 'b', '?', '*', '[ab]', '[!a]'), minLength: 1, maxLength: 7 })
      .filter((text) => !/^\*+$/.test(text))
    fc.assert(
      fc.property(pattern, name, (glob, value) => {
        const source = glob.replaceAll('*', '.*').replaceAll('?', '.').replaceAll('[!', '[^')
        expect(reaches(`./${glob}`, value)).toBe(new RegExp(`^${source}$`).test(value))
      }),
      { numRuns: drawn(2000) },
    )
  })

  test('no pattern and path take long together', () => {
    const reached = [
      reaches(`./${'*a'.repeat(60)}b`, 'a'.repeat(255)),
      reaches(`./${'**/a*/'.repeat(20)}b`, `${'a/'.repeat(200)}c`),
    ]
    expect(reached).toEqual([false, false])
  })
})

describe('patterns of Glob', () => {
  test.each([
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/b/a.ts', false],
    ['src/**/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/b/c/a.ts', true],
    ['./a', 'a', true],
    ['a', 'b/a', true],
    ['**/a', 'a', true],
    ['**', 'a/b', true],
    ['a/**', 'a/b/c', true],
    ['a?c', 'abc', true],
    ['[!a-c]x', 'dx', true],
    ['[!a-c]x', 'bx', false],
    ['[]]', ']', true],
    [String.raw`\*`, '*', true],
    [String.raw`\*`, 'a', false],
    ['a[', 'a[', true],
    ['?', '😀', true],
    ['a.{ts,tsx}', 'a.tsx', true],
    ['{a,b{c,d}}', 'bd', true],
    ['{a,b{c,d}}', 'c', false],
    ['{a}', '{a}', true],
    ['a', 'a/b', false],
  ])('%s, %s: %s', async (pattern, path, isFound) => {
    const { use, cwd } = codingTools()
    mkdirSync(dirname(join(cwd, path)), { recursive: true })
    writeFileSync(join(cwd, path), '')
    expect((await use('Glob', { pattern })).details).toMatchObject({ filenames: isFound ? [path] : [] })
  })

  test('braces are bounded', async () => {
    const { use } = codingTools()
    expect(await use('Glob', { pattern: '{a,b}'.repeat(30) })).toMatchObject({ isError: true })
  })
})
