// Tests R-VERI-1 to R-VERI-7, R-ORD-5a.
import { describe, expect, test } from 'vitest'
import {
  type AgentTool,
  createMemorySteps,
  QueryEngine,
  run as runAgent,
  startRun,
  type FileWork,
  type Permissions,
  type RunOptions,
  type StopHook,
  type Verification,
} from '../../src/index.ts'
import { lastAnswer } from '../../src/entries/adapters.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { verifyRequest } from '../../src/run/turn-texts.ts'
import {
  begin,
  calls,
  dollarATokenPrices,
  hook,
  run,
  loopMessages,
  subagent,
  tool,
  type RunTestOptions,
} from '../support/harness.ts'

const lines = (changedLines: number): FileWork => ({ changedLines })
const check = (passed: boolean, command = 'npm test'): FileWork => ({ check: { command, passed } })

/** A tool whose calls had these effects on files, in order; the last one repeats. */
const toolDoing = (name: string, ...work: readonly FileWork[]) => {
  let count = 0
  return tool(name, () => ({ content: 'done', fileWork: work[Math.min(count++, work.length - 1)] ?? {} }))
}

const asks: Verification = { mode: 'ask', checks: () => ['npm test'] }
const tools = [toolDoing('Edit', lines(12)), toolDoing('Test', check(true)), toolDoing('Fail', check(false, 'make'))]
const question = verifyRequest(12, 'npm test')
const runOptions: RunTestOptions = { tools, verification: asks }

/** The run, with its answer and how often the model was asked to verify. */
async function verified(
  script: readonly ScriptedReply[],
  more: RunTestOptions = {},
  start?: Parameters<typeof run>[2],
) {
  const ended = await run([...script], { ...runOptions, ...more }, start)
  const asked = ended.transitions.filter((transition) => transition === 'unverified_change').length
  const { reason, verified: isVerified } = ended.terminal
  return { ...ended, asked, text: lastAnswer(ended.state), short: [reason, asked, lastAnswer(ended.state), isVerified] }
}

describe('an answer after an unchecked change', () => {
  test('is sent back once, and stays the answer', async () => {
    const ended = await verified([calls('Edit'), 'Fixed.', 'Only a comment changed.'])
    expect(ended.short).toEqual(['completed', 1, 'Fixed.', false])
    expect([ended.transitions, loopMessages(ended)]).toEqual([['next_turn', 'unverified_change'], [['loop', question]]])
    expect([ended.terminal.signal.message, ended.terminal.summary.turns]).toEqual(['The model gave its answer', 3])
  })

  test('is replaced by the answer after a tool call', async () => {
    const { short } = await verified([calls('Edit'), 'Fixed.', calls('Test'), 'Fixed, and the tests pass.'])
    expect(short).toEqual(['completed', 1, 'Fixed, and the tests pass.', true])
  })

  test('is not asked about twice, whatever the model changes after the question', async () => {
    const { short } = await verified([calls('Edit'), 'One.', calls('Edit'), 'Two.', calls('Edit'), 'Three.'])
    expect(short).toEqual(['completed', 1, 'Two.', false])
  })

  test.each<[string, readonly ScriptedReply[], boolean | string]>([
    ['a check has passed since', [calls('Edit'), calls('Test'), 'Fixed.'], true],
    ['one call ran the check after its change', [calls('Both'), 'Fixed.'], true],
    ['nothing was changed', [calls('Fail'), 'Nothing to do.'], 'nothing changed'],
    ['fewer than three lines were changed since', [calls('Two'), 'Fixed.'], false],
    ['few lines were changed after a check', [calls('Edit'), calls('Test'), calls('Two'), 'Fixed.'], false],
  ])('is not asked about when %s', async (_name, script, isVerified) => {
    const both = toolDoing('Both', { ...lines(12), ...check(true) })
    const { asked, terminal } = await verified(script, { tools: [...tools, both, toolDoing('Two', lines(2))] })
    expect([terminal.reason, asked, terminal.verified]).toEqual(['completed', 0, isVerified])
  })

  test('is asked about when the check failed, by the check that ran', async () => {
    const ended = await verified([calls('Edit'), calls('Fail'), 'Fixed.', 'It fails for another reason.'])
    expect(loopMessages(ended)).toEqual([['loop', verifyRequest(12, 'make')]])
    expect(ended.short).toEqual(['completed', 1, 'Fixed.', false])
  })

  test('counts lines of all changes since the last check that passed', async () => {
    const ended = await verified([calls('Edit'), calls('Test'), calls('Edit'), calls('Edit'), 'Fixed.', 'No.'])
    expect(loopMessages(ended)).toEqual([['loop', verifyRequest(24, 'npm test')]])
  })
})

