// Tests R-TOOL-17: a call's input is checked once, and again only after a change.
import { describe, expect, test } from 'vitest'
import type { Permissions, Tool } from '../../src/index.ts'
import { calls, hook, resultTexts, run, tick, tool, type RunTestOptions } from '../support/harness.ts'

/** A tool that records each call of its check or its predicate, with the input. */
function counted(isReading: boolean, log: string[]): Tool {
  return {
    ...tool('Odd', (input) => JSON.stringify(input)),
    validate: (input: unknown) => {
      log.push(`validate ${JSON.stringify(input)}`)
      return { valid: true, input: input as never }
    },
    readOnly: (input: unknown) => {
      log.push(`readOnly ${JSON.stringify(input)}`)
      return isReading
    },
  }
}

const call = (n: number) => ({ name: 'Odd', input: { n } })
const once = (...inputs: readonly number[]): readonly string[] =>
  inputs.flatMap((n) => [`validate {"n":${n}}`, `readOnly {"n":${n}}`])
const rules: Permissions = { denies: () => undefined, decide: () => ({ behavior: 'allow' }) }
const asyncRules: Permissions = { ...rules, decide: async () => ({ behavior: 'allow' }) }
const nothing = hook(['beforeToolUse', 'afterToolUse'], () => {})

describe('the check and the predicate of a tool are called once for each call', () => {
  const cases: readonly (readonly [string, RunTestOptions])[] = [
    ['by itself', {}],
    ['with rules', { permissions: rules }],
    ['with async rules', { permissions: asyncRules }],
    ['with hooks', { hooks: [nothing] }],
    ['with rules and hooks', { permissions: rules, hooks: [nothing] }],
    ['one at a time', { toolConcurrency: 1 }],
  ]
  test.each(cases)('%s', async (_how, more) => {
    for (const isReading of [true, false]) {
      const log: string[] = []
      const script = [calls(call(1), call(2), call(3)), 'done']
      const result = await run(script, { tools: [counted(isReading, log)], ...more })
      expect([log.toSorted(), resultTexts(result)]).toEqual([
        once(1, 2, 3).toSorted(),
        ['{"n":1}', '{"n":2}', '{"n":3}'],
      ])
    }
  })

  test('for one that started early', async () => {
    const log: string[] = []
    const script = [{ ...calls(call(1), call(2)), before: tick }, 'done']
    await run(script, { tools: [counted(true, log)] })
    expect(log).toEqual(once(1, 2))
  })

  test('for one that could not start early', async () => {
    const log: string[] = []
    const script = [{ ...calls(call(1), call(2)), before: tick }, 'done']
    await run(script, { tools: [counted(false, log)] })
    expect(log).toEqual(once(1, 2))
  })

  test('and once more for an input that a hook replaced', async () => {
    const log: string[] = []
    const hooks = [hook('beforeToolUse', (context) => context.withToolInput({ n: 7 }))]
    await run([calls(call(1)), 'done'], { tools: [counted(true, log)], hooks, permissions: rules })
    expect(log).toEqual(once(1, 7))
  })

  test('and once more for an input that a rule replaced', async () => {
    const log: string[] = []
    const permissions: Permissions = { ...rules, decide: () => ({ behavior: 'allow', updatedInput: { n: 7 } }) }
    await run([calls(call(1)), 'done'], { tools: [counted(false, log)], permissions })
    expect(log).toEqual(once(1, 7))
  })

  test('when it is due: after the writing call before it', async () => {
    const log: string[] = []
    const write = tool('Write', async () => (await tick(), log.push('written'), 'x'))
    await run([calls('Write', call(1)), 'done'], { tools: [write, counted(false, log)] })
    expect(log).toEqual(['written', ...once(1)])
  })
})

describe('rules are called once for a call that they see while its message streams', () => {
  const asked = (log: string[], permissions: Permissions): Permissions => ({
    denies: (request) => (log.push(`denies ${request.call.id}`), permissions.denies(request)),
    decide: (request) => (log.push(`decide ${request.call.id}`), permissions.decide(request)),
  })
  const ask: Permissions = { ...rules, decide: () => ({ behavior: 'ask', message: 'May I?' }) }
  const throwing: Permissions = { ...rules, decide: () => { throw new Error('no rules') } } // prettier-ignore
  const refusing: Permissions = { ...rules, decide: () => Promise.reject(new Error('no rules')) }

  const both = ['denies c', 'decide c']

  test.each([
    ['allow', rules, both, ['read']],
    ['allow later', asyncRules, both, ['read']],
    ['deny', { ...rules, denies: () => 'no' }, ['denies c'], ['no']],
    ['throw', throwing, both, ['Denied: the permission rules failed: no rules']],
    ['reject', refusing, both, ['Denied: the permission rules failed: no rules']],
    ['ask', ask, both, []],
  ] as const)('and %s', async (_what, permissions, questions, texts) => {
    const log: string[] = []
    const script = [{ ...calls({ name: 'Read', id: 'c' }), before: tick }, 'done']
    const runOptions = { tools: [tool('Read', 'read', { readOnly: true })], permissions: asked(log, permissions) }
    expect([resultTexts(await run(script, runOptions)), log]).toEqual([texts, questions])
  })
})
