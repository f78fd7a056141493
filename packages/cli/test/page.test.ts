import { expect, test } from 'vitest'
import { wrapLines, pageFor } from '../src/io/page.ts'

const bold = (text: string): string => `\u001B[1m${text}\u001B[22m`

test('wraps long lines between words, before the last column', () => {
  expect(wrapLines('Set a key, or start a model on this machine.', 24).split('\n')).toEqual([
    'Set a key, or start a',
    'model on this machine.',
  ])
  expect(wrapLines(`  ${bold('turns')}  1,000  retry limits of all reasons`, 35).split('\n')).toEqual([
    `  ${bold('turns')}  1,000  retry limits of all`,
    '                reasons',
  ])
  expect(wrapLines('short  line\n\n  another', 20)).toBe('short  line\n\n  another')
  expect(wrapLines(`see ${'x'.repeat(30)} now`, 20).split('\n')).toEqual(['see', 'x'.repeat(30), 'now'])
})

test('keeps lines in files and pipes', () => {
  const text = 'Set a key, or start a model on this machine.'
  expect(pageFor({ isTerminal: { stdout: false }, width: 24 }, text)).toBe(text)
  expect(pageFor({ isTerminal: { stdout: true }, width: 24 }, text)).not.toBe(text)
})
