// Tests every path of "What Happens When the Context Window is Full" by name (R-CTX-1 to R-CTX-4, R-CTX-10, R-CTX-16a).
import { describe, expect, test } from 'vitest'
import { contextLayers, type ContextLayersOptions } from '../../src/context/layers.ts'
import { replay, resume, type RunEvent, type RunOptions, type RunResult } from '../../src/index.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { calls, failures, isLive, json, reader, run, type Run } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'
import { isDeep, isWhole } from '../support/deep.ts'
import { isQuestion, windowedModel, type WindowedModel, type WindowOptions } from '../support/windowed-model.ts'

/** A thousand tokens of four characters each. */
const result = 'x'.repeat(4_000)

interface Path {
  readonly name: string
  readonly layers: ContextLayersOptions
  readonly window: Partial<WindowOptions>
  /** Calls that the model makes before it answers. */
  readonly calls: number
  readonly ends: RunResult['reason']
  /** Recoveries, in order, without turns. */
  readonly recoveries?: readonly string[]
  /** The layers that made room, in order. */
  readonly compacted?: readonly string[]
  /** Main requests that reached the service. */
  readonly requests: number
}

const allLayersOff = { autoCompact: false, collapse: false, reactive: false, clearResults: false } as const
const all = { clearResults: false } as const
/** The service refuses this request, and this many from it on. */
const refusesFrom = (first: number, count: number) => ({
  refuses: (request: number) => request >= first && request < first + count,
})

const paths: readonly Path[] = [
  {
    name: 'context growing, nothing is full → normal processing',
    layers: all,
    window: {},
    calls: 3,
    ends: 'completed',
    requests: 4,
  },
  {
    name: 'auto-compact enabled → it fires → older messages are summarized → continue with smaller context',
    layers: { ...all, collapse: false },
    window: {},
    calls: 20,
    ends: 'completed',
    compacted: ['auto'],
    requests: 21,
  },
  {
    name: 'auto-compact enabled, finished work has its summaries → they are enough',
    layers: all,
    window: {},
    calls: 20,
    ends: 'completed',
    compacted: ['collapse'],
    requests: 21,
  },
  {
    name: 'auto-compact off → not at the blocking limit → the call proceeds → no 413 → normal processing',
    layers: allLayersOff,
    window: {},
    calls: 5,
    ends: 'completed',
    requests: 6,
  },
  {
    name: 'auto-compact off → at the blocking limit → preemptive error',
    layers: allLayersOff,
    window: {},
    calls: 30,
    ends: 'blocking_limit',
    requests: 17,
  },
  {
    name: '413 → collapse available → drained → no 413 any more → continue with collapsed context',
    layers: all,
    window: refusesFrom(16, 1),
    calls: 18,
    ends: 'completed',
    recoveries: ['collapse_drain_retry'],
    compacted: ['collapse'],
    requests: 19,
  },
  {
    name: '413 → collapse available → drained → still 413 → reactive compact → continue with compacted context',
    layers: all,
    window: refusesFrom(16, 2),
    calls: 18,
    ends: 'completed',
    recoveries: ['collapse_drain_retry', 'reactive_compact_retry'],
    compacted: ['collapse', 'reactive'],
    requests: 19,
  },
  {
    name: '413 → collapse available → drained → still 413 → reactive compact → still 413 → surface error, stop',
    layers: all,
    window: refusesFrom(16, 3),
    calls: 18,
    ends: 'prompt_too_long',
    recoveries: ['collapse_drain_retry', 'reactive_compact_retry'],
    compacted: ['collapse', 'reactive'],
    requests: 18,
  },
  {
    name: '413 → collapse available → drained → still 413 → no reactive compact → surface error, stop',
    layers: { ...all, reactive: false },
    window: refusesFrom(16, 2),
    calls: 18,
    ends: 'prompt_too_long',
    recoveries: ['collapse_drain_retry'],
    compacted: ['collapse'],
    requests: 17,
  },
  {
    name: '413 → collapse on, and nothing is staged → reactive compact → continue with compacted context',
    layers: all,
    window: refusesFrom(4, 1),
    calls: 8,
    ends: 'completed',
    recoveries: ['reactive_compact_retry'],
    compacted: ['reactive'],
    requests: 9,
  },
  {
    name: '413 → no collapse → reactive compact → continue with compacted context',
    layers: { ...all, collapse: false },
    window: refusesFrom(12, 1),
    calls: 14,
    ends: 'completed',
    recoveries: ['reactive_compact_retry'],
    compacted: ['reactive'],
    requests: 15,
  },
  {
    name: '413 → no collapse → reactive compact → still 413 → surface error, stop',
    layers: { ...all, collapse: false },
    window: refusesFrom(12, 2),
    calls: 14,
    ends: 'prompt_too_long',
    recoveries: ['reactive_compact_retry'],
    compacted: ['reactive'],
    requests: 13,
  },
  {
    name: '413 → no collapse, no reactive compact → surface error, stop',
    layers: { ...all, collapse: false, reactive: false },
    window: refusesFrom(12, 1),
    calls: 14,
    ends: 'prompt_too_long',
    requests: 12,
  },
  {
    name: '413 → no layer at all → surface error, stop',
    layers: allLayersOff,
    window: refusesFrom(3, 1),
    calls: 14,
    ends: 'prompt_too_long',
    requests: 3,
  },
  {
    name: '413 → reactive compact, and nobody can summarize → a list of what was done stands in → continue',
    layers: { ...all, collapse: false },
    window: { ...refusesFrom(12, 1), refusesQuestions: true },
    calls: 14,
    ends: 'completed',
    recoveries: ['reactive_compact_retry'],
    compacted: ['reactive'],
    requests: 15,
  },
]

