// Tests R-RES-10, R-RES-11: recorded calls in a program that would handle them differently.
import { describe, expect, test } from 'vitest'
import { resume, type AgentTool, type RunOptions, type Permissions, type StepRecord } from '../../src/index.ts'
import { CostLimitHook } from '../../src/compat/index.ts'
import { createFakeClock, scriptedModel, transcriptProblems, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, hook, json, reader, resultTexts, tool } from '../support/harness.ts'
import { killedBefore, killedBeforeIteration } from '../support/kill-process.ts'
import { notRunReasons } from '../../src/tools/result-texts.ts'

/** A first turn with these calls, and an answer. */
const asking =
  (...names: readonly string[]) =>
  ({ messages }: { readonly messages: readonly { readonly role: string }[] }): ScriptedReply =>
    messages.some(({ role }) => role === 'assistant') ? 'done' : calls(...names)

/** The calls that the tools have executed so far. */
function world(names: readonly string[]) {
  const ran: string[] = []
  const doing = (name: string) => tool(name, () => (ran.push(name), `did ${name}`))
  const options = (more: Partial<RunOptions> = {}): RunOptions => ({
    model: scriptedModel(asking(...names)),
    clock: createFakeClock({ autoAdvance: true }),
    tools: [doing('First'), doing('Second'), reader('Look', () => (ran.push('Look'), 'did Look'))],
    ...more,
  })
  return { ran, options }
}

async function resumeRun(records: readonly StepRecord[], options: RunOptions) {
  const { terminal, state } = await resume(records, options).loop.ended
  expect(transcriptProblems(state.transcript.messages())).toEqual([])
  return { terminal, results: resultTexts({ state: { ...state, startLength: 0 } }) }
}

const resultOf = (index: number) => (record: StepRecord) =>
  record.type === 'result' && record.key.startsWith(`run1/tool:1:${index}:`)
const deny = (name: string) => hook('beforeToolUse', (context) => context.withBlocked('no'), { tools: [name] })
const stop = (name: string) =>
  hook('afterToolUse', (context) => context.withContinuationPrevented('enough'), { tools: [name] })

describe('a call before a recorded one', () => {
  test('that a hook had denied is not run when the hook is gone', async () => {
    const { ran, options } = world(['First', 'Second'])
    const records = await killedBeforeIteration(1, options({ hooks: [deny('First')] }))
    expect(ran).toEqual(['Second'])
    const { results } = await resumeRun(records, options())
    expect([ran, results]).toEqual([['Second'], [expect.stringContaining(notRunReasons.skipped), 'did Second']])
    expect((await resumeRun(records, options({ hooks: [deny('First')] }))).results).toEqual(['no', 'did Second'])
  })

  test('does not stop it, whatever a new hook or error policy decides', async () => {
    const { ran, options } = world(['Fail', 'Second'])
    const { tools = [] } = options()
    const failing = tool('Fail', () => { throw new Error('it failed') }) // prettier-ignore
    const records = await killedBeforeIteration(1, options({ tools: [...tools, failing] }))
    for (const more of [{ hooks: [stop('Fail')] }, { errorPolicy: () => true }]) {
      const { results, terminal } = await resumeRun(records, options(more))
      expect([ran, results, terminal.reason]).toEqual([['Second'], ['it failed', 'did Second'], 'completed'])
    }
  })

  test('that now needs a person did not then', async () => {
    const { ran, options } = world(['First', 'Second'])
    const records = await killedBeforeIteration(1, options())
    const permissions: Permissions = { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'may I?' }) }
    const { results, terminal } = await resumeRun(records, options({ permissions }))
    expect([ran, results, terminal.reason]).toEqual([['First', 'Second'], ['did First', 'did Second'], 'completed'])
  })
})

describe('parallel calls', () => {
  test('of which one had ended: the others continue as they were allowed, and run again where they may', async () => {
    const { ran, options } = world(['Look', 'Look', 'Look'])
    const records = await killedBefore(resultOf(1), options())
    expect(records.filter(({ type }) => type === 'intent')).toHaveLength(4)
    ran.length = 0
    const permissions: Permissions = {
      denies: () => 'a new rule',
      decide: () => ({ behavior: 'deny', message: 'a new rule' }),
    }
    const { results } = await resumeRun(records, options({ permissions, hooks: [deny('Look')] }))
    expect([ran.length, results]).toEqual([2, ['did Look', 'did Look', 'did Look']])
  })
})

describe('a recorded approval', () => {
  const asks: Permissions = { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'may I?' }) }

  test('counts for a program that no longer asks anybody', async () => {
    const { ran, options } = world(['First'])
    const waiting = options({ permissions: asks, onAsk: 'wait' })
    const records: StepRecord[] = []
    // A person approves; then the process dies with the result on record.
    const { streamRun, startRun, createMemorySteps } = await import('../../src/index.ts')
    const steps = createMemorySteps({
      clock: waiting.clock!,
      onRecord: (record) => void records.push(json(record) as unknown as StepRecord),
    })
    const running = streamRun(startRun({ prompt: 'go' }), { ...waiting, steps })
    for await (const event of running) {
      if (event.type === 'approval_needed' && event.key !== null) running.answer(event.key, { behavior: 'allow' })
      if (event.type === 'tool_end') break
    }
    const iterationIndex = records.findIndex(({ type }) => type === 'lap')
    const cut = records.findIndex(resultOf(0)) + 1
    expect([ran, cut > 0, iterationIndex === -1 || iterationIndex >= cut]).toEqual([['First'], true, true])
    const { results, terminal } = await resumeRun(records.slice(0, cut), options({ permissions: asks, onAsk: 'end' }))
    expect([ran, results, terminal.reason]).toEqual([['First'], ['did First'], 'completed'])
  })
})

