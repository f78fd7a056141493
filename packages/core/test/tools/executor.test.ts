// Tests R-TOOL-1 to R-TOOL-9.
import { describe, expect, test } from 'vitest'
import { ModelError } from '../../src/index.ts'
import type { ScriptedReply } from '../../src/testing/index.ts'
import {
  begin,
  calls,
  hanging,
  hook,
  reader,
  results,
  resultTexts,
  run,
  tick,
  toolEnds,
  tool,
  until,
} from '../support/harness.ts'

/** Tools that record when they begin and end, and end when released. */
function gated(names: readonly string[], readOnly: boolean) {
  const log: string[] = []
  const open = new Map<string, () => void>()
  const tools = names.map((name) =>
    tool(
      name,
      () => {
        log.push(`+${name}`)
        return new Promise<string>((resolve) => open.set(name, () => (log.push(`-${name}`), resolve(name))))
      },
      { readOnly },
    ),
  )
  return { log, tools, release: (name: string) => open.get(name)?.() }
}

describe('calls of one message', () => {
  test('run in parallel when read-only, with results in call order', async () => {
    const { log, tools, release } = gated(['A', 'B', 'C'], true)
    const going = begin([calls('A', 'B', 'C'), 'done'], { tools })
    await until(() => log.length === 3)
    for (const name of ['C', 'A', 'B']) release(name)
    const { state } = await going.end()
    expect(log).toEqual(['+A', '+B', '+C', '-C', '-A', '-B'])
    expect(resultTexts({ state })).toEqual(['A', 'B', 'C'])
  })

  test('run at most 10 at once, or as many as configured', async () => {
    for (const [toolConcurrency, most] of [
      [undefined, 10],
      [3, 3],
    ] as const) {
      const names = Array.from({ length: 23 }, (_, index) => `T${index}`)
      const { log, tools, release } = gated(names, true)
      const rest = toolConcurrency === undefined ? {} : { toolConcurrency }
      const going = begin([calls(...names), 'done'], { tools, ...rest })
      let running = 0
      let highest = 0
      for (const name of names) {
        await until(() => log.includes(`+${name}`))
        await tick()
        running = log.filter((line) => line.startsWith('+')).length - log.filter((line) => line.startsWith('-')).length
        highest = Math.max(highest, running)
        release(name)
      }
      const { state } = await going.end()
      expect([highest, resultTexts({ state })]).toEqual([most, names])
    }
  })

  test('run alone, one after another, when writing, and split the reading ones', async () => {
    const reads = gated(['R1', 'R2', 'R3'], true)
    const writes = gated(['W1', 'W2'], false)
    const going = begin([calls('R1', 'R2', 'W1', 'W2', 'R3'), 'done'], { tools: [...reads.tools, ...writes.tools] })
    await until(() => reads.log.length === 2)
    await tick()
    expect(writes.log).toEqual([])
    reads.release('R2')
    reads.release('R1')
    await until(() => writes.log.length === 1)
    await tick()
    expect([writes.log, reads.log.includes('+R3')]).toEqual([['+W1'], false])
    writes.release('W1')
    await until(() => writes.log.length === 3)
    writes.release('W2')
    await until(() => reads.log.includes('+R3'))
    reads.release('R3')
    expect(resultTexts(await going.end())).toEqual(['R1', 'R2', 'W1', 'W2', 'R3'])
  })

  test('run alone when they read but are not safe in parallel', async () => {
    const log: string[] = []
    const alone = reader('Alone', async () => (log.push('+'), await tick(), log.push('-'), 'x'), {
      concurrencySafe: false,
    })
    await run([calls('Alone', 'Alone'), 'done'], { tools: [alone] })
    expect(log).toEqual(['+', '-', '+', '-'])
  })

  test('may depend on the input for being read-only', async () => {
    const log: string[] = []
    const bash = {
      ...tool(
        'Bash',
        async ({ command }) => (log.push(`+${String(command)}`), await tick(), log.push(`-${String(command)}`), 'x'),
      ),
      readOnly: ({ command }: { readonly command: string }) => command === 'ls',
    }
    const call = (command: string) => ({ name: 'Bash', input: { command } })
    await run([calls(call('ls'), call('ls'), call('rm')), 'done'], { tools: [bash] })
    expect(log).toEqual(['+ls', '+ls', '-ls', '-ls', '+rm', '-rm'])
  })

  test('count as writing when the predicate throws', async () => {
    const log: string[] = []
    const work = async () => (log.push('+'), await tick(), log.push('-'), 'x')
    const broken = { ...tool('Odd', work), readOnly: () => { throw new Error('predicate bug') } } // prettier-ignore
    expect(resultTexts(await run([calls('Odd', 'Odd'), 'done'], { tools: [broken] }))).toEqual(['x', 'x'])
    expect(log).toEqual(['+', '-', '+', '-'])
  })

  test('run one after another when a hook turned a reading call into a writing one', async () => {
    const log: string[] = []
    const bash = {
      ...tool('Bash', async ({ command }) => {
        log.push(`+${String(command)}`)
        await tick()
        log.push(`-${String(command)}`)
        return 'x'
      }),
      readOnly: ({ command }: { readonly command: string }) => command === 'ls',
    }
    const call = (command: string) => ({ name: 'Bash', input: { command } })
    let count = 0
    const second = hook('beforeToolUse', (context) =>
      count++ === 1 ? context.withToolInput({ command: 'rm' }) : undefined,
    )
    await run([calls(call('ls'), call('ls'), call('ls')), 'done'], { tools: [bash], hooks: [second] })
    expect(log).toEqual(['+ls', '-ls', '+rm', '-rm', '+ls', '-ls'])
  })
})