function world({ layers, window, calls: wanted }: Pick<Path, 'layers' | 'window' | 'calls'>): {
  readonly model: WindowedModel
  readonly options: RunOptions
} {
  const model = windowedModel((_request, number) => (number <= wanted ? calls('Look') : 'done'), {
    window: 20_000,
    ...window,
  })
  const options: RunOptions = {
    model,
    tools: [reader('Look', () => result)],
    context: contextLayers(layers),
    clock: createFakeClock({ autoAdvance: true }),
  }
  return { model, options }
}

const recoveriesOf = ({ transitions }: Pick<Run, 'transitions'>): readonly string[] =>
  transitions.filter((transition) => transition !== 'next_turn')
const compactedOf = ({ events }: Pick<Run, 'events'>): readonly string[] =>
  events.flatMap((event) => (event.type === 'compact_end' && event.compacted ? [event.trigger] : []))

describe('what happens when the context window is full', () => {
  test.each(paths)('$name', async (path) => {
    const { model, options } = world(path)
    const ran = await run([], { ...options, clock: options.clock as never })
    expect({
      ends: ran.terminal.reason,
      recoveries: recoveriesOf(ran),
      compacted: compactedOf(ran),
      requests: model.requests.filter((request) => !isQuestion(request)).length,
    }).toEqual({
      ends: path.ends,
      recoveries: path.recoveries ?? [],
      compacted: path.compacted ?? [],
      requests: path.requests,
    })
    expect(model.problems).toEqual([])
    // The failure is withheld while a recovery may help. It is reported only where it ends the run.
    const isFailed = path.ends !== 'completed'
    expect(failures(ran).map(([error]) => error)).toEqual(isFailed ? ['invalid_request'] : [])
    const failureIndexes = ran.events.flatMap((event, index) =>
      event.type === 'message' && event.entry.kind === 'assistant' && event.entry.error !== undefined ? [index] : [],
    )
    for (const index of failureIndexes)
      expect(ran.events.slice(index).some(({ type }) => type === 'lap' || type === 'model_start')).toBe(false)
    // A replay has the same events.
    const replayed = await replay(ran.steps.records, options)
    const recordedEvents = (events: Run['events']) => json(events.filter((event) => !isLive(event)))
    expect(recordedEvents(replayed.events)).toEqual(recordedEvents(ran.events))
    // The next run over the same session continues.
    const next = world({ ...path, window: {}, calls: 2, layers: all })
    const { tokenRatio, windows } = ran.state.spent
    const again = await run(
      [],
      { ...next.options, clock: next.options.clock as never },
      {
        prompt: 'and now?',
        transcript: ran.state.transcript,
        learned: { tokenRatio, windows },
      },
    )
    expect(again.terminal.reason).toBe('completed')
    expect(next.model.problems).toEqual([])
  })

  const killed = paths.filter(({ recoveries, compacted }) => recoveries !== undefined || compacted !== undefined)
  test.each(killed)('killed after each record: $name', { timeout: 120_000 }, async (path) => {
    const completeRun = await run([], { ...world(path).options, clock: createFakeClock({ autoAdvance: true }) })
    const { records } = completeRun.steps
    for (let length = 1; length < records.length; length += isWhole ? 1 : isDeep ? 2 : 5) {
      const { model, options } = world(path)
      const left = await killedAfter(length, options)
      const requestsBefore = model.requests.length
      const resumed = resume(left, options)
      const events: RunEvent[] = []
      for await (const event of resumed.loop) events.push(event)
      const { terminal } = await resumed.loop.ended
      const triggers = (type: 'compact_start' | 'compact_end') =>
        events.flatMap((event) => (event.type === type ? [event.trigger] : []))
      expect(triggers('compact_start')).toEqual(triggers('compact_end'))
      const where = `after record ${length} of ${records.length}`
      expect([where, terminal.reason]).toEqual([where, path.ends])
      // Paid requests are paid and reported once, except requests in flight, whose outcome is unknown.
      const keysOf = (type: string) =>
        left.flatMap((record) => (record.type === type && 'key' in record ? [record.key] : []))
      const ended = new Set(keysOf('result'))
      const isKnown = keysOf('intent').every((key) => ended.has(key))
      const paid = completeRun.terminal.summary.modelUsage
      expect([where, isKnown ? terminal.summary.modelUsage : paid]).toEqual([where, paid])
      expect(model.problems).toEqual([])
      expect(model.requests.length - requestsBefore).toBeLessThanOrEqual(records.length)
    }
  })
})
