// Tests R-BACK-10, R-BACK-13, R-BACK-15, R-BACK-15a: background agents of a process that ended.
import { describe, expect, test } from 'vitest'
import { replay, resume, type RunOptions, type StepRecord } from '../../src/index.ts'
import { createFakeClock, scriptedModel, transcriptProblems } from '../../src/testing/index.ts'
import { agent, byPrompt, chargesIn, notesIn, openTokens, processWith, start } from '../support/background.ts'
import { begin, calls, json, run, loopMessages, tool } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

describe('a killed run with background agents', () => {
  const script = byPrompt({
    go: [calls(start('one'), start('two')), calls('Write'), 'they work', 'more', 'done', 'done'],
    one: [calls('Write'), calls('Write'), 'one is done'],
    two: ['two is done'],
  })
  const optionsFor = (written: string[]): RunOptions => ({
    tools: [agent(), tool('Write', (_input, { idempotencyKey }) => String(written.push(idempotencyKey)))],
    model: scriptedModel(script),
    clock: createFakeClock({ autoAdvance: true }),
    maxTurns: 20,
  })

  test('continues inside them after any record, and pays and writes nothing twice', async () => {
    const completeRun = await run(script, optionsFor([]) as Parameters<typeof run>[1])
    const kills = completeRun.steps.records.length
    expect(kills).toBeGreaterThan(30)
    for (let count = 1; count < kills; count++) {
      const written: string[] = []
      const options = optionsFor(written)
      const records = await killedAfter(count, options)
      const { loop, steps } = resume(records, { ...optionsFor(written) })
      const { terminal, state } = await loop.ended
      expect([count, terminal.reason]).toEqual([count, 'completed'])
      expect(new Set(written).size).toBe(written.length)
      expect(transcriptProblems(state.transcript.messages())).toEqual([])
      expect(state.spent.openAgents).toBeUndefined()
      // The figures include every recorded charge once.
      expect([count, state.spent.totalTokens]).toEqual([count, chargesIn(steps.records)])
      const taskStatuses = state.transcript
        .since(0)
        .flatMap((entry) =>
          entry.kind === 'user'
            ? (entry.tasks ?? []).flatMap((task) => (task.type === 'ended' ? [task.status] : []))
            : [],
        )
      expect([count, taskStatuses]).toEqual([count, ['completed', 'completed']])
      const again = await replay(
        steps.records.map((record) => json(record) as unknown as StepRecord),
        optionsFor([]),
      )
      expect(again.terminal).toMatchObject({ reason: terminal.reason, costUsd: terminal.costUsd })
      expect(again.terminal.summary).toEqual(terminal.summary)
    }
  })

  test('reports an agent that the program cannot continue, and pays for its requests', async () => {
    const completeRun = await run(script, optionsFor([]) as Parameters<typeof run>[1])
    const openIn = (record: StepRecord): number | undefined =>
      record.type === 'lap' && record.lap.scope === '' ? record.lap.spent.openAgents?.length : undefined
    const first = completeRun.steps.records.findIndex((record) => openIn(record) === 2)
    const last = completeRun.steps.records.findLastIndex((record) => openIn(record) !== undefined)
    expect(last).toBeGreaterThan(first)
    for (let count = first + 1; count <= last + 1; count++) {
      const records = await killedAfter(count, optionsFor([]))
      const { loop, steps } = resume(records, { ...optionsFor([]), tools: [tool('Write')] })
      const { terminal, state } = await loop.ended
      expect([count, terminal.reason]).toEqual([count, 'completed'])
      expect(loopMessages({ state: { ...state, startLength: 1 } }).map(([, text]) => text)).toContainEqual(
        expect.stringMatching(
          /was started by a process that no longer exists, so it cannot continue\. What it did is unknown/,
        ),
      )
      expect([count, state.spent.totalTokens]).toEqual([count, chargesIn(steps.records) + openTokens(steps.records)])
    }
  })
})

