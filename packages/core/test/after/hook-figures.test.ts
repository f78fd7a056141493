// Tests R-AFTER-9: the figures of the hooks of a run.
import { expect, test } from 'vitest'
import { HookFigures } from '../../src/after/index.ts'
import { CallableHook } from '../../src/index.ts'
import { engineOf } from '../support/engine.ts'
import { reader } from '../support/harness.ts'

/** Runs to the end, and returns the figures of each hook. */
async function all(messages: AsyncIterable<unknown>): Promise<readonly unknown[]> {
  const read: unknown[] = []
  for await (const message of messages) read.push(message)
  return read
}

async function summary(
  figures: HookFigures,
  overrides: Parameters<typeof engineOf>[1],
  script: Parameters<typeof engineOf>[0],
) {
  const { engine, events } = engineOf(script, overrides)
  await all(engine.submit('go'))
  for (const event of events) figures.onEvent(event)
  const hooksMessage = figures.take('run1')
  return hooksMessage?.hooks.map(({ hook_name: name, hook_event: event, count, decisions }) => [
    name,
    event,
    count,
    decisions,
  ])
}

const calls = [{ toolCalls: [{ name: 'Read' }, { name: 'Read' }] }, 'done']

test('counts each hook at each event, with what it decided', async () => {
  let callCount = 0
  const guard = new CallableHook((context) => (++callCount === 1 ? context.withBlocked('no') : undefined), {
    id: 'guard',
    triggers: ['beforeToolUse'],
  })
  const broken = new CallableHook(() => { throw new Error('bug') }, { id: 'broken', triggers: ['afterToolUse'] }) // prettier-ignore
  const rows = await summary(
    new HookFigures(),
    {
      tools: [reader('Read')],
      hooks: [guard, broken],
      stopHooks: [{ id: 'gate', handle: () => ({ prevent: 'enough' }) }],
    },
    calls,
  )
  expect(rows?.toSorted()).toEqual([
    ['broken', 'afterToolUse', 1, { error: 1 }],
    ['gate', 'stopHook', 1, { stop: 1 }],
    ['guard', 'beforeToolUse', 2, { block: 1, none: 1 }],
  ])
})

test('counts hooks of subagents but not hooks without reports, and has no summary without hooks', async () => {
  const hook = (id: string) => new CallableHook(() => undefined, { id, triggers: ['beforeInference'] })
  const figures = new HookFigures((id) => id !== 'own')
  expect(await summary(figures, { hooks: [hook('a'), hook('own')] }, ['done'])).toEqual([['a', 'beforeInference', 1, { none: 1 }]]) // prettier-ignore
  expect(figures.take('run2')).toBeUndefined()
  const event = { type: 'hook_end', hook: 'a', trigger: 'onStop', callId: null, outcome: {}, durationMs: 5 } as const
  figures.onEvent({ type: 'agent', callId: 'c', agentType: 'x', event })
  expect(figures.take('run2')?.hooks).toEqual([
    { hook_name: 'a', hook_event: 'onStop', count: 1, total_ms: 5, longest_ms: 5, decisions: { none: 1 } },
  ])
})

test('sums calls and reports the longest one, whichever it was', () => {
  const figures = new HookFigures()
  for (const durationMs of [10, 30, 20]) figures.add({ hook: 'a', event: 'Stop', durationMs, decisions: ['block'] })
  expect(figures.take('run1')?.hooks).toEqual([
    { hook_name: 'a', hook_event: 'Stop', count: 3, total_ms: 60, longest_ms: 30, decisions: { block: 3 } },
  ])
})

test('lists the slowest hooks first, and shortens the summary of a run with many hooks', () => {
  const figures = new HookFigures()
  for (let index = 0; index < 1_000; index++)
    figures.add({ hook: `${index} ${'x'.repeat(9_999)}`, event: 'Stop', durationMs: index, decisions: [] })
  const { hooks = [] } = figures.take('run1') ?? {}
  expect([hooks.length, hooks[0]?.total_ms]).toEqual([50, 999])
  expect(JSON.stringify(hooks).length).toBeLessThan(20_000)
})
