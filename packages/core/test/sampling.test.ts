// Tests R-REQ-15 to R-REQ-15b: the options for sampling, required tools, and the length of a reply.
import { describe, expect, test } from 'vitest'
import {
  agentTool,
  ConfigurationError,
  createMemorySteps,
  QueryEngine,
  replay,
  resume,
  type RunOptions,
} from '../src/index.ts'
import { scriptedModel, type ScriptedReply } from '../src/testing/index.ts'
import { begin, calls, reader, run, type RunTestOptions } from './support/harness.ts'
import { killedAfter } from './support/kill-process.ts'

const tools = [reader('Look'), reader('Other')]
const twice: readonly ScriptedReply[] = [calls('Look'), calls('Look'), 'answer']

async function requestsOf(options: RunTestOptions, script: readonly ScriptedReply[] = twice) {
  const { model, terminal } = await run([...script], { tools, ...options })
  return { requests: model.requests, reason: terminal.reason }
}

describe('sampling', () => {
  test('is in every request of the run, and absent by default', async () => {
    const sampling = { temperature: 0, topP: 0.5, stopSequences: ['END'], seed: 7 }
    const { requests } = await requestsOf(sampling)
    expect(requests.map((request) => request.sampling)).toEqual([sampling, sampling, sampling])
    const plain = await requestsOf({})
    expect(
      plain.requests.map((request) => [Object.hasOwn(request, 'sampling'), Object.hasOwn(request, 'toolChoice')]),
    ).toEqual(plain.requests.map(() => [false, false]))
  })

  test('applies to subagents, without stop sequences and tool choices', async () => {
    const agent = agentTool({ name: 'Ask', description: 'asks', spawn: () => ({ prompt: 'look' }) })
    const runOptions = { temperature: 0.2, stopSequences: ['END'], toolChoice: 'required' as const, tools: [agent] }
    const { requests } = await requestsOf(runOptions, [calls('Ask'), 'found', 'answer'])
    expect(requests.map(({ sampling, toolChoice }) => [sampling, toolChoice])).toEqual([
      [{ temperature: 0.2, stopSequences: ['END'] }, 'required'],
      [{ temperature: 0.2 }, undefined],
      [{ temperature: 0.2, stopSequences: ['END'] }, undefined],
    ])
  })

  test('is not on record: a resumed run has that of its new options', async () => {
    const steps = createMemorySteps()
    const model = scriptedModel([...twice])
    await begin([], { model, tools, steps, temperature: 1 }).end()
    const again = await replay(steps.records, { model, tools, temperature: 0, toolChoice: { tool: 'Look' } })
    expect(again.terminal.reason).toBe('completed')
    const plain = createMemorySteps()
    await begin([...twice], { tools, steps: plain }).end()
    expect(digestsIn(steps.records)).toEqual(digestsIn(plain.records))
  })
})

function digestsIn(records: readonly object[]): readonly unknown[] {
  return records.flatMap((record) => ('digest' in record ? [record.digest] : []))
}

describe('a tool that must be called', () => {
  test.each<[NonNullable<RunOptions['toolChoice']>, readonly unknown[]]>([
    ['required', ['required', undefined, undefined]],
    [{ tool: 'Other' }, [{ tool: 'Other' }, undefined, undefined]],
    ['auto', ['auto', 'auto', 'auto']],
    ['none', ['none', 'none', 'none']],
  ])('%j', async (toolChoice, expected) => {
    const { requests, reason } = await requestsOf({ toolChoice })
    expect([requests.map((request) => request.toolChoice), reason]).toEqual([expected, 'completed'])
  })

  test('is required until one was called, and the run ends by itself', async () => {
    // A service that ignores the requirement: the answer still ends the run.
    const { requests, reason } = await requestsOf({ toolChoice: 'required' }, ['answer'])
    expect([requests.length, reason]).toEqual([1, 'completed'])
    const cut: ScriptedReply = { text: 'half', stopReason: 'max_tokens' }
    const recovered = await requestsOf({ toolChoice: 'required' }, [cut, calls('Look'), 'answer'])
    expect(recovered.requests.map((request) => request.toolChoice)).toEqual(['required', 'required', undefined])
  })

  test('is required anew in the next run of a session', async () => {
    const model = scriptedModel([calls('Look'), 'one', calls('Look'), 'two'])
    const engine = new QueryEngine({ model, tools, toolChoice: 'required' })
    for await (const _ of engine.submit('go')) void _
    for await (const _ of engine.submit('on')) void _
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(['required', undefined, 'required', undefined])
  })

  test('is not required in a last answer', async () => {
    const { requests } = await requestsOf({ toolChoice: 'required', maxTurns: 1, wrapUp: true }, [
      calls('Look'),
      'last',
    ])
    expect(requests.map((request) => request.toolChoice)).toEqual(['required', 'none'])
  })

  test('is required after a kill at any record when no tool was called', async () => {
    const options = { tools, toolChoice: 'required' as const }
    const whole = createMemorySteps()
    await begin([...twice], { ...options, steps: whole }).end()
    for (let recordCount = 1; recordCount < whole.records.length; recordCount++) {
      const records = await killedAfter(recordCount, { ...options, model: scriptedModel([...twice]) })
      const wasCalled = JSON.stringify(records).includes('tool_use')
      const model = scriptedModel((request) => (request.toolChoice === 'required' ? calls('Look') : 'answer'))
      const { reason } = await resume(records, { ...options, model }).loop.result
      const first = model.requests[0]?.toolChoice
      expect([reason, first]).toEqual(['completed', wasCalled || first === undefined ? undefined : 'required'])
    }
  })
})

test('a reply has at most the tokens of the option, even after it was truncated', async () => {
  const cut: ScriptedReply = { text: 'half', stopReason: 'max_tokens' }
  const model = scriptedModel([cut, cut, 'rest'], { maxOutputTokens: 8_000, defaultOutputTokens: 4_000 })
  await run([], { model, maxOutputTokens: 5_000 })
  expect(model.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([4_000, 5_000, 5_000])
  const short = scriptedModel(['all'], { maxOutputTokens: 8_000 })
  await run([], { model: short, maxOutputTokens: 300 })
  expect(short.requests[0]?.maxOutputTokens).toBe(300)
})

test.each<[object, string]>([
  [{ temperature: -1 }, 'temperature must be a number from 0 to 2, but it is -1.'],
  [{ temperature: Number.NaN }, 'temperature must be a number from 0 to 2'],
  [{ topP: 0 }, 'topP must be a number above 0 and at most 1, but it is 0.'],
  [{ stopSequences: 'END' }, 'stopSequences must be a list'],
  [{ stopSequences: [''] }, 'must be a text that is not empty'],
  [{ seed: 0.5 }, 'seed must be a whole number, but it is 0.5.'],
  [{ maxOutputTokens: 0 }, 'maxOutputTokens must be a whole number of tokens above 0'],
  [{ toolChoice: 'any' }, `toolChoice must be 'auto', 'none', 'required' or { tool: 'name' }, but it is "any".`],
  [{ toolChoice: { tool: 'Gone' } }, 'toolChoice names the tool Gone, but there is Look, Other.'],
  [{ toolChoice: 'required', tools: [] }, 'toolChoice requires a call, but there are no tools.'],
])('%j is rejected', (options, message) => {
  const start = (): unknown => begin([], { tools, ...options })
  expect(start).toThrow(ConfigurationError)
  expect(start).toThrow(message)
})
