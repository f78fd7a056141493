// Tests R-HOOK-1, R-STEP-10: values that a run passes out never change, whatever the run does later.
import { expect, test } from 'vitest'
import { createMemorySteps, streamRun, startRun, type ContextManager, type HookTrigger } from '../../src/index.ts'
import { plainContext } from '../../src/entries/adapters.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, dollarATokenPrices, hook, run, tool } from '../support/harness.ts'

const triggers: readonly HookTrigger[] = [
  'beforeExecution',
  'afterExecution',
  'beforeStep',
  'afterStep',
  'beforeInference',
  'afterInference',
  'beforeToolUse',
  'afterToolUse',
  'onStop',
  'onError',
]

/** Each value that was passed out, with its JSON at that time. */
class Album {
  readonly pictures: { readonly what: string; readonly text: string; readonly look: () => unknown }[] = []

  take(what: string, look: () => unknown): void {
    this.pictures.push({ what, text: JSON.stringify(look()), look })
  }

  /** The values that differ from their JSON at that time. */
  changed(): readonly string[] {
    return this.pictures.filter(({ text, look }) => JSON.stringify(look()) !== text).map(({ what }) => what)
  }
}

/** Three turns in which everything changes: time, cost, messages, metadata, signals. */
function script(clock: ReturnType<typeof createFakeClock>) {
  return (_request: unknown, index: number): ScriptedReply => ({
    ...(index < 2 ? calls('Fail', 'Write') : { text: 'answer' }),
    before: () => clock.advance(100),
  })
}

test('a state in a hook, a tool, a source or a context layer, and every record, is immutable', async () => {
  const album = new Album()
  const clock = createFakeClock()
  const context: ContextManager = {
    ...plainContext,
    beforeRequest({ state }) {
      album.take('state in the context defence', () => [state.spent, state.transcript.length, state.continuation])
      return undefined
    },
  }
  const keepSnapshot = (what: string) =>
    tool(what, async (_input, toolContext) => {
      album.take(`state in ${what}`, () => toolContext.state)
      await clock.advance(50)
      if (what === 'Fail') throw new Error('no')
      return 'done'
    })
  let count = 0
  const { terminal } = await run(script(clock), {
    clock,
    context,
    tools: [keepSnapshot('Fail'), keepSnapshot('Write')],
    prices: dollarATokenPrices,
    hooks: [
      hook(triggers, (hookContext) => {
        const state = hookContext.state()
        album.take(`state at ${hookContext.trigger}`, () => state)
        return hookContext.withState(
          state.withMetadata('count', ++count).withUserMessage(`a word at ${hookContext.trigger}`),
        )
      }),
    ],
    cancellation: [{ cancellationSignal: (state) => (album.take('state in a source', () => state), null) }],
    steps: createMemorySteps({ clock, onRecord: (record) => album.take(`record ${record.type}`, () => record) }),
  })
  expect([terminal.reason, album.changed()]).toEqual(['completed', []])
  // The snapshots differ: every iteration, hook and tool saw the figures of its own moment.
  const seen = album.pictures.filter(({ what }) => what.startsWith('state at') || what === 'record lap')
  expect(new Set(seen.map(({ text }) => text)).size).toBe(seen.length)
})

test('a record is immutable even when only the step engine sees it', async () => {
  const album = new Album()
  const clock = createFakeClock()
  const steps = createMemorySteps({ clock, onRecord: (record) => album.take(`record ${record.type}`, () => record) })
  const tools = [tool('Fail'), tool('Write')]
  const { terminal, transitions } = await run(script(clock), { clock, steps, tools, maxTurns: 2, wrapUp: true })
  expect([terminal.reason, transitions, album.pictures.length, album.changed()]).toEqual([
    'max_turns',
    ['next_turn', 'wrap_up'],
    steps.records.length,
    [],
  ])
})

test('the state in which a run began is unchanged, also when the run could not begin', async () => {
  const waiting = await run([calls('Write', 'Write')], {
    tools: [tool('Write')],
    permissions: { denies: () => undefined, decide: () => ({ behavior: 'ask', message: '?' }) },
  })
  const start = startRun({ transcript: waiting.state.transcript, approvals: { call_0_0: { behavior: 'allow' } } })
  const before = JSON.stringify(start)
  const clock = createFakeClock()
  const steps = createMemorySteps({
    clock,
    onRecord() {
      throw new Error('disk full')
    },
  })
  const { terminal } = await streamRun(start, { model: scriptedModel([]), tools: [tool('Write')], clock, steps }).ended
  expect([terminal.reason, terminal.summary.toolResults, JSON.stringify(start)]).toEqual(['error', 2, before])
})

test('a hook reads the same from its context after the run as during the call', async () => {
  const readings = async (when: 'at the call' | 'after the run') => {
    const clock = createFakeClock()
    const looks: (() => string)[] = []
    let count = 0
    const { terminal } = await run(script(clock), {
      clock,
      tools: [tool('Fail'), tool('Write')],
      prices: dollarATokenPrices,
      maxTotalTokens: 1_000_000,
      hooks: [
        hook(triggers, (hookContext) => {
          const look = () =>
            JSON.stringify([
              hookContext.trigger,
              hookContext.state(),
              hookContext.figures,
              hookContext.toolCall,
              hookContext.error,
            ])
          const text = when === 'at the call' ? look() : undefined
          looks.push(() => text ?? look())
          // Others read it during the run.
          return ++count % 3 === 0 ? hookContext.withState(hookContext.state().withMetadata('count', count)) : undefined
        }),
      ],
      steps: createMemorySteps({ clock }),
    })
    return [terminal.reason, ...looks.map((look) => look())]
  }
  const atTheCall = await readings('at the call')
  expect(new Set(atTheCall).size).toBe(atTheCall.length)
  expect(await readings('after the run')).toEqual(atTheCall)
})
