// Tests R-END-1 to R-END-5, R-ABORT-2.
import { describe, expect, test } from 'vitest'
import { streamRun, startRun, type RunEvent, type RunResult } from '../../src/index.ts'
import { createFakeClock, scriptedModel, transcriptProblems } from '../../src/testing/index.ts'
import { ask } from '../support/engine.ts'
import { calls, hanging, reader, results, tool } from '../support/harness.ts'
import { expectEnding } from './ending.ts'
import { table } from './table.ts'

describe('aborts', () => {
  const streaming = (cause?: string) => {
    const controller = new AbortController()
    return ask(
      () => {
        queueMicrotask(() => controller.abort(cause))
        return { hang: true, text: 'half a' }
      },
      { signal: controller.signal },
    )
  }

  test('terminal: aborted_streaming keeps the received part and says so', async () => {
    const outcome = await streaming()
    expectEnding(outcome, 'aborted_streaming', {
      message: 'Interrupted by the user',
      source: 'abort',
      context: { cause: 'user', turn: 1 },
      loopMessages: [['interruption', '[Request interrupted by user]']],
    })
    expect(outcome.engine.transcript.messages()[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'half a' }],
      by: 'scripted',
    })
  })

  test('terminal: aborted_streaming gives every call of the cut reply a result', async () => {
    const controller = new AbortController()
    const script = [{ ...calls('Look', 'Write'), before: () => controller.abort() }]
    expectEnding(
      await ask(script, { tools: [hanging('Look', { readOnly: true }), tool('Write')], signal: controller.signal }),
      'aborted_streaming',
      {
        message: 'Interrupted by the user',
        source: 'abort',
        loopMessages: [['interruption', '[Request interrupted by user]']],
        results: ['!Interrupted by user', '!Interrupted by user'],
      },
    )
  })

  test('terminal: aborted_streaming adds no message when a new message is the cause', async () => {
    expectEnding(await streaming('interrupt'), 'aborted_streaming', {
      message: 'Interrupted by a new message',
      source: 'abort',
      context: { cause: 'interrupt', turn: 1 },
    })
  })

  const inTools = (cause?: string) => {
    const controller = new AbortController()
    const stop = tool('Stop', () => (controller.abort(cause), 'stopped it'))
    return ask([calls('Look', 'Stop', 'Write')], {
      tools: [reader('Look'), stop, tool('Write')],
      signal: controller.signal,
    })
  }

  test('terminal: aborted_tools keeps finished results and gives the rest synthetic ones', async () => {
    expectEnding(await inTools(), 'aborted_tools', {
      message: 'Interrupted by the user',
      source: 'abort',
      context: { cause: 'user', turn: 1 },
      loopMessages: [['interruption', '[Request interrupted by user for tool use]']],
      results: ['read', 'stopped it', '!Interrupted by user'],
    })
  })

  test('terminal: aborted_tools adds no message when a new message is the cause', async () => {
    expectEnding(await inTools('interrupt'), 'aborted_tools', {
      message: 'Interrupted by a new message',
      source: 'abort',
      results: ['read', 'stopped it', '!Interrupted by user'],
    })
  })

  test('terminal: abandoned, reported by onResult and the record', async () => {
    const runResults: RunResult[] = []
    const model = scriptedModel([calls('Hang', 'Write')])
    const clock = createFakeClock({ autoAdvance: true })
    const running = streamRun(startRun({ prompt: 'go' }), {
      model,
      clock,
      tools: [hanging('Hang'), tool('Write')],
      onResult: (terminal) => runResults.push(terminal),
    })
    const seen: RunEvent['type'][] = []
    for await (const event of running) {
      seen.push(event.type)
      if (event.type === 'tool_start') break
    }
    const { terminal, state } = await running.ended
    expect(runResults).toEqual([terminal])
    expect(table[terminal.reason]).toEqual(table.abandoned)
    expect(terminal.signal.toJSON()).toEqual({
      reason: 'user_requested',
      message: 'The program reading the run disconnected',
      context: { cause: 'abandoned', turn: 1 },
      source: 'abort',
    })
    expect(results({ state }).map(({ content }) => content)).toEqual(['Interrupted by user', 'Interrupted by user'])
    expect(state.transcript.at(-1)?.kind).toBe('user')
    expect(transcriptProblems(state.transcript.messages())).toEqual([])
  })
})

