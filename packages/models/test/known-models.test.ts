import { describe, expect, test } from 'vitest'
import { contextWindowOf, knownModels, modelAliases, modelFromEnvironment, withoutAlias } from '../src/index.ts'

describe('the context window of a model', () => {
  test('is found by its name, as in the list of models', () => {
    const all = knownModels()
    expect(all.map(({ name }) => contextWindowOf(name))).toEqual(all.map(({ contextWindow }) => contextWindow))
    expect(contextWindowOf('nobody-knows-it')).toBeUndefined()
  })
})

describe('short names', () => {
  test('mean the newest known model of their family', () => {
    const names = knownModels().map(({ name }) => name)
    for (const [family, name] of Object.entries(modelAliases())) {
      const rivals = names.flatMap((one) => {
        const version = new RegExp(`^claude-${family}-(\\d{1,3})(?:-(\\d{1,3}))?$`).exec(one)
        return version === null ? [] : [{ one, rank: Number(version[1]) * 1_000 + Number(version[2] ?? 0) }]
      })
      expect(name).toBe(rivals.toSorted((a, b) => b.rank - a.rank)[0]?.one)
    }
  })

  test('can be requested', () => {
    const { id } = modelFromEnvironment('Sonnet', { ANTHROPIC_API_KEY: 'k' })
    expect(id).toBe(modelAliases().sonnet)
    expect(modelFromEnvironment(undefined, { ANTHROPIC_API_KEY: 'k', ANTHROPIC_MODEL: 'opus' }).id).toBe(
      modelAliases().opus,
    )
  })

  test('leave any other name unchanged', () => {
    expect(['claude-opus-4-5', 'gpt-5', 'sonnet-5'].map(withoutAlias)).toEqual(['claude-opus-4-5', 'gpt-5', 'sonnet-5'])
  })
})

test('lists only models that can be requested by name', () => {
  const env = new Proxy<Record<string, string>>(
    {},
    { get: (_, name) => (String(name).endsWith('_KEY') ? 'k' : undefined) },
  )
  const models = knownModels()
  expect(models.length).toBeGreaterThan(100)
  for (const { name, contextWindow } of models)
    expect(modelFromEnvironment(name, env).contextWindow).toBe(contextWindow)
})
