// Tests R-SESS-2 to R-SESS-4, R-SET-4b, R-SET-4c, R-IN-3: an engine continues with a session that an earlier process left.
import { dollarATokenPrices as prices } from '../support/harness.ts'
import { describe, expect, test } from 'vitest'
import {
  streamRun,
  type Permissions,
  QueryEngine,
  replay,
  startRun,
  type RunOptions,
  type QueryOptions,
  type SdkMessage,
} from '../../src/index.ts'
import { createMemorySteps, foldSession, type StoredSession, type StepRecord } from '../../src/entries/steps.ts'
import { scriptedModel, transcriptProblems, type ScriptedReply } from '../../src/testing/index.ts'

const script: readonly ScriptedReply[] = [{ toolCalls: [{ name: 'Look' }] }, { toolCalls: [{ name: 'Write' }] }, 'done']

interface World {
  readonly options: RunOptions
  readonly written: string[]
  readonly asked: () => number
}

function worldOf(replies: readonly ScriptedReply[], written: string[] = []): World {
  let callCount = 0
  const model = scriptedModel(replies)
  const counting = { ...model, call: (...args: Parameters<typeof model.call>) => (callCount++, model.call(...args)) }
  const tool = (name: string, readOnly: boolean) => ({
    name,
    description: '',
    inputSchema: { type: 'object' },
    readOnly,
    execute: () => (readOnly || written.push(name), 'ok'),
  })
  return {
    options: { model: counting, tools: [tool('Look', true), tool('Write', false)] },
    written,
    asked: () => callCount,
  }
}

/** The records of a whole run, and what was written when each of them was made. */
async function recorded(replies = script, options: Partial<RunOptions> = {}) {
  const world = worldOf(replies)
  const cuts: {
    readonly records: readonly StepRecord[]
    readonly written: readonly string[]
    readonly asked: number
  }[] = []
  const all: StepRecord[] = []
  const steps = createMemorySteps({
    onRecord: (record) => {
      all.push(record)
      cuts.push({ records: [...all], written: [...world.written], asked: world.asked() })
    },
  })
  await streamRun(startRun({ prompt: 'go' }), { ...world.options, ...options, steps }).result
  return { records: all, cuts }
}

function keptOf(runs: readonly (readonly StepRecord[])[]): {
  readonly session: StoredSession
  readonly added: StepRecord[]
} {
  const added: StepRecord[] = []
  // A file contains JSON.
  const stored = JSON.parse(JSON.stringify(runs)) as readonly (readonly StepRecord[])[]
  const log = { keeps: 'all' as const, append: (record: StepRecord) => void added.push(record), flush: () => undefined }
  return { session: { ...foldSession(stored), log }, added }
}

async function all(messages: AsyncIterable<SdkMessage>): Promise<readonly SdkMessage[]> {
  const seen: SdkMessage[] = []
  for await (const message of messages) seen.push(message)
  return seen
}

const engineOf = (options: Partial<QueryOptions> & Pick<QueryOptions, 'model'>): QueryEngine =>
  new QueryEngine({ sessionId: 'session', ...options })

describe('a run that was killed after any of its records', () => {
  test('continues without a prompt: nothing is paid or written twice, and the record is that of one whole run', async () => {
    const { cuts } = await recorded()
    for (const { records, written } of cuts.slice(0, -1)) {
      const replied = records.filter(
        ({ type, ...record }) => type === 'result' && 'key' in record && record.key.includes('model:'),
      ).length
      const world = worldOf(script.slice(replied), [...written])
      const { session, added } = keptOf([records])
      const messages = await all(engineOf({ ...world.options, session }).resume())
      const output = JSON.stringify(messages)
      expect(messages.at(-1)).toMatchObject({ type: 'result', subtype: 'success', result: 'done', num_turns: 3 })
      expect(world.written.length).toBeLessThanOrEqual(1)
      expect(world.written.length === 1 || output.includes('unknown')).toBe(true)
      expect(world.asked()).toBe(script.length - replied)
      const whole = foldSession([[...records, ...added]])
      expect([whole.open, whole.ended.map(({ runId }) => runId)]).toEqual([undefined, ['run1']])
      expect(transcriptProblems(whole.transcript.messages())).toEqual([])
    }
  })

  test('is closed by a new prompt: it does nothing more, and has no result of its own', async () => {
    const { cuts } = await recorded()
    for (const { records, written } of cuts.slice(0, -1)) {
      const world = worldOf(['next'], [...written])
      const { session, added } = keptOf([records])
      const engine = engineOf({ ...world.options, session })
      const messages = await all(engine.submit('something else'))
      expect(messages.filter(({ type }) => type === 'result')).toMatchObject([{ result: 'next', num_turns: 1 }])
      expect([world.written, world.asked()]).toEqual([written, 1])
      const ends = added.flatMap((record) => (record.type === 'end' ? [record.terminal.reason] : []))
      expect(ends).toHaveLength(2)
      expect(ends[1]).toBe('completed')
      expect(transcriptProblems(engine.transcript.messages())).toEqual([])
      const starts = added.flatMap((record) => (record.type === 'start' ? [record.start.run.runId] : []))
      expect(starts).toEqual(['run2'])
    }
  })
})

test('counts its first message once, also when it is submitted again while the run continues in another process', async () => {
  const before = keptOf([])
  await all(engineOf({ ...worldOf(script).options, session: before.session }).submit('go', { id: 'mine' }))
  for (let killedAfter = 1; killedAfter < before.added.length; killedAfter++) {
    const { session } = keptOf([before.added.slice(0, killedAfter)])
    const engine = engineOf({ ...worldOf([...script, ...script]).options, session })
    const going = all(engine.resume())
    engine.steer('go', 'mine')
    await going
    expect([killedAfter, JSON.stringify(engine.transcript.messages()).split('"go"').length - 1]).toEqual([
      killedAfter,
      1,
    ])
  }
})

