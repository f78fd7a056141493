// Tests R-TOOL-22: tool names that services refuse.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { agentTool, ConfigurationError, streamRun, startRun, type AnyTool, type Model } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { reader } from '../support/harness.ts'

const start =
  (tools: readonly AnyTool[], model: Model = scriptedModel(['ok'])) =>
  (): unknown =>
    streamRun(startRun({ prompt: 'go' }), { model, tools })

test.each(['my tool', 'files.read', 'a/b', 'größe', 'a\n', 'x'.repeat(129)])(
  '%j is rejected by its name, with the rule',
  (name) => {
    expect(start([reader(name)])).toThrow(ConfigurationError)
    expect(start([reader('Look'), reader(name)])).toThrow(
      `The tool name ${JSON.stringify(name)} is not allowed. Names of tools are 1 to 128 letters`,
    )
  },
)

test('so is the name of an agent, and of a tool of an agent', () => {
  const agent = (name: string, tools: readonly AnyTool[]) => (): unknown =>
    start([agentTool({ name, description: 'asks', system: 'Look.', tools })])()
  expect(agent('my agent', [])).toThrow('The tool name "my agent" is not allowed.')
  expect(agent('Agent', [reader('my tool')])).toThrow('The tool name "my tool" is not allowed.')
})

test('accepts every name of letters, digits, _ and -, and no other', () => {
  const letters = ['a', 'b', 'z', 'A', 'Z', '0', '9', '_', '-'].map((letter) => fc.constant(letter))
  fc.assert(
    fc.property(fc.array(fc.oneof(...letters), { minLength: 1, maxLength: 128 }), (name) => {
      expect(start([reader(name.join(''))])).not.toThrow()
    }),
  )
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 20 }), (name) => {
      const isTaken = /^[A-Za-z0-9_-]+$/.test(name)
      let thrown: unknown
      try {
        start([reader(name)])()
      } catch (error) {
        thrown = error
      }
      expect(thrown instanceof ConfigurationError).toBe(!isTaken)
    }),
  )
})

test('names a model that accepts only shorter names, wherever it is configured', () => {
  const model: Model = { ...scriptedModel(['ok']), id: 'short', maxToolNameLength: 64 }
  const long = reader('x'.repeat(65))
  const message = `The tool name ${'x'.repeat(65)} has 65 characters, and short takes 64 at most.`
  expect(start([long], model)).toThrow(message)
  expect(start([reader('x'.repeat(64))], model)).not.toThrow()
  const options = { model: scriptedModel(['ok']), fallbackModel: model, tools: [long] }
  expect(() => streamRun(startRun({ prompt: 'go' }), options)).toThrow(message)
})