describe('failures', () => {
  test('terminal: prompt_too_long surfaces the withheld error', async () => {
    const message = 'prompt is too long: 201000 tokens > 200000 maximum'
    expectEnding(await ask([{ error: { kind: 'prompt_too_long', message, status: 413 } }]), 'prompt_too_long', {
      message,
      source: 'model',
      context: { kind: 'prompt_too_long', status: 413 },
      failures: [['invalid_request', message]],
    })
  })

  test('terminal: model_error', async () => {
    const outcome = await ask(
      [
        calls('Look'),
        { error: { kind: 'authentication_failed', message: 'invalid x-api-key', status: 401, requestId: 'req_1' } },
      ],
      { tools: [reader('Look')] },
    )
    expectEnding(outcome, 'model_error', {
      message: 'invalid x-api-key',
      source: 'model',
      context: { kind: 'authentication_failed', status: 401, attempts: 1, requestId: 'req_1' },
      failures: [['authentication_failed', 'invalid x-api-key']],
      results: ['read'],
    })
  })

  test('terminal: model_error has the category retry_limit when retries are used up', async () => {
    const outcome = await ask(() => ({ error: { kind: 'server_error', message: 'oops', status: 500 } }), {
      maxRetries: 2,
    })
    const message = 'The model service failed 3 times. The last time: oops'
    expectEnding(outcome, 'model_error', {
      category: 'retry_limit',
      message,
      source: 'model',
      context: { kind: 'server_error', status: 500, attempts: 3, requestId: null },
      failures: [['server_error', message]],
    })
    expect(outcome.model.requests).toHaveLength(3)
  })

  test('terminal: image_error', async () => {
    const message = 'image exceeds 5 MB maximum'
    expectEnding(await ask([{ error: { kind: 'image', message, status: 400 } }]), 'image_error', {
      message,
      source: 'model',
      context: { kind: 'image', status: 400 },
      failures: [['invalid_request', message]],
    })
  })

  test('terminal: error, when a guard throws: calls that ran have their results', async () => {
    const broken = { name: 'broken', evaluate: () => { throw new Error('guard bug') } } // prettier-ignore
    const outcome = await ask([calls('Look')], {
      tools: [reader('Look')],
      stopWhen: { ...broken, checkpoints: ['after_tools'] },
    })
    expectEnding(outcome, 'error', {
      message: 'The run failed: guard bug',
      source: 'run',
      context: { code: 'callback' },
      failures: [['unknown', 'The run failed: guard bug']],
      results: ['read'],
    })
    expect(outcome.terminal.error?.code).toBe('callback')
  })

  test('terminal: error, when a failure left calls open: each has a synthetic result', async () => {
    const hooks = [{ triggers: ['beforeToolUse'], get handle(): never { throw new Error('no handle') } }] // prettier-ignore
    const permissions = { denies: () => undefined, get decide(): never { throw new Error('no rules') } } // prettier-ignore
    const outcome = await ask([calls('Look', 'Write')], {
      tools: [
        reader('Look'),
        {
          ...tool('Write'),
          get readOnly(): boolean {
            throw new Error('broken tool')
          },
        },
      ],
      permissions,
      hooks: hooks as never,
    })
    expect(outcome.terminal.reason).toBe('error')
    expect(results(outcome)).toHaveLength(2)
  })

  test('terminal: error, by an error policy', async () => {
    const broken = tool('Break', () => { throw new Error('disk full') }) // prettier-ignore
    const outcome = await ask([calls('Look', 'Break', 'Write')], {
      tools: [reader('Look'), broken, tool('Write')],
      errorPolicy: ({ source }) => source === 'tool',
    })
    expectEnding(outcome, 'error', {
      message: 'tool Break failed: disk full',
      source: 'Break',
      context: { source: 'tool', name: 'Break' },
      failures: [['unknown', 'tool Break failed: disk full']],
      results: ['read', '!disk full', '!Not run: the run stopped before this call'],
    })
  })
})
