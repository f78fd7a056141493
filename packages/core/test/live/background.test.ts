// Tests R-BACK-1 to R-BACK-7.
import { describe, expect, test } from 'vitest'
import {
  certificate,
  noProgress,
  replay,
  resume,
  type AgentTool,
  type RunOptions,
  type SdkMessage,
  type StepRecord,
  type TranscriptEntry,
} from '../../src/index.ts'
import type { Background } from '../../src/entries/adapters.ts'
import {
  DurableStepEngine,
  type SideEffectScope,
  type MaybePromise,
  type StepKey,
  type StepOptions,
  type StepResult,
} from '../../src/entries/steps.ts'
import { createFakeClock, scriptedModel, transcriptProblems, type ScriptedReply } from '../../src/testing/index.ts'
import { agent, byPrompt, heldReply, notesIn, processWith, start as startAgent, starts } from '../support/background.ts'
import { engineOf } from '../support/engine.ts'
import {
  attachments,
  begin,
  calls,
  isLive,
  json,
  reader,
  run,
  loopMessages,
  tool,
  until,
  type RunningRun,
} from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'
import { noProgressNudge } from '../../src/limits/guard-texts.ts'
import { answerAgain } from '../../src/run/turn-texts.ts'

const inFull = answerAgain

describe('the end of background work of a tool', () => {
  test('is reported before the next request, in a message of the loop, with its subject', async () => {
    const { background, start, end } = processWith()
    const script = (_: unknown, index: number): ScriptedReply =>
      index === 0 ? starts('a') : index === 1 ? { ...calls('Look'), before: () => end('a') } : 'done'
    const ended = await run(script, { tools: [start, reader('Look')], background })
    expect(loopMessages(ended)).toEqual([['loop', '[a] task a ended.']])
    expect(ended.transitions).toEqual(['next_turn', 'next_turn'])
    const notes = ended.state.transcript.toJSON().flatMap((entry) => (entry.kind === 'user' ? (entry.tasks ?? []) : []))
    expect(notes).toEqual([
      { type: 'started', id: 'a', description: 'task a', callId: 'call_0_0' },
      { type: 'ended', id: 'a', status: 'completed', summary: 'task a ended.', callId: 'call_0_0' },
    ])
  })

  test('is a line of the SDK message format, like its start', async () => {
    const { background, start, end } = processWith()
    const script = (_: unknown, index: number): ScriptedReply =>
      index === 0 ? starts('a') : { text: 'done', before: () => end('a') }
    const { engine } = engineOf(script, { tools: [start], background })
    const lines: SdkMessage[] = []
    for await (const message of engine.submit('go')) lines.push(message)
    const about = lines.flatMap((line) =>
      line.type === 'system' && line.subtype.startsWith('task_') ? [{ ...line, uuid: '', session_id: '' }] : [],
    )
    const base = { type: 'system', uuid: '', session_id: '', task_id: 'a', tool_use_id: 'call_0_0' }
    expect(about).toEqual([
      { ...base, subtype: 'task_started', description: 'task a' },
      { ...base, subtype: 'task_notification', status: 'completed', output_file: '', summary: 'task a ended.' },
    ])
  })

  test('is not reported again by the tool that reported it, nor when a hook was to see the result', async () => {
    const { background, start, state } = processWith()
    const asks = reader('Ask', () => {
      const tasks = [{ type: 'ended', id: 'a', status: 'failed', summary: 'it failed' }] as const
      state.set('a', tasks[0])
      return { content: 'it failed', tasks }
    })
    const script = (_: unknown, index: number): ScriptedReply =>
      index === 0 ? starts('a') : index === 1 ? calls('Ask', 'Ask') : 'done'
    const ended = await run(script, { tools: [start, asks], background })
    expect(loopMessages(ended)).toEqual([])
    const notes = [...ended.state.transcript].flatMap((entry) => (entry.kind === 'user' ? (entry.tasks ?? []) : []))
    expect(notes.map(({ type }) => type)).toEqual(['started', 'ended'])
  })

  test('is no progress of a run in a cycle', async () => {
    const { background, start, end } = processWith()
    const script = (_: unknown, index: number): ScriptedReply =>
      index === 0
        ? starts('a')
        : index < 4
          ? { ...calls('Look'), before: () => (index === 2 ? end('a') : undefined) }
          : 'done'
    const ended = await run(script, { tools: [start, reader('Look')], background, stopWhen: noProgress() })
    expect(loopMessages(ended)).toEqual([
      ['loop', '[a] task a ended.'],
      ['loop', expect.stringMatching(noProgressNudge.slice(0, 40))],
    ])
  })

  test('is ignored when it is invalid', async () => {
    const invalidNews = reader(
      'Odd',
      () =>
        ({ content: 'odd', tasks: [null, 3, { type: 'started' }, { type: 'ended', id: 'x', status: 'odd' }] }) as never,
    )
    const { state } = await run([calls('Odd'), 'done'], { tools: [invalidNews] })
    expect(state.transcript.toJSON().some((entry) => 'tasks' in entry)).toBe(false)
  })
})

