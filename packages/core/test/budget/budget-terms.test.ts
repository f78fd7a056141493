// Tests R-STAND-10a and R-STAND-23a: how standing budgets are distinguished, and which models each one counts.
import { expect, test } from 'vitest'
import { budgetName, countsModel, type BudgetTerms } from '../../src/limits/standing-budgets.ts'

test.each<[BudgetTerms, string]>([
  [{ per: 'day', usd: 20 }, '$20 a day'],
  [{ per: 'month', usd: 0.5 }, '$0.50 a month'],
  [{ per: 'day', usd: 0.125 }, '$0.125 a day'],
  [{ per: 'day', usd: 1e-9 }, '$0.000000001 a day'],
  [{ per: 'day', usd: Infinity }, '$Infinity a day'],
  [{ per: 'month', usd: 5, model: 'claude-opus-*', folder: '~/work/x' }, '$5 a month for claude-opus-* in ~/work/x'],
])('names %j as %s', (terms, name) => {
  expect(budgetName(terms)).toBe(name)
})

test.each([
  [undefined, 'claude-opus-5', true],
  ['claude-opus-*', 'claude-opus-5', true],
  ['claude-opus-*', 'claude-haiku-5', false],
  ['*opus*', 'claude-opus-5', true],
  ['a*a', 'a', false],
  ['a*b*b', 'ab', false],
  ['m', 'mm', false],
  ['*', '', true],
  ['gpt-*', 'openai/gpt-5', true],
  ['claude-opus-*', 'openrouter/anthropic/claude-opus-5', true],
  ['gpt-*', 'openrouter/anthropic/claude-opus-5', false],
  ['openrouter/*', 'openrouter/anthropic/claude-opus-5', true],
  ['openrouter/claude-*', 'openrouter/anthropic/claude-opus-5', false],
  ['openai/gpt-*', 'gpt-5', false],
])('a budget for %s counts %s: %s', (model, name, counts) => {
  expect(countsModel({ model }, name)).toBe(counts)
})
