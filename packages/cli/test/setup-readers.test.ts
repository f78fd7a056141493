// Holds rules of docs/spec: R-SETUP-4a: what reads the settings of other agents takes whatever they hold.
import { assert, constantFrom, jsonValue, property, string } from 'fast-check'
import { keyVariablesOf, knownModels } from '@halting/models'
import { describe, expect, test } from 'vitest'
import { jsoncValue, tomlObject } from '../src/setup/other-agents.ts'
import { defaultModels } from '../src/setup/keys.ts'

describe('JSON with comments', () => {
  test('parses every JSON text, also with comments and commas between its parts', () => {
    assert(
      property(jsonValue(), constantFrom('', '// "x', '/* "y\n] */'), (value, comment) => {
        const text = JSON.stringify({ value }, undefined, 2)
        expect(jsoncValue(text)).toEqual(JSON.parse(text))
        expect(jsoncValue(`${comment}\n${text.replace(/\n\}$/, `, ${comment}\n}`)}`)).toEqual(JSON.parse(text))
      }),
    )
  })

  test.each(['', '{', '/*', '//', '"', '{"a": /* }', '\\', `"${'\\"'.repeat(300_000)}`, '/*'.repeat(300_000), '['.repeat(300_000)])(
    'returns undefined quickly for invalid text: %#',
    (text) => expect(jsoncValue(text)).toBeUndefined(),
  ) // prettier-ignore
})

describe('TOML', () => {
  test('reads tables, profiles and quoted names', () => {
    const text = [
      'model = "gpt-5.5" # comment',
      'instructions = """',
      'model = "not this"',
      '"""',
      '[profiles.work]',
      "model = 'o3'",
      '[mcp_servers."a b"] # x',
      'command = "say \\"hi\\""',
      '[mcp_servers]',
      'inline = { command = "x" }',
    ].join('\r\n')
    expect(tomlObject(text)).toEqual({
      model: 'gpt-5.5',
      instructions: 'model = "not this"\r\n',
      profiles: { work: { model: 'o3' } },
      mcp_servers: { 'a b': { command: 'say "hi"' }, inline: { command: 'x' } },
    })
  })

  test.each(['model = "a"\nmodel = "b"', 'broken = "', '[[list]', `a = ${'['.repeat(100_000)}`, `a${'.a'.repeat(100_000)} = 1`])(
    'returns undefined or an object for unusual text: %#',
    (text) => expect(['undefined', 'object']).toContain(typeof tomlObject(text)),
  ) // prettier-ignore

  test('never throws', () => {
    assert(
      property(string({ unit: 'binary' }), (text) => {
        expect(['undefined', 'object']).toContain(typeof tomlObject(text))
      }),
    )
  })
})

test('knows the default models, and their services find a key', () => {
  const known = new Set(knownModels().map(({ name }) => name))
  for (const [service, model] of Object.entries(defaultModels)) {
    expect(keyVariablesOf(model ?? `${service}/any`)).not.toEqual([])
    const isKnown = model === undefined || known.has(model) || known.has(`openai/${model}`)
    expect([model, isKnown]).toEqual([model, true])
  }
})