describe('an answer while something still runs', () => {
  test('waits for its end, which is reported to the model in an ordinary turn', async () => {
    const { background, start, end, left, listeners } = processWith()
    const going = begin([starts('a', 'b'), 'a moment', 'one is done', 'all done'], { tools: [start], background })
    await until(() => listeners.size === 1)
    end('a')
    await until(() => going.model.requests.length === 3 && listeners.size === 1)
    end('b')
    const ended = await going.end()
    expect(loopMessages(ended)).toEqual([
      ['loop', `[a] task a ended.\n${inFull}`],
      ['loop', `[b] task b ended.\n${inFull}`],
    ])
    expect(ended.transitions).toEqual(['next_turn', 'user_input', 'user_input'])
    expect([ended.terminal.reason, left, listeners.size]).toEqual(['completed', ['ended'], 0])
    expect(attachments(ended)).toEqual([])
  })

  test('waits during the time of the run', async () => {
    const clock = createFakeClock({ autoAdvance: true })
    const { background, start, end } = processWith()
    clock.after(90_000, () => end('a'))
    const { terminal } = await run([starts('a'), 'a moment', 'done'], { tools: [start], background, clock })
    expect([terminal.reason, terminal.durationMs]).toEqual(['completed', 90_000])
  })

  test('waits no longer than the bound, and then reports what was stopped', async () => {
    const { background, start } = processWith({ waitMs: 5_000 })
    const ended = await run([starts('a'), 'the answer'], { tools: [start], background })
    expect([ended.terminal.reason, ended.terminal.durationMs]).toEqual(['completed', 5_000])
    expect(attachments(ended)).toEqual([{ type: 'informational', message: 'Stopped when the run ended: a (task a).' }])
  })

  test('waits for nine tenths of the remaining time, so that the existing answer remains valid', async () => {
    const clock = createFakeClock({ autoAdvance: true })
    const { background, start } = processWith()
    const work = tool('Work', async () => {
      await new Promise<void>((resolve) => void clock.after(10_000, resolve))
      return 'worked'
    })
    const options = { tools: [start, work], background, clock, maxDurationMs: 20_000 }
    const ended = await run([starts('a'), 'the answer'], options)
    expect([ended.terminal.reason, ended.terminal.durationMs]).toEqual(['completed', 18_000])
    const later = await run([starts('a'), calls('Work'), 'the answer'], options)
    expect([later.terminal.reason, later.terminal.durationMs]).toEqual(['completed', 19_000])
  })

  test('does not wait when one has already ended: that is reported first', async () => {
    const { background, start, end } = processWith()
    const script = [
      starts('a', 'b'),
      { text: 'a moment', before: () => end('a') },
      { text: 'one is done', before: () => end('b') },
      'all done',
    ]
    const ended = await run(script, { tools: [start], background })
    expect(loopMessages(ended)).toEqual([
      ['loop', `[a] task a ended.\n${inFull}`],
      ['loop', `[b] task b ended.\n${inFull}`],
    ])
    expect([ended.terminal.reason, ended.terminal.durationMs]).toEqual(['completed', 0])
  })

  test('misses no end that occurs while a step engine is about to start the wait', async () => {
    const { background, start, end } = processWith()
    const clock = createFakeClock({ autoAdvance: true })
    class LateSteps extends DurableStepEngine {
      override run<T>(
        key: StepKey,
        effect: (scope: SideEffectScope) => MaybePromise<T>,
        options: StepOptions<T>,
      ): MaybePromise<StepResult<T>> {
        const late = async (scope: SideEffectScope): Promise<T> => {
          if (key.includes('/background:')) end('a')
          return effect(scope)
        }
        return super.run(key, late, options)
      }
    }
    const log = { keeps: 'all', append: () => {}, flush: () => undefined } as const
    const steps = new LateSteps({ log, clock }) as never
    const ended = await run([starts('a'), 'a moment', 'done'], { tools: [start], background, clock, steps })
    expect(loopMessages(ended)).toEqual([['loop', `[a] task a ended.\n${inFull}`]])
    expect([ended.terminal.reason, ended.terminal.durationMs]).toEqual(['completed', 0])
  })

  test.each([['stop'], ['keep']] as const)('does not wait when the policy is %s', async (atEnd) => {
    const { background, start } = processWith({ atEnd })
    const ended = await run([starts('a'), 'the answer'], { tools: [start], background })
    expect([ended.terminal.reason, ended.terminal.durationMs]).toEqual(['completed', 0])
    const words = atEnd === 'stop' ? 'Stopped when the run ended' : 'Still running'
    expect(attachments(ended)).toEqual([{ type: 'informational', message: `${words}: a (task a).` }])
  })

  test('does not wait in the last turn: no turn would be left to answer, and the answer is complete', async () => {
    const { background, start, end } = processWith()
    const script = (_: unknown, index: number): ScriptedReply =>
      index === 0 ? starts('a', 'b') : { text: 'the answer', before: () => end('a') }
    const ended = await run(script, { tools: [start], background, maxTurns: 2 })
    expect([ended.terminal.reason, ended.terminal.durationMs]).toEqual(['completed', 0])
    expect(attachments(ended)).toEqual([{ type: 'informational', message: 'Stopped when the run ended: b (task b).' }])
  })

  test('nor when nothing has ended by then', async () => {
    const { background, start } = processWith()
    const ended = await run([starts('a'), 'the answer'], { tools: [start], background, maxTurns: 2 })
    expect([ended.terminal.reason, ended.terminal.durationMs]).toEqual(['completed', 0])
  })

  test('is bounded by the turns, however much background work there is', async () => {
    const { background, start, end, state } = processWith()
    const script = (_: unknown, index: number): ScriptedReply =>
      index % 2 === 0 ? starts(`t${index}`) : { text: 'again', before: () => [...state.keys()].forEach(end) }
    const ended = await run(script, { tools: [start], background, maxTurns: 7 })
    expect(ended.model.requests.length).toBe(7)
    expect(ended.transitions.length).toBe(6)
  })

  test('is counted among the turns in the certificate, which mentions the wait', () => {
    const { background, start } = processWith({ waitMs: 5_000 })
    const options = { model: scriptedModel([]), tools: [start], maxTurns: 3 }
    const { notes, ...bounds } = certificate({ ...options, background })
    const { notes: plain, ...plainBounds } = certificate(options)
    expect([bounds, plain]).toEqual([plainBounds, []])
    expect(notes).toEqual([expect.stringContaining('waits for background tasks: at most 5 s each time')])
  })

  test('is woken by a message', async () => {
    const { background, start, listeners } = processWith({ waitMs: 1_000_000 })
    const going: RunningRun = begin([starts('a'), 'a moment', 'yes'], {
      tools: [start],
      background,
      clock: createFakeClock(),
    })
    await until(() => listeners.size === 1)
    going.loop.steer('hurry')
    await until(() => listeners.size === 1 && going.model.requests.length === 3)
    going.loop.stop()
    const ended = await going.end()
    expect(loopMessages(ended)[0]).toEqual(['steer', 'hurry'])
    expect(ended.terminal.reason).toBe('completed')
  })

  test.each([
    ['user', 'aborted_streaming', ['aborted']],
    ['terminated', 'aborted_streaming', ['aborted']],
    ['interrupt', 'aborted_streaming', []],
    ['time', 'time_limit', ['ended']],
  ] as const)('ends the wait on an abort by %s, and stops the work accordingly', async (cause, reason, whys) => {
    const { background, start, left, listeners } = processWith()
    const going = begin([starts('a'), 'a moment'], { tools: [start], background, clock: createFakeClock() })
    await until(() => listeners.size === 1)
    going.loop.abort(cause)
    const ended = await going.end()
    expect([ended.terminal.reason, left, listeners.size]).toEqual([reason, whys, 0])
  })
})

