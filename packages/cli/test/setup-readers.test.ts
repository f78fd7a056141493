// Holds rules of docs/spec: R-SETUP-4a: what reads the settings of other agents takes whatever they hold.
import { assert, constantFrom, jsonValue, property, string } from 'fast-check'
import { keyVariablesOf, knownModels } from '@halting/models'
import { describe, expect, test } from 'vitest'
import { parseJsonc } from '../src/setup/other-agents.ts'
import { defaultModels } from '../src/setup/keys.ts'
import { readTomlTexts } from '../src/setup/toml-texts.ts'

describe('JSON with comments', () => {
  test('parses every JSON text, also with comments and commas between its parts', () => {
    assert(
      property(jsonValue(), constantFrom('', '// "x', '/* "y\n] */'), (value, comment) => {
        const text = JSON.stringify({ value }, undefined, 2)
        expect(parseJsonc(text)).toEqual(JSON.parse(text))
        expect(parseJsonc(`${comment}\n${text.replace(/\n\}$/, `, ${comment}\n}`)}`)).toEqual(JSON.parse(text))
      }),
    )
  })

  test.each(['', '{', '/*', '//', '"', '{"a": /* }', '\\', `"${'\\"'.repeat(300_000)}`, '/*'.repeat(300_000), '['.repeat(300_000)])(
    'returns undefined quickly for invalid text: %#',
    (text) => expect(parseJsonc(text)).toBeUndefined(),
  ) // prettier-ignore
})

describe('TOML', () => {
  test('reads strings by their full names, and tables', () => {
    const text = [
      'model = "gpt-5.5" # comment',
      "profile='work'",
      'n = 7',
      'instructions = """',
      'model = "not this"',
      '"""',
      '[profiles.work]',
      'model = "o3"',
      'model = "second"',
      '[mcp_servers."a b"] # x',
      'command = "say \\"hi\\""',
      '[[list]]',
      'broken = "',
    ].join('\r\n')
    expect(readTomlTexts(text)).toEqual({
      texts: new Map([
        ['model', 'gpt-5.5'],
        ['profile', 'work'],
        ['profiles.work.model', 'o3'],
        ['mcp_servers.a b.command', 'say "hi"'],
      ]),
      tables: ['profiles.work', 'mcp_servers.a b'],
    })
  })

  test('reads any content', () => {
    assert(
      property(string({ unit: 'binary' }), (text) => {
        for (const said of readTomlTexts(text).texts.values()) expect(typeof said).toBe('string')
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