describe('a call that cannot run', () => {
  test('of an unknown tool is answered with the available names', async () => {
    const result = await run([calls('Grap'), calls('Grep'), 'done'], { tools: [reader('Grep'), reader('Read')] })
    expect([resultTexts(result), toolEnds(result)]).toEqual([
      ['There is no tool named "Grap". Available tools: Grep, Read.', 'read'],
      { call_0_0: 'invalid', call_1_0: 'done' },
    ])
    expect(resultTexts(await run([calls('Grep'), 'done']))).toEqual([
      'There is no tool named "Grep". This run has no tools.',
    ])
  })

  test('with invalid input is answered with the valid form, and is not run', async () => {
    const ran: unknown[] = []
    const schema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
    const result = await run([calls({ name: 'Read', input: { path: { a: 7 } } }), calls('Read'), 'done'], {
      tools: [reader('Read', (input) => (ran.push(input), 'x'), { schema })],
    })
    expect([resultTexts(result), ran]).toEqual([
      [
        `Invalid input for Read: path must be string, not object. Its fields are path. Nothing was run.`,
        `Invalid input for Read: path is missing. Its fields are path. Nothing was run.`,
      ],
      [],
    ])
    expect(results(result).every(({ is_error }) => is_error === true)).toBe(true)
  })

  test('is checked by the tool after the schema, which may add defaults; an error counts as invalid', async () => {
    const checked = (validate: (input: unknown) => never) => ({
      ...tool('Check', (input) => JSON.stringify(input)),
      validate,
    })
    const fills = checked(((input: object) => ({ valid: true, input: { limit: 10, ...input } })) as never)
    expect(resultTexts(await run([calls({ name: 'Check', input: { a: 1 } }), 'done'], { tools: [fills] }))).toEqual([
      '{"limit":10,"a":1}',
    ])
    const refuses = checked((() => ({ valid: false, message: 'offset is 1-based' })) as never)
    expect(resultTexts(await run([calls('Check'), 'done'], { tools: [refuses] }))).toEqual([
      'Invalid input for Check: offset is 1-based. Nothing was run.',
    ])
    const throws = checked((() => { throw new Error('check bug') })) // prettier-ignore
    expect(resultTexts(await run([calls('Check'), 'done'], { tools: [throws] }))).toEqual([
      'Invalid input for Check: check bug. Nothing was run.',
    ])
  })
})