describe('background work when a run does not end by itself', () => {
  test('of a subagent is awaited by the main loop, and reported to it', async () => {
    const { background, start, end, listeners } = processWith()
    const agent: AgentTool = {
      name: 'Helper', description: 'helps', inputSchema: { type: 'object' }, readOnly: false,
      spawn: () => ({ prompt: 'help', tools: ['Start'] }),
    } // prettier-ignore
    const script = [calls('Helper'), starts('a'), 'it runs', 'a moment', 'all done']
    const going = begin(script, { tools: [start, agent], background })
    await until(() => listeners.size === 1)
    end('a')
    const ended = await going.end()
    expect(loopMessages(ended)).toEqual([['loop', `[a] task a ended.\n${inFull}`]])
    expect([ended.terminal.reason, ended.model.requests.length]).toEqual(['completed', 5])
  })

  const agentOf = (...tools: readonly string[]): AgentTool => ({
    name: 'Helper', description: 'helps', inputSchema: { type: 'object' }, readOnly: false,
    spawn: () => ({ prompt: 'help', tools }),
  }) // prettier-ignore
  const taskNotesOf = ({ state }: { readonly state: { readonly transcript: Iterable<TranscriptEntry> } }) =>
    notesIn(state.transcript).map(({ type, id, callId }) => [type, id, callId])

  test('of a subagent is in the transcript of the main loop, and a later process reports it as lost', async () => {
    const { background, start } = processWith({ atEnd: 'keep' })
    const script = [calls('Helper'), calls('Helper'), starts('a'), 'it runs', 'so it does', 'done']
    const tools = [start, agentOf('Helper', 'Start')]
    const one = await run(script, { tools, background })
    expect(taskNotesOf(one)).toEqual([
      ['started', 'a', 'call_2_0'],
      ['left', 'a', 'call_2_0'],
    ])
    const { transcript } = one.state
    const two = await run(
      ['hello'],
      { tools, background: processWith().background },
      { prompt: 'and?', transcript, runId: 'run2' },
    )
    expect(loopMessages(two)).toEqual([['loop', expect.stringContaining('[a] a (task a) was still running')]])
  })

  test('of a background agent is there with its end, unless it has ended before that', async () => {
    for (const endsFirst of [true, false]) {
      const { background, start, end } = processWith()
      const sub = heldReply()
      const script = byPrompt({
        go: [
          calls(startAgent('sub')),
          { ...calls('Look'), before: () => until(() => going.model.requests.length === 4) },
          { ...calls('Look'), before: () => (endsFirst ? end('a') : sub.let()) },
          { text: 'a moment', before: () => (endsFirst ? sub.let() : end('a')) },
        ],
        sub: [starts('a'), sub.reply],
      })
      const going = begin(script, { tools: [start, agent(), reader('Look')], background })
      const ended = await going.end()
      expect(ended.terminal.reason).toBe('completed')
      const ofTask = notesIn(ended.state.transcript).filter(({ id }) => id === 'a')
      expect(ofTask.map(({ type }) => type)).toEqual(endsFirst ? ['ended'] : ['started', 'ended'])
      const { transcript } = ended.state
      const later = { tools: [start], background: processWith().background }
      expect(loopMessages(await run(['hello'], later, { prompt: 'and?', transcript, runId: 'run2' }))).toEqual([])
    }
  })

  test('of a subagent is one line of the SDK message format', async () => {
    const { background, start, end } = processWith()
    const script = (_: unknown, index: number): ScriptedReply =>
      index === 0 ? calls('Helper') : index === 1 ? starts('a') : { text: 'done', before: () => end('a') }
    const { engine } = engineOf(script, { tools: [start, agentOf('Start')], background })
    const about: unknown[] = []
    for await (const message of engine.submit('go'))
      if (message.type === 'system' && 'task_id' in message && message.task_id === 'a') about.push(message.subtype)
    expect(about).toEqual(['task_started', 'task_notification'])
  })

  test('of a subagent that cannot be started again is reported as lost', async () => {
    const process = processWith()
    const script = [calls('Helper'), starts('a'), 'it runs', 'done']
    const options = {
      model: scriptedModel(script),
      clock: createFakeClock({ autoAdvance: true }),
      tools: [process.start, agentOf('Start')],
      background: process.background,
    }
    const records = await killedAfter(9, options)
    expect(JSON.stringify(records)).toContain('"type":"started"')
    const other = processWith()
    const after = { ...options, model: scriptedModel(['I see.']), tools: [other.start], background: other.background }
    const { terminal, state } = await resume(records, after).loop.ended
    expect([terminal.reason, taskNotesOf({ state })]).toEqual([
      'completed',
      [
        ['started', 'a', 'call_0_0'],
        ['ended', 'a', 'call_0_0'],
      ],
    ])
  })

  test('continues when a new message replaces the run, and the new run is notified of it', async () => {
    const { background, start, end, listeners, left } = processWith()
    const { engine, model } = engineOf([starts('a'), 'a moment', 'to the second'], { tools: [start], background })
    const read = async (prompt: string): Promise<unknown> => {
      const messages: SdkMessage[] = []
      for await (const message of engine.submit(prompt)) messages.push(message)
      const last = messages.at(-1)
      return last?.type === 'result' && last.terminal_reason
    }
    const first = read('one')
    await until(() => listeners.size === 1)
    const second = read('two')
    end('a')
    expect([await first, await second, left]).toEqual(['aborted_streaming', 'completed', ['ended']])
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('[a] task a ended.')
  })

  test('is not ended by a run that compacts the conversation', async () => {
    const { background, start, left } = processWith({ atEnd: 'keep' })
    const { engine } = engineOf([starts('a'), 'done', 'a summary'], { tools: [start], background })
    for await (const _ of engine.submit('go')) continue
    for await (const _ of engine.compact()) continue
    expect([left, background.running().length]).toEqual([['ended'], 1])
  })
})

