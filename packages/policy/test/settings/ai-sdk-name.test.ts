// Holds rules of docs/spec: R-PROV-1, R-PROV-2.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aiSdkNameOf, isAiSdkName, parseAiSdkName } from '../../src/settings/ai-sdk-name.ts'

const word = fc.stringMatching(/^[a-z\d][a-z\d.-]{0,12}$/).filter((text) => text !== 'node_modules')
const packageName = fc.oneof(
  word,
  fc.tuple(word, word).map(([scope, name]) => `@${scope}/${name}`),
)
const model = fc.stringMatching(/^[\w:/.@-]{1,40}$/)

test('parses a name that it has formatted, with any slashes and colons in the model', () => {
  fc.assert(
    fc.property(packageName, model, (name, named) => {
      const written = aiSdkNameOf({ package: name, model: named })
      expect(isAiSdkName(written)).toBe(true)
      expect(parseAiSdkName(written)).toEqual({ package: name, model: named })
    }),
  )
})

test('parses a package only if it is one plain name that leads nowhere', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('.', '/', '\\', '@', ':', 'a', 'b', '-', '~', '%'), maxLength: 20 }),
      (text) => {
        let read: ReturnType<typeof parseAiSdkName>
        try {
          read = parseAiSdkName(`ai-sdk:${text}`)
        } catch {
          return
        }
        expect(read.package.split('/')).not.toContain('..')
        expect(read.package).toMatch(/^(?:@[\w~-][\w.~-]*\/)?[\w~-][\w.~-]*$/)
      },
    ),
  )
})

describe('an invalid name gets advice on what to write', () => {
  test.each([
    ['ai-sdk:../evil/m', 'paths and URLs are not accepted'],
    ['ai-sdk:@ai-sdk/../m', 'paths and URLs are not accepted'],
    ['ai-sdk:/abs/m', 'paths and URLs are not accepted'],
    ['ai-sdk:./here/m', 'paths and URLs are not accepted'],
    ['ai-sdk:https://example.com/m', 'paths and URLs are not accepted'],
    ['ai-sdk:file:x/m', 'paths and URLs are not accepted'],
    ['ai-sdk:', 'paths and URLs are not accepted'],
    ['ai-sdk:node_modules/m', 'paths and URLs are not accepted'],
    ['ai-sdk:@ai-sdk/xai', 'does not name a model. Write ai-sdk:@ai-sdk/xai/MODEL'],
    ['ai-sdk:@ai-sdk/xai/', 'does not name a model'],
    ['ai-sdk:groq', 'does not name a model'],
    ['ai-sdk:groq/ x', 'does not name a model'],
  ])('%s', (name, says) => {
    expect(() => parseAiSdkName(name)).toThrow(says)
  })
})
