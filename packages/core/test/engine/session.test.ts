// Tests R-SDK-9, R-SDK-10, R-BUD-8, R-ABORT-9: the effects of one run of a session on the next.
import { describe, expect, test } from 'vitest'
import { ConfigurationError, QueryEngine, type SdkMessage } from '../../src/index.ts'
import { CostLimitHook } from '../../src/compat/index.ts'
import { createFakeClock, scriptedModel, transcriptProblems, type ScriptedReply } from '../../src/testing/index.ts'
import { engineOf, resultOf } from '../support/engine.ts'
import { calls, dollarATokenPrices, hook, reader, tick, tool, until } from '../support/harness.ts'

async function all(messages: AsyncIterable<SdkMessage>): Promise<SdkMessage[]> {
  const list: SdkMessage[] = []
  for await (const message of messages) list.push(message)
  return list
}

/** A signal that counts its listeners. */
function countedSignal() {
  const controller = new AbortController()
  const listeners = new Set<unknown>()
  const { signal } = controller
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners.add(args[1])
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners.delete(args[1])
    remove(...args)
  }
  return { controller, signal, listeners }
}

describe('leaving at the first message', () => {
  test('leaves nothing behind: no prompt, no run result, no listener', async () => {
    const { signal, listeners } = countedSignal()
    const { engine, model } = engineOf(['the answer'], { signal })
    for await (const message of engine.submit('first')) {
      expect(message).toMatchObject({ type: 'system', subtype: 'init' })
      break
    }
    expect([engine.transcript.length, engine.lastTerminal, listeners.size, model.requests.length]).toEqual([
      0,
      undefined,
      0,
      0,
    ])
    expect(resultOf(await all(engine.submit('second'))).result).toBe('the answer')
    expect([model.requests.map(({ messages }) => messages), listeners.size]).toEqual([
      [[{ role: 'user', content: 'second' }]],
      0,
    ])
  })

  test('ignores an abort of its signal after a run; during a run the signal still applies', async () => {
    const { controller, signal, listeners } = countedSignal()
    const { engine } = engineOf([{ hang: true }], { signal })
    for await (const message of engine.submit('first')) if (message.type === 'system') break
    const second = all(engine.submit('second'))
    await until(() => listeners.size === 1)
    controller.abort()
    expect([resultOf(await second).terminal_reason, listeners.size]).toEqual(['aborted_streaming', 0])
    expect(transcriptProblems(engine.transcript.messages())).toEqual([])
  })
})

test('does not stop the next run by a stop after the last cancellation point of a run', async () => {
  const late = hook('afterExecution', () => {
    if (engine.lastTerminal === undefined) engine.stop('too late')
  })
  const { engine } = engineOf(['one', 'two'], { hooks: [late] })
  const reasons = []
  for (const prompt of ['first', 'second']) reasons.push(resultOf(await all(engine.submit(prompt))).terminal_reason)
  expect(reasons).toEqual(['completed', 'completed'])
})

test('a listener that throws does not disturb the run', async () => {
  const engine = new QueryEngine({
    model: scriptedModel([calls('Look'), 'done']),
    tools: [reader('Look')],
    clock: createFakeClock({ autoAdvance: true }),
    onEvent: () => {
      throw new Error('listener bug')
    },
  })
  expect(resultOf(await all(engine.submit('go')))).toMatchObject({ terminal_reason: 'completed', num_turns: 2 })
  expect(transcriptProblems(engine.transcript.messages())).toEqual([])
})

test('uuids never repeat in a session, hook events and retries included', async () => {
  const overloaded: ScriptedReply = { error: { kind: 'overloaded', message: 'x', status: 529, retryAfterMs: 1 } }
  const { engine } = engineOf([overloaded, calls('Look'), 'one', overloaded, calls('Look'), 'two'], {
    tools: [reader('Look')],
    hooks: [hook(['beforeStep', 'afterToolUse'], () => {})],
    includeHookEvents: true,
  })
  const uuids = [...(await all(engine.submit('first'))), ...(await all(engine.submit('second')))].map(
    ({ uuid }) => uuid,
  )
  expect(new Set(uuids).size).toBe(uuids.length)
})