describe('results', () => {
  test('are a string, blocks, an error, or details for programs', async () => {
    const blocks = [{ type: 'text', text: 'a block' }] as const
    const result = await run([calls('Text', 'Blocks', 'Fails', 'Throws', 'Silent'), 'done'], {
      tools: [
        reader('Text', 'plain'),
        reader('Blocks', () => ({ content: blocks, details: { lines: 3 } })),
        reader('Fails', () => ({ content: 'exit code 1', isError: true })),
        reader('Throws', () => Promise.reject(new Error('boom'))),
        reader('Silent', () => ({ content: '', isError: true })),
      ],
    })
    expect(results(result)).toEqual([
      { type: 'tool_result', tool_use_id: 'call_0_0', content: 'plain' },
      { type: 'tool_result', tool_use_id: 'call_0_1', content: blocks },
      { type: 'tool_result', tool_use_id: 'call_0_2', content: 'exit code 1', is_error: true },
      { type: 'tool_result', tool_use_id: 'call_0_3', content: 'boom', is_error: true },
      {
        type: 'tool_result',
        tool_use_id: 'call_0_4',
        content: 'The tool failed without an error message.',
        is_error: true,
      },
    ])
    expect(result.state.transcript.at(2)).toMatchObject({ details: { call_0_1: { lines: 3 } } })
    expect(toolEnds(result)).toEqual({
      call_0_0: 'done',
      call_0_1: 'done',
      call_0_2: 'failed',
      call_0_3: 'failed',
      call_0_4: 'failed',
    })
  })

  test('progress is emitted live', async () => {
    const { events } = await run([calls('Slow'), 'done'], {
      tools: [tool('Slow', (_input, context) => (context.progress({ elapsedSeconds: 2 }), 'x'))],
    })
    expect(events.filter(({ type }) => type === 'tool_update')).toEqual([
      { type: 'tool_update', callId: 'call_0_0', name: 'Slow', data: { elapsedSeconds: 2 } },
    ])
  })
})

describe('early starts', () => {
  const streaming = (names: readonly string[], then: () => void): ScriptedReply => ({
    ...calls(...names),
    before: async () => {
      await tick()
      then()
    },
  })

  test('a leading read-only tool starts before the reply ends, and runs once', async () => {
    const log: string[] = []
    const script = [streaming(['Look', 'Write', 'Look'], () => void log.push('reply ends')), 'done']
    const going = begin(script, {
      tools: [reader('Look', () => (log.push('Look'), 'seen')), tool('Write', () => (log.push('Write'), 'x'))],
    })
    const result = await going.end()
    expect(log).toEqual(['Look', 'reply ends', 'Write', 'Look'])
    expect(resultTexts(result)).toEqual(['seen', 'x', 'seen'])
  })

  test('nothing starts early that rules do not allow at once, or that a hook must see', async () => {
    const log: string[] = []
    const tools = [reader('Look', () => (log.push('Look'), 'seen'))]
    const first = (rest: object) => {
      log.length = 0
      return run([{ ...calls('Look'), before: async () => (await tick(), void log.push('reply ends')) }, 'done'], {
        tools,
        ...rest,
      }).then(() => [...log])
    }
    expect(
      await first({ permissions: { denies: () => undefined, decide: () => Promise.resolve({ behavior: 'allow' }) } }),
    ).toEqual(['reply ends', 'Look'])
    expect(await first({ hooks: [{ triggers: ['beforeToolUse'], handle: () => {} }] })).toEqual(['reply ends', 'Look'])
    expect(await first({ permissions: { denies: () => 'no', decide: () => ({ behavior: 'allow' }) } })).toEqual([
      'reply ends',
    ])
    const elsewhere = { behavior: 'allow', updatedInput: { path: 'elsewhere' } } as const
    expect(await first({ permissions: { denies: () => undefined, decide: () => elsewhere } })).toEqual([
      'reply ends',
      'Look',
    ])
    expect(await first({})).toEqual(['Look', 'reply ends'])
  })

  test('are discarded when the attempt fails: the next one starts its own', async () => {
    const log: string[] = []
    const look = reader('Look', () => (log.push('Look'), `seen ${log.length}`))
    const dropped: ScriptedReply = {
      ...calls({ name: 'Look', id: 'c1' }),
      before: async () => {
        await tick()
        throw new ModelError({ kind: 'connection', message: 'dropped' })
      },
    }
    const result = await run([dropped, calls({ name: 'Look', id: 'c1' }), 'done'], { tools: [look] })
    expect([result.terminal.reason, resultTexts(result), log.length]).toEqual(['completed', ['seen 2'], 2])
  })

  test('keep a finished result when the reply is aborted', async () => {
    const controller = new AbortController()
    const reply = { ...calls('Look', 'Hang'), before: async () => (await tick(), controller.abort()) }
    const result = await run([reply], {
      tools: [reader('Look', 'seen'), hanging('Hang', { readOnly: true })],
      signal: controller.signal,
    })
    expect([result.terminal.reason, resultTexts(result)]).toEqual([
      'aborted_streaming',
      ['seen', 'Interrupted by user'],
    ])
  })
})
