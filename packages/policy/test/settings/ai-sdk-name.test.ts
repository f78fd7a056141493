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

test('a name is read as it was made, whatever slashes and colons the model has', () => {
  fc.assert(
    fc.property(packageName, model, (name, named) => {
      const written = aiSdkNameOf({ package: name, model: named })
      expect(isAiSdkName(written)).toBe(true)
      expect(parseAiSdkName(written)).toEqual({ package: name, model: named })
    }),
  )
})

test('a package that is read is one plain name, and leads nowhere', () => {
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

describe('a name that is not one says what to write', () => {
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