describe('no question is asked', () => {
  const script = [calls('Edit'), 'Fixed.'] as const
  const planning: Permissions = {
    modes: ['plan'],
    denies: () => undefined,
    decide: () => ({ behavior: 'allow' }),
    isPlanning: () => true,
  }
  const isMet = [{ name: 'npm test', check: () => ({ met: true }) }]
  const fits = { jsonSchema: { type: 'object' }, check: (value: unknown) => ({ fits: true as const, value }) }
  // `undefined` is what a program without the option passes.
  const withoutOption = { verification: undefined } as unknown as RunTestOptions
  test.each<[string, RunTestOptions, boolean | undefined]>([
    ['without the option', withoutOption, undefined],
    ['when only the result should report it', { verification: { mode: 'tell' } }, false],
    ['where no check is known', { verification: { mode: 'ask' } }, false],
    ['when the project names none', { verification: { mode: 'ask', checks: () => [] } }, false],
    [
      'when naming the checks throws',
      { verification: { mode: 'ask', checks: () => Promise.reject(new Error('no')) } },
      false,
    ],
    ['in a mode that only plans', { permissions: planning }, false],
    ['under goals, which are a check', { until: isMet }, true],
    ['under an output schema', { output: fits }, false],
    ['with one turn left', { maxTurns: 3 }, false],
    ['with no tool call left', { maxToolCalls: 1 }, false],
  ])('%s', async (_name, more, isVerified) => {
    const { terminal, asked, model } = await verified(script, more)
    expect([terminal.reason, asked, model.requests.length]).toEqual(['completed', 0, 2])
    expect(terminal.verified).toBe(isVerified)
  })

  test('the model is asked with two turns left, and may still check and answer', async () => {
    const { short } = await verified([calls('Edit'), 'Fixed.', calls('Test'), 'Checked.'], { maxTurns: 4 })
    expect(short).toEqual(['completed', 1, 'Checked.', true])
  })

  test('requested names are asked for once, and only when everything else is fine', async () => {
    let times = 0
    const verification: Verification = { mode: 'ask', checks: () => [String(++times)] }
    await verified([calls('Test'), 'Fine.'], { verification })
    await verified([calls('Edit'), calls('Fail'), 'Fixed.', 'No.'], { verification })
    expect(times).toBe(0)
    const ended = await verified([calls('Edit'), 'Fixed.', 'No.'], { verification })
    expect([times, loopMessages(ended)[0]?.[1]]).toEqual([1, verifyRequest(12, '1')])
  })

  test('a check of many lines is named in one line', async () => {
    const verification: Verification = { mode: 'ask', checks: () => ['', ' npm test \\\n  --all '] }
    const ended = await verified([calls('Edit'), 'Fixed.', 'No.'], { verification })
    expect(loopMessages(ended)[0]?.[1]).toBe(verifyRequest(12, 'npm test \\ --all'))
  })
})