test('rejects an approval when nothing is pending, and the session continues', async () => {
  const { engine, model } = engineOf(['done'])
  const approved = all(engine.approve({ call_0_0: { behavior: 'allow' } }))
  await expect(approved).rejects.toThrow(new ConfigurationError('No call waits for approval. Pass a prompt instead.'))
  expect(model.requests).toEqual([])
  expect(resultOf(await all(engine.submit('go'))).result).toBe('done')
})

describe('a limit of cost', () => {
  const reply = { text: 'x', usage: { input_tokens: 1_000, output_tokens: 500 } }
  const script = () => reply
  const runOptions = {
    model: scriptedModel(script, { maxOutputTokens: 1_500 }),
    prices: dollarATokenPrices,
    stopWhen: new CostLimitHook(3_000),
  }

  test('of a guard counts each run separately, and maxBudgetUsd the session', async () => {
    const { engine } = engineOf(script, { ...runOptions, maxBudgetUsd: 5_200 })
    const reasons = []
    for (let runs = 0; runs < 4; runs++) reasons.push(resultOf(await all(engine.submit('go'))).terminal_reason)
    expect([reasons, engine.totalCostUsd]).toEqual([['completed', 'completed', 'completed', 'budget_exhausted'], 4_500])
  })

  test('of a guard is never overshot within one run', async () => {
    const busy = () => ({ ...reply, ...calls('Look') })
    const model = scriptedModel(busy, { maxOutputTokens: 1_500 })
    const { engine } = engineOf(busy, { ...runOptions, model, tools: [reader('Look')] })
    const costs = []
    for (let runs = 0; runs < 2; runs++) {
      const { errors } = resultOf(await all(engine.submit('go')))
      costs.push([engine.lastTerminal?.reason, engine.lastTerminal?.committedUsd, errors])
    }
    const once = [
      'max_budget_usd',
      1_500,
      ['Reached the dollar limit of the run ($3000): $1500 is used, and the next request may cost up to $2624'],
    ]
    expect([costs, engine.totalCostUsd]).toEqual([[once, once], 3_000])
  })
})

describe('a hanging writing tool of one run', () => {
  const leaving = async (script: readonly ScriptedReply[]) => {
    const log: string[] = []
    let release = (): void => {}
    const deaf = tool(
      'Deaf',
      () =>
        new Promise((resolve) => {
          release = () => {
            log.push('deaf ended')
            resolve('late')
          }
        }),
    )
    const tools = [deaf, tool('Write', () => (log.push('write'), 'x')), reader('Look', () => (log.push('look'), 'x'))]
    const engineParts = engineOf([calls('Deaf'), ...script], { tools })
    const first = all(engineParts.engine.submit('first'))
    await until(() => engineParts.events.some(({ type }) => type === 'tool_start'))
    await tick()
    engineParts.engine.interrupt()
    expect(resultOf(await first).terminal_reason).toBe('aborted_tools')
    expect(engineParts.engine.lastTerminal?.stillRunning).toEqual(['call_0_0'])
    return { ...engineParts, log, release: () => release() }
  }

  test('blocks the writing tool of the next run, and not a reading one', async () => {
    const { engine, log, release } = await leaving([calls('Look', 'Write'), 'done'])
    const second = all(engine.submit('second'))
    await until(() => log.length > 0)
    await tick()
    expect(log).toEqual(['look'])
    release()
    expect(resultOf(await second).result).toBe('done')
    expect(log).toEqual(['look', 'deaf ended', 'write'])
  })

  test('no longer blocks after an abort, and the blocked tool never runs', async () => {
    const { engine, events, log } = await leaving([calls('Write')])
    const second = all(engine.submit('second'))
    await until(() => events.filter(({ type }) => type === 'tool_start').length === 2)
    await tick()
    engine.interrupt()
    expect([resultOf(await second).terminal_reason, log]).toEqual(['aborted_tools', []])
    expect(transcriptProblems(engine.transcript.messages())).toEqual([])
  })
})