describe('a resumed agent', () => {
  test('has the time that was left of its own limit, counted from its start', async () => {
    const options = (worked: string[]): RunOptions => {
      const clock = createFakeClock({ autoAdvance: true })
      const taking = (name: string, ms: number) =>
        tool(name, async () => {
          worked.push(name)
          await new Promise<void>((resolve) => void clock.after(ms, resolve))
          return 'done'
        })
      return {
        clock,
        model: scriptedModel(
          byPrompt({ go: [calls(start('sub')), calls('Wait'), 'it works', 'done'], sub: () => calls('Work') }),
        ),
        tools: [agent({ maxDurationMs: 10_000 }), taking('Wait', 5_000), taking('Work', 4_000)],
      }
    }
    const completeRun = await run([], options([]) as never)
    const isSecond = (record: StepRecord): boolean => record.type === 'result' && /agent:.*tool:2:/.test(record.key)
    const count = completeRun.steps.records.findIndex(isSecond) + 1
    const worked: string[] = []
    const records = await killedAfter(count, options([]))
    const { terminal, state } = await resume(records, options(worked)).loop.ended
    expect([terminal.reason, worked]).toEqual(['completed', ['Work']])
    expect(loopMessages({ state: { ...state, startLength: 1 } })[0]?.[1]).toContain('was stopped before it was done')
  })

  test('has the limits that it was started with, whatever was set since', async () => {
    const script = byPrompt({
      go: [calls(start('sub')), calls('Set'), 'it works', 'done'],
      sub: (turn) => (turn < 6 ? calls('Work') : 'found it'),
    })
    const clock = createFakeClock({ autoAdvance: true })
    const work = tool('Work', async () => {
      await new Promise<void>((resolve) => void clock.after(1_000, resolve))
      return 'worked'
    })
    const going = begin(script, {
      clock,
      tools: [agent(), tool('Set', () => (going.loop.set({ limits: { maxTurns: 4 } }), 'set')), work],
    })
    const { steps, ...whole } = await going.end()
    const isSet = (record: StepRecord): boolean =>
      record.type === 'lap' && record.lap.scope === '' && record.lap.spent.settings !== null
    const records = json(steps.records.slice(0, steps.records.findIndex(isSet) + 1)) as never as readonly StepRecord[]
    expect(records.at(-1)).toMatchObject({
      lap: { spent: { openAgents: [{}], settings: { limits: { maxTurns: 4 } } } },
    })
    const options = { clock, model: scriptedModel(script), tools: [agent(), work] }
    const { terminal, state } = await resume(records, options).loop.ended
    for (const ended of [whole, { terminal, state: { ...state, startLength: 1 } }]) {
      expect(ended.terminal.reason).toBe('completed')
      expect(loopMessages(ended)).toEqual([['loop', expect.stringMatching(/has ended\..*\nfound it\n/s)]])
    }
  })

  test('is not a task of a process that is gone', async () => {
    const script = byPrompt({
      go: [calls(start('sub')), calls('Look'), 'it works', 'done'],
      sub: [calls('Look'), 'it'],
    })
    const options = (): RunOptions => ({
      model: scriptedModel(script),
      clock: createFakeClock({ autoAdvance: true }),
      tools: [agent(), tool('Look')],
      background: processWith().background,
    })
    const completeRun = await run(script, options() as never)
    const isOpen = (record: StepRecord): boolean =>
      record.type === 'lap' && record.lap.scope === '' && record.lap.spent.openAgents !== undefined
    const records = await killedAfter(completeRun.steps.records.findIndex(isOpen) + 1, options())
    const { terminal, state } = await resume(records, options()).loop.ended
    expect(terminal.reason).toBe('completed')
    expect(notesIn(state.transcript).map((note) => [note.type, 'status' in note ? note.status : ''])).toEqual([
      ['started', ''],
      ['ended', 'completed'],
    ])
  })

  test('ends the run with a mismatch when its request differs, and writes nothing more', async () => {
    const script = byPrompt({ go: [calls(start('sub')), 'it works', 'done'], sub: [calls('Look'), 'found it'] })
    const options = (more: Parameters<typeof agent>[0] = {}): RunOptions => ({
      model: scriptedModel(script),
      clock: createFakeClock({ autoAdvance: true }),
      tools: [agent(more), tool('Look')],
    })
    const completeRun = await run(script, options() as never)
    const isAsked = (record: StepRecord): boolean => record.type === 'result' && /agent:.*model:2\./.test(record.key)
    const records = await killedAfter(completeRun.steps.records.findIndex(isAsked) + 1, options())
    const { loop, steps } = resume(records, options({ prompt: 'something else' }))
    const { error } = await loop.result
    expect(error?.code).toBe('step_mismatch')
    expect(steps.records.some(({ type }) => type === 'end')).toBe(false)
  })
})