test('applies settings made before a resume to its next request, and records them', async () => {
  const modes: (string | undefined)[] = []
  const permissions: Permissions = {
    modes: ['default', 'plan', 'acceptEdits'],
    denies: () => undefined,
    decide({ call, mode }) {
      if (call.name === 'Write') modes.push(mode)
      return { behavior: 'allow' }
    },
  }
  const inMode = startRun({ prompt: 'go', settings: { permissionMode: 'acceptEdits' } })
  const records: StepRecord[] = []
  const steps = createMemorySteps({ onRecord: (record) => void records.push(record) })
  await streamRun(inMode, { ...worldOf(script).options, permissions, steps }).result
  const looked = records.findIndex((record) => record.type === 'result' && record.key.includes('tool:'))
  const { session, added } = keptOf([records.slice(0, looked + 1)])
  const engine = engineOf({ ...worldOf(script.slice(1)).options, permissions, session })
  engine.set({ permissionMode: 'plan' })
  await all(engine.resume())
  expect(modes).toEqual(['acceptEdits', 'plan'])
  expect(JSON.stringify(added)).toContain('"settings":{"permissionMode":"plan"}')
})

test('judges undecided calls in the new mode, and keeps recorded decisions', async () => {
  const judged: string[] = []
  const permissions: Permissions = {
    modes: ['default', 'plan', 'acceptEdits'],
    denies: () => undefined,
    decide({ call, mode = 'none' }) {
      judged.push(`${call.id} ${mode}`)
      return mode === 'plan' ? { behavior: 'deny', message: 'planning' } : { behavior: 'allow' }
    },
  }
  const ids = ['a', 'b', 'c']
  const replies: readonly ScriptedReply[] = [{ toolCalls: ids.map((id) => ({ id, name: 'Write' })) }, 'done']
  const inMode = startRun({ prompt: 'go', settings: { permissionMode: 'acceptEdits' } })
  const records: StepRecord[] = []
  const steps = createMemorySteps({ onRecord: (record) => void records.push(record) })
  await streamRun(inMode, { ...worldOf(replies).options, permissions, steps }).result
  const isOf = (name: string, record: StepRecord): boolean =>
    record.type === 'result' && record.key.includes(name) && ids.some((id) => record.key.endsWith(`:${id}`))
  const left = ids.map((id) => `${id} plan`)
  for (const [at, record] of records.entries()) {
    if (!isOf('permission:', record) && !isOf('tool:', record)) continue
    const cutRecords = records.slice(0, at + 1)
    if (isOf('permission:', record)) left.shift()
    if (left.length === 0) break
    const options = { ...worldOf(replies.slice(1)).options, permissions }
    const { session, added } = keptOf([cutRecords])
    const engine = engineOf({ ...options, session })
    engine.set({ permissionMode: 'plan' })
    judged.length = 0
    await all(engine.resume())
    expect([at, ...judged]).toEqual([at, ...left])
    // Its record has the same events without the person, for a replay and for another resume.
    const whole = [...cutRecords, ...added]
    expect((await replay(whole, options)).terminal.reason).toBe('completed')
    const set = whole.findIndex(({ type }) => type === 'control')
    const again = engineOf({ ...options, session: keptOf([whole.slice(0, set + 1)]).session })
    judged.length = 0
    await all(again.resume())
    expect([at, ...judged]).toEqual([at, ...left])
  }
  expect(left).toEqual([])
})

describe('a session that continues', () => {
  const usage = { input_tokens: 1_000, output_tokens: 1_000 }

  test('counts its cost once, also when a run carries the counters of another', async () => {
    const replies = [
      { toolCalls: [{ name: 'Look' }], usage },
      { toolCalls: [{ name: 'Look' }], usage },
    ]
    const { records } = await recorded(replies, { prices, maxTurns: 2 })
    const { session, added } = keptOf([records])
    const before = engineOf({ ...worldOf([]).options, prices, session })
    expect(before.totalCostUsd).toBeCloseTo(4_000, 6)

    const world = worldOf([{ text: 'done', usage }])
    const engine = engineOf({ ...world.options, prices, session, maxTurns: 3, maxBudgetUsd: 1_000_000 })
    const messages = await all(engine.resume())
    expect(messages.at(-1)).toMatchObject({ result: 'done', num_turns: 3 })
    expect(engine.totalCostUsd).toBeCloseTo(6_000, 6)
    const start = added.find(({ type }) => type === 'start')
    expect(start).toMatchObject({ start: { run: { runId: 'run2', continues: 'run1' }, spent: { turns: 2 } } })

    const { session: both } = keptOf([records, added])
    const later = engineOf({ ...worldOf(['more']).options, prices, session: both, maxBudgetUsd: 6_000 })
    expect(later.totalCostUsd).toBeCloseTo(6_000, 6)
    expect((await all(later.submit('more'))).at(-1)).toMatchObject({
      terminal_reason: 'budget_exhausted',
      num_turns: 0,
    })
  })

  test('has nothing to resume when no run was left open', () => {
    const { options } = worldOf([])
    expect(() => engineOf(options).resume()).toThrow('There is no run to continue. Pass a prompt.')
    expect(() => engineOf({ ...options, session: keptOf([]).session }).resume()).toThrow('There is no run to continue.')
  })
})