describe('a recorded subagent', () => {
  const agent: AgentTool = {
    name: 'First',
    description: 'a subagent',
    inputSchema: { type: 'object' },
    readOnly: true,
    spawn: () => ({ prompt: 'sub' }),
  }
  const both = ({
    messages,
  }: {
    readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  }): ScriptedReply => {
    const turn = messages.filter(({ role }) => role === 'assistant').length
    if (messages[0]?.content === 'go') return turn === 0 ? calls('First') : 'done'
    return turn < 3 ? calls('Second') : 'found'
  }
  const program = () => {
    const { ran, options } = world([])
    const { tools = [] } = options()
    const runOptions = (more: Partial<RunOptions> = {}) =>
      options({ model: scriptedModel(both), tools: [agent, ...tools.slice(1)], ...more })
    return { ran, options: runOptions, leaf: tools[0]! }
  }
  const killedInLastAnswer = (options: RunOptions) =>
    killedBefore((record) => record.type === 'intent' && record.key.endsWith('/model:4.1'), options)

  test.each<[string, Partial<RunOptions>, string]>([
    ['fewer turns', { maxTurns: 2 }, 'Reached maximum number of turns (2)'],
    ['no subagents left', { maxSubagents: 0 }, 'found'],
  ])('reaches its end with %s', async (_what, more, ended) => {
    const { ran, options } = program()
    const records = await killedInLastAnswer(options())
    expect(ran).toEqual(['Second', 'Second', 'Second'])
    const { results } = await resumeRun(records, options(more))
    expect([ran.length, results]).toEqual([3, [expect.stringContaining(ended)]])
  })

  test('is shown to new hooks from its first live step', async () => {
    const { options } = program()
    const records = await killedInLastAnswer(options())
    const asked: string[] = []
    const watching = hook(
      ['beforeStep', 'afterInference', 'beforeToolUse', 'afterToolUse', 'afterStep'],
      (context) => void asked.push(`${context.state().agentId === 'main' ? 'main' : 'child'} ${context.trigger}`),
    )
    await resumeRun(records, options({ hooks: [watching] }))
    const ofChild = asked.filter((each) => each.startsWith('child'))
    expect(ofChild).toEqual(['child afterToolUse', 'child afterStep', 'child beforeStep', 'child afterInference'])
  })

  test.each<[string, Partial<RunOptions>, number]>([
    // The main loop asked twice, the subagent three times.
    ['a limit on turns', { maxTurns: 2 }, 5],
    ['a guard', { stopWhen: new CostLimitHook(2) }, 4],
  ])('is paid in full when it is stopped by a new component: %s', async (_what, more, costUsd) => {
    const { options } = program()
    const prices = { cost: () => 1, worstCase: () => 2 }
    const records = await killedInLastAnswer(options({ prices }))
    const { terminal } = await resumeRun(records, options({ prices, ...more }))
    expect(terminal.costUsd).toBe(costUsd)
  })

  test('whose tool is gone, or of another kind, is reported as unknown: nothing runs in its place', async () => {
    const { ran, options, leaf } = program()
    const prices = { cost: () => 1, worstCase: () => 2 }
    const records = await killedInLastAnswer(options({ prices }))
    const { tools = [] } = options()
    const nowhere: AgentTool = {
      ...agent,
      spawn() {
        throw new Error('There is no such agent. Nothing was run.')
      },
    }
    for (const others of [tools.slice(1), [leaf, ...tools.slice(1)], [nowhere, ...tools.slice(1)]]) {
      const { results, terminal } = await resumeRun(records, options({ prices, tools: others }))
      expect([ran.length, results]).toEqual([3, [expect.stringContaining('The outcome of this call is unknown')]])
      // Two turns of the main loop and three of the agent: they are paid, whichever program can continue.
      expect([terminal.costUsd, Object.values(terminal.summary.modelUsage).map(({ costUsd }) => costUsd)]).toEqual([
        5,
        [5],
      ])
    }
  })

  test('a leaf call whose tool now starts subagents keeps its result', async () => {
    const { ran, options, leaf } = program()
    const { tools = [] } = options()
    const records = await killedBeforeIteration(1, options({ tools: [leaf, ...tools.slice(1)] }))
    const { results } = await resumeRun(records, options())
    expect([ran, results]).toEqual([['First'], ['did First']])
  })
})

describe('recorded attempts', () => {
  test('remain when the resume has fewer retries, or a fallback model', async () => {
    const busy: ScriptedReply = { error: { kind: 'overloaded', message: 'busy', status: 529 } }
    const { ran, options } = world(['First'])
    const model = scriptedModel((request, index) => (index < 2 ? busy : asking('First')(request)))
    const records = await killedBeforeIteration(1, options({ model }))
    for (const more of [
      { maxRetries: 0 },
      { maxRetries: 0, fallbackModel: scriptedModel(['never'], { id: 'fallback' }) },
    ]) {
      const { results, terminal } = await resumeRun(records, options(more))
      expect([ran, results, terminal.reason]).toEqual([['First'], ['did First'], 'completed'])
    }
  })
})
