import { createPermissions, type RulePermissions } from '../../src/permissions/permissions.ts'
import type { PermissionRequest, Tool } from '@halting/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drawn } from '../support/deep.ts'

const bash: Tool = { name: 'Bash', description: '', inputSchema: {}, readOnly: false, execute: () => '' }

function asked(command: string): PermissionRequest {
  return { call: { type: 'tool_use', id: 'call_1', name: 'Bash', input: { command } }, tool: bash, readOnly: false }
}

function behaviorOf(permissions: RulePermissions, command: string): string {
  const decision = permissions.decide(asked(command))
  return decision instanceof Promise ? 'later' : decision.behavior
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** Ways to put a command inside another one; all of them run it. */
const nestings: readonly ((inner: string) => string)[] = [
  (inner) => `echo a && ${inner}`,
  (inner) => `{ ${inner}\n} || echo b`,
  (inner) => `ls; ${inner}`,
  (inner) => `ls\n${inner}\n`,
  (inner) => `ls & ${inner}`,
  (inner) => `( ${inner} )`,
  (inner) => `{ ${inner}\n}`,
  (inner) => `! { ${inner}\n}`,
  (inner) => `echo $( ${inner} )`,
  (inner) => `echo "a $( ${inner} ) b"`,
  (inner) => `x="\${y:-$( ${inner} )}"`,
  (inner) => `cat <( ${inner} )`,
  (inner) => `if true; then ${inner}\nfi`,
  (inner) => `while ${inner}\ndo :; done`,
  (inner) => `for i in 1; do ${inner}\ndone`,
  (inner) => `case a in a) ${inner}\n;; esac`,
  (inner) => `f() { ${inner}\n}; f`,
  (inner) => `bash -c ${quoted(inner)}`,
  (inner) => `eval ${quoted(inner)}`,
  (inner) => `timeout 5 sh -c ${quoted(inner)}`,
  (inner) => `time { ${inner}\n}`,
  (inner) => `[[ -n $( ${inner} ) ]]`,
  (inner) => `{ ${inner}\n} > /dev/null 2>&1`,
  (inner) => `echo a | { ${inner}\n}`,
]

const wrapped = fc
  .array(fc.constantFrom(...nestings.keys()), { maxLength: 5 })
  .map((steps) => steps.reduce((command, step) => nestings[step]?.(command) ?? command, 'forbidden --now'))

describe('a command with any nesting', () => {
  test('is denied by a rule for it, in every mode', () => {
    const permissions = createPermissions({ cwd: '/', allow: ['Bash'], deny: ['Bash(forbidden *)'] })
    const bypassing = createPermissions({ cwd: '/', mode: 'bypassPermissions', deny: ['Bash(forbidden *)'] })
    fc.assert(
      fc.property(wrapped, (command) => {
        expect(behaviorOf(permissions, command)).toBe('deny')
        expect(behaviorOf(bypassing, command)).toBe('deny')
        expect(permissions.denies(asked(command))).toMatch(/Bash\(forbidden \*\)/)
      }),
      { numRuns: drawn(1000) },
    )
  })

  test('is not allowed by rules for the commands around it', () => {
    const around = ['echo *', 'ls', 'true', 'cat *', 'bash *', 'sh *', 'eval *', 'f', 'timeout *', ':']
    const permissions = createPermissions({ cwd: '/', allow: around.map((rule) => `Bash(${rule})`) })
    const allowing = createPermissions({
      cwd: '/',
      allow: ['Bash(forbidden *)', ...around.map((rule) => `Bash(${rule})`)],
    })
    fc.assert(
      fc.property(wrapped, (command) => {
        expect(behaviorOf(permissions, command)).toBe('ask')
        // The missing rule must be about that command, not about a nesting that was not understood. Quotes in an expansion may ask, whatever they
        // contain.
        const mayAsk = /\$\{y:-.*'/s.test(command)
        expect(behaviorOf(allowing, command)).toMatch(mayAsk ? /^(?:allow|ask)$/ : /^allow$/)
      }),
      { numRuns: drawn(1000) },
    )
  })

  test('never throws or hangs, whatever a model sends', () => {
    const permissions = createPermissions({ cwd: '/', allow: ['Bash(echo *)'], deny: ['Bash(rm *)', 'Read(.env)'] })
    const piece = fc.constantFrom(
      '$(',
      ')',
      '"',
      "'",
      '`',
      '\\',
      '\n',
      '|',
      '&',
      ';',
      '{',
      '}',
      '<<E',
      '((',
      '))',
      '[[',
      ']]',
      'rm',
      ' x ',
      'if',
      'fi',
      '>',
      '<(',
      '$',
      '*',
      '#',
      'E\n',
      '=',
      '~',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), (pieces) => {
        expect(['allow', 'ask', 'deny']).toContain(behaviorOf(permissions, pieces.join('')))
      }),
      { numRuns: drawn(2000) },
    )
  })

  test.each([
    ['$('.repeat(20_000), 'ask'],
    ['echo a;'.repeat(120), 'allow'],
    ['echo a;'.repeat(400), 'ask'],
    ['echo a;'.repeat(200_000), 'ask'],
    [`${'sudo '.repeat(9000)}rm x`, 'ask'],
    [`${'sudo '.repeat(100)}rm x`, 'deny'],
    [`${'nohup '.repeat(150)}rm x`, 'deny'],
    [`${'nohup '.repeat(8000)}rm x`, 'ask'],
    [`cat ${'a '.repeat(20_000)}`, 'ask'],
    [`${'cd a;'.repeat(500)}echo a > b`, 'ask'],
    [`find . ${'-exec a '.repeat(6000)}`, 'ask'],
    ['bash -c "'.repeat(5000), 'ask'],
    [`echo $((${'1+'.repeat(20_000)}1))`, 'ask'],
    [`cd a; cd b; cat ${'a/b/c/d '.repeat(300)}`, 'allow'],
  ])('takes no long time at any size: %#', (command, expected) => {
    const permissions = createPermissions({
      cwd: '/',
      allow: ['Bash(echo *)'],
      deny: ['Bash(rm *)', 'Read(.env)', 'Edit(x)'],
    })
    expect(behaviorOf(permissions, command)).toBe(expected)
  })
})