describe('while the answer is on hold', () => {
  const dear: ScriptedReply = { text: 'Fixed.', usage: { input_tokens: 99_970 } }
  const script = (...behind: readonly ScriptedReply[]) => [calls('Edit'), dear, ...behind]
  const failing: ScriptedReply = { error: { kind: 'authentication_failed', message: 'no key', status: 401 } }

  test.each<[string, readonly ScriptedReply[], RunTestOptions, string]>([
    ['an empty reply', [''], {}, 'The model gave its answer'],
    ['a refusal', [{ text: 'No.', stopReason: 'refusal' }], {}, 'refused'],
    ['a service that fails', [failing], {}, 'the model request failed'],
    ['too few tokens', ['No.'], { maxTotalTokens: 100_000 }, 'the token limit is reached'],
    ['a token limit, with a last answer wanted', ['No.'], { maxTotalTokens: 100_000, wrapUp: true }, 'token limit'],
    [
      'a limit at which a person is asked',
      ['No.'],
      { maxTotalTokens: 100_000, onLimit: 'pause', pauseForMs: 9 },
      'token',
    ],
  ])('%s leaves it', async (_name, behind, more, message) => {
    const { short, terminal, events } = await verified(script(...behind), more)
    expect(short).toEqual(['completed', 1, 'Fixed.', false])
    expect(terminal.signal.message).toContain(message)
    expect(events.filter(({ type }) => type === 'limit_question')).toEqual([])
  })

  test('a budget leaves it, and the ending that it would have been is in the context', async () => {
    const runOptions = { prices: dollarATokenPrices, maxBudgetUsd: 100_000 }
    const { short, terminal } = await verified(script('No.'), runOptions)
    expect(short).toEqual(['completed', 1, 'Fixed.', false])
    expect(terminal.signal.context['endedBy']).toBe('max_budget_usd')
  })

  test('a truncated reply is completed, and the answer stays the same', async () => {
    const cut: ScriptedReply = { text: 'I wo', stopReason: 'max_tokens' }
    const { short, transitions } = await verified(script(cut, cut, 'uld not.'))
    expect(short).toEqual(['completed', 1, 'Fixed.', false])
    expect(transitions.slice(2)).toEqual(['max_output_tokens_recovery', 'max_output_tokens_recovery'])
    const never = await verified(script(cut, cut, cut, cut, cut, cut))
    expect(never.short).toEqual(['completed', 1, 'Fixed.', false])
    expect(never.state.transcript.at(-1)?.kind).toBe('assistant')
  })

  test.each(['user', 'interrupt', 'terminated'])('an abort by %s still counts', async (cause) => {
    const controller = new AbortController()
    const hangs = (): ScriptedReply => {
      queueMicrotask(() => controller.abort(cause))
      return { hang: true }
    }
    const replies = [calls('Edit'), 'Fixed.']
    const { short } = await verified([], {
      model: scriptedModel(() => replies.shift() ?? hangs()),
      signal: controller.signal,
    })
    expect(short).toEqual(['aborted_streaming', 1, 'Fixed.', false])
  })

  test('the time limit leaves it', async () => {
    const replies = [calls('Edit'), 'Fixed.']
    const model = scriptedModel(() => replies.shift() ?? { hang: true })
    const { short, terminal } = await verified([], { model, maxDurationMs: 1_000 })
    expect(short).toEqual(['completed', 1, 'Fixed.', false])
    expect(terminal.signal.context['endedBy']).toBe('time_limit')
  })

  test('an abort while the checks are named ends the run by a person, and not by the time', async () => {
    const named = (cause: string) => {
      const controller = new AbortController()
      const checks = () => {
        controller.abort(cause)
        return new Promise<never>(() => {})
      }
      return verified(script('No.'), { verification: { mode: 'ask', checks }, signal: controller.signal, graceMs: 5 })
    }
    expect((await named('user')).short).toEqual(['aborted_streaming', 0, 'Fixed.', false])
    expect((await named('time')).short).toEqual(['completed', 0, 'Fixed.', false])
  })

  test('stop hooks and the token target apply to the answer, and not to the reply to the question', async () => {
    const seen: string[] = []
    const stopHook: StopHook = {
      id: 'gate',
      handle: ({ assistantMessages }) => {
        seen.push(JSON.stringify(assistantMessages.at(-1)?.content))
        return seen.length === 1 ? { block: 'again' } : {}
      },
    }
    const replies = [calls('Edit'), 'Draft.', 'Fixed.', 'No check needed.']
    const { short, transitions } = await verified(replies, { stopHooks: [stopHook] })
    expect(short).toEqual(['completed', 1, 'Fixed.', false])
    expect(transitions).toEqual(['next_turn', 'stop_hook_blocking', 'unverified_change'])
    expect(seen.map((text) => /Draft|Fixed|No/.exec(text)?.[0])).toEqual(['Draft', 'Fixed'])
  })

  test('the token target sends the answer back first', async () => {
    const target = await verified([calls('Edit'), 'One.', 'Two.', 'Three.', 'Four.', 'No.'], { tokenBudget: 1_000 })
    expect(target.transitions.at(-1)).toBe('unverified_change')
    expect(target.transitions).toContain('token_budget_continuation')
    expect(target.text).toBe('Four.')
  })

  test('a message of a person replaces it', async () => {
    const replies: ScriptedReply[] = [calls('Edit'), 'Fixed.']
    const model = scriptedModel(() => {
      if (model.requests.length === 3) going.loop.followUp('Which file?')
      return replies.shift() ?? (model.requests.length === 3 ? 'No check needed.' : 'calc.ts')
    })
    const going = begin([], { ...runOptions, model })
    const { terminal, state, transitions } = await going.end()
    expect([terminal.reason, lastAnswer(state)]).toEqual(['completed', 'calc.ts'])
    expect(transitions).toEqual(['next_turn', 'unverified_change', 'user_input'])
  })

  test('messages of hooks before the reply leave it, and a hook that requests to continue gets another', async () => {
    const context = hook('beforeInference', (each) => each.withState(each.state().withUserMessage('It is noon.')))
    const noon = await verified(script('No check needed.'), { hooks: [context] })
    expect(noon.short).toEqual(['completed', 1, 'Fixed.', false])
    let times = 0
    const continuing = hook('onStop', (each) =>
      ++times > 1 ? undefined : each.withState(each.state().withExecutionContinued('Summarize.')),
    )
    const on = await verified(script('No check needed.', 'It was a comment.'), { hooks: [continuing] })
    expect(on.short).toEqual(['completed', 1, 'It was a comment.', false])
  })

  test('goals that are set after the question have to hold', async () => {
    const until = { name: 'lint', check: () => ({ met: false, exitCode: 1, report: 'bad' }) }
    const replies: ScriptedReply[] = [calls('Edit'), 'Fixed.']
    const model = scriptedModel(() => {
      if (model.requests.length === 3) going.loop.set({ until: [{ name: 'lint' }] })
      return replies.shift() ?? 'No.'
    })
    const going = begin([], { ...runOptions, model, goalNamed: () => until, maxGoalTries: 1 })
    expect((await going.end()).terminal.reason).toBe('goal_unmet')
  })
})