describe('over a crash', () => {
  const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }): ScriptedReply => {
    const turn = messages.filter(({ role }) => role === 'assistant').length
    return turn === 0 ? starts('a') : turn === 1 ? calls('Look') : 'done'
  }
  /** A process whose task ends when the run waits for it. */
  const options = (): RunOptions => {
    const process = processWith({ waitMs: 5_000 })
    const clock = createFakeClock({ autoAdvance: true })
    clock.after(1_000, () => {
      if (process.state.has('a')) process.end('a')
    })
    return {
      model: scriptedModel(script),
      clock,
      tools: [process.start, reader('Look')],
      background: process.background,
    }
  }

  const withoutPort = (): RunOptions => {
    const { background: _, ...others } = options()
    return others
  }

  test('after any record the run ends, and each task that began has ended exactly once', async () => {
    const completeRun = await run(script, options() as never)
    const total = completeRun.steps.records.length
    let lost = 0
    for (let count = 1; count < total; count++) {
      const records = await killedAfter(count, options())
      const resumed = resume(records, options())
      const { terminal, state } = await resumed.loop.ended
      expect([count, terminal.reason]).toEqual([count, 'completed'])
      // A replay repeats the outcome, and a program without such background work can continue from there too.
      const again = resumed.steps.records.map((record) => json(record) as unknown as StepRecord)
      const replayed = await replay(again, withoutPort())
      const entries = replayed.events.flatMap((event) => (event.type === 'message' ? [event.entry] : []))
      expect([count, json(entries)]).toEqual([count, json(state.transcript)])
      expect([count, (await resume(records, withoutPort()).loop.result).reason]).toEqual([count, 'completed'])
      expect(transcriptProblems(state.transcript.messages())).toEqual([])
      const notes = state.transcript.toJSON().flatMap((entry) => (entry.kind === 'user' ? (entry.tasks ?? []) : []))
      const of = (type: string): number => notes.filter((note) => note.type === type).length
      expect([count, of('ended')]).toEqual([count, of('started')])
      if (notes.some((note) => note.type === 'ended' && note.status === 'unknown')) lost++
    }
    // The process that ran it is gone, and the model is notified.
    expect(lost).toBeGreaterThan(3)
  })

  test('a replay has the same events, without any process', async () => {
    const completeRun = await run(script, options() as never)
    const records = completeRun.steps.records.map((record) => json(record) as unknown as StepRecord)
    const replayed = await replay(records, withoutPort())
    const plain = (events: typeof completeRun.events) => json(events.filter((event) => !isLive(event)))
    expect(plain(replayed.events)).toEqual(plain(completeRun.events))
    expect(json(replayed.terminal)).toEqual(json(completeRun.terminal))
  })

  test('a replay reports what was stopped at the end', async () => {
    const { background, start } = processWith({ atEnd: 'stop' })
    const completeRun = await run([starts('a'), 'done'], { tools: [start], background })
    const records = completeRun.steps.records.map((record) => json(record) as unknown as StepRecord)
    const replayed = await replay(records, { model: scriptedModel([]), tools: [start] })
    expect(json(replayed.events.filter((event) => !isLive(event)))).toEqual(
      json(completeRun.events.filter((event) => !isLive(event))),
    )
  })
})