describe('work of subagents', () => {
  const withAgent = { tools: [...tools, subagent] }
  test('counts as that of the run, which is asked instead of the agent', async () => {
    const script = [calls('Agent'), calls('Edit'), 'Agent done.', 'Fixed.', 'No.']
    const { short, state } = await verified(script, withAgent)
    expect(short).toEqual(['completed', 1, 'Fixed.', false])
    expect([...state.transcript].filter((each) => each.kind === 'user' && each.keepsAnswer === true)).toHaveLength(1)
  })

  test('counts a check of an agent that passed', async () => {
    const { short } = await verified([calls('Edit'), calls('Agent'), calls('Test'), 'Passes.', 'Fixed.'], withAgent)
    expect(short).toEqual(['completed', 0, 'Fixed.', true])
  })

  test('does not count a check of one agent for parallel changes of another', async () => {
    const edits = (prompt: string): ScriptedReply => (prompt === 'edit' ? calls('Edit') : calls('Test'))
    const agents: AgentTool = { ...subagent, spawn: (input) => ({ prompt: JSON.stringify(input) }) }
    const model = scriptedModel((request) => {
      const [{ content } = { content: '' }] = request.messages
      const prompt = typeof content === 'string' ? content : JSON.stringify(content)
      const isFirst = request.messages.length === 1
      if (/edit/.test(prompt)) return isFirst ? edits('edit') : 'Edited.'
      if (/check/.test(prompt)) return isFirst ? edits('check') : 'Passes.'
      return isFirst ? calls(...['edit', 'check'].map((of) => ({ name: 'Agent', input: { of } }))) : 'Fixed.'
    })
    const ended = await begin([], { ...runOptions, tools: [...tools, agents], model }).end()
    expect([ended.terminal.reason, ended.terminal.verified]).toEqual(['completed', false])
  })

  test('does not count changes after a check', async () => {
    const script = [calls('Agent'), calls('Test'), calls('Edit'), 'Done.', 'Fixed.', 'No.']
    expect((await verified(script, withAgent)).short).toEqual(['completed', 1, 'Fixed.', false])
  })
})

describe('the answer of a run that was asked to verify', () => {
  const options = () => ({ ...runOptions, model: scriptedModel([calls('Edit'), 'Fixed.', 'No.']) }) as RunOptions

  test('is that of `run`, with whether it was verified', async () => {
    const outcome = await runAgent({ ...options(), prompt: 'go' })
    expect([outcome.reason, outcome.text, outcome.output, outcome.verified]).toEqual([
      'completed',
      'Fixed.',
      'Fixed.',
      false,
    ])
  })

  test('is in the result message, and in the state that hooks read', async () => {
    const read: string[] = []
    const reads = hook('afterExecution', (context) => void read.push(context.state().lastAnswer()))
    const engine = new QueryEngine({ ...options(), hooks: [reads] })
    const results = []
    for await (const message of engine.submit('go')) if (message.type === 'result') results.push(message)
    expect(results).toMatchObject([{ subtype: 'success', result: 'Fixed.', verified: false }])
    expect(read).toEqual(['Fixed.'])
  })

  test('is not that of the next run', async () => {
    const model = scriptedModel([calls('Edit'), 'Fixed.', 'No.', 'It is late.'])
    const read: string[] = []
    const reads = hook('afterExecution', (context) => void read.push(context.state().lastAnswer()))
    const engine = new QueryEngine({ ...options(), model, hooks: [reads] })
    for (const prompt of ['go', 'What time is it?']) for await (const _ of engine.submit(prompt));
    expect([read, engine.lastTerminal?.verified]).toEqual([['Fixed.', 'It is late.'], 'nothing changed'])
  })
})

describe('a run that waits for a person', () => {
  const approves: Permissions = {
    denies: () => undefined,
    decide: ({ call }) => (call.name === 'Fail' ? { behavior: 'ask', message: 'may it?' } : { behavior: 'allow' }),
  }

  async function approved(script: readonly ScriptedReply[]) {
    const model = scriptedModel([...script])
    const engine = new QueryEngine({
      ...runOptions,
      model,
      permissions: approves,
      clock: createFakeClock({ autoAdvance: true }),
    })
    for await (const _ of engine.submit('go'));
    expect(engine.lastTerminal?.reason).toBe('needs_approval')
    const ids = [...engine.transcript].flatMap((entry) =>
      entry.kind === 'assistant'
        ? entry.message.content.flatMap((block) => ('id' in block ? [String(block.id)] : []))
        : [],
    )
    for await (const _ of engine.approve({ [ids.at(-1) ?? '']: { behavior: 'allow' } }));
    return {
      asked: JSON.stringify([...engine.transcript]).split('"keepsAnswer":true').length - 1,
      terminal: engine.lastTerminal,
    }
  }

  test('knows what was changed before', async () => {
    const { asked, terminal } = await approved([calls('Edit'), calls('Fail'), 'Fixed.', 'No.'])
    expect([asked, terminal?.reason, terminal?.verified]).toEqual([1, 'completed', false])
  })

  test('is not asked again when it was asked before', async () => {
    const { asked, terminal } = await approved([calls('Edit'), 'Fixed.', calls('Fail'), calls('Edit'), 'Now.', 'No.'])
    expect([asked, terminal?.reason, terminal?.verified]).toEqual([1, 'completed', false])
  })
})

test('a run that continues at a limit is asked at most once about earlier changes', async () => {
  const model = scriptedModel([calls('Edit'), calls('Edit'), 'Fixed.', calls('Edit'), 'Now.', 'No.'])
  const engine = new QueryEngine({ ...runOptions, model, maxTurns: 2 })
  for await (const _ of engine.submit('go'));
  expect([engine.lastTerminal?.reason, engine.lastTerminal?.verified]).toEqual(['max_turns', false])
  engine.set({ limits: { maxTurns: 10 } })
  for await (const _ of engine.resume());
  const asked = [...engine.transcript].filter((entry) => entry.kind === 'user' && entry.keepsAnswer === true)
  expect([engine.lastTerminal?.reason, asked.length]).toEqual(['completed', 1])
  expect(asked).toMatchObject([{ message: { content: verifyRequest(24, 'npm test') } }])
})

test('the option is validated before a run begins', () => {
  const start = startRun({ prompt: 'go' })
  expect(start.spent.verification).toBeUndefined()
  expect(() => begin(['x'], { verification: { mode: 'always' } as never, steps: createMemorySteps() })).toThrow(/mode/)
})