describe('a later run of the session', () => {
  const next = async (
    first: ReturnType<typeof processWith>,
    second: Background,
  ): Promise<readonly (readonly [string, string])[]> => {
    const one = await run([starts('a'), 'done'], { tools: [first.start], background: first.background })
    const { transcript } = one.state
    const two = await run(
      ['hello'],
      { tools: [first.start], background: second },
      { prompt: 'and?', transcript, runId: 'run2' },
    )
    return loopMessages(two)
  }

  test('gets a report of what was stopped when the previous one ended', async () => {
    const first = processWith({ atEnd: 'stop' })
    expect(await next(first, first.background)).toEqual([
      ['loop', '[a] task a was stopped when the previous run ended.'],
    ])
  })

  test('in the same process continues with the kept tasks, without a report', async () => {
    const first = processWith({ atEnd: 'keep' })
    expect(await next(first, first.background)).toEqual([])
  })

  test('in another process gets a report that it cannot be reached', async () => {
    const first = processWith({ atEnd: 'keep' })
    const second: Background = { ...processWith().background, fateOf: () => 'Nobody knows.' }
    expect(await next(first, second)).toEqual([
      [
        'loop',
        '[a] a (task a) was still running when the previous run ended, and can no longer be reached by its id. Nobody knows.',
      ],
    ])
  })
})
