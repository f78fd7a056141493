// Tests R-END-10 to R-END-10c: a process that is about to exit in the middle of a run.
import { describe, expect, test } from 'vitest'
import { linesIn, runProgram } from '../support/processes.ts'

const ended = `
  const summary = ({ terminal, state }) => ({
    reason: terminal.reason,
    code: terminal.error?.code,
    results: state.transcript.messages().flatMap(({ content }) => typeof content === 'string' ? [] : content)
      .filter(({ type }) => type === 'tool_result').map(({ tool_use_id }) => tool_use_id),
    problems: testing.transcriptProblems(state.transcript.messages()),
  })
`

const stuckPrograms: readonly (readonly [what: string, options: string, results: readonly string[]])[] = [
  ['a tool', `{ model: testing.scriptedModel([calls('Stuck')]), tools: [tool('Stuck', never)] }`, ['Stuck0']],
  [
    'parallel tools',
    `{ model: testing.scriptedModel([calls('Stuck', 'Stuck', 'Quick')]), tools: [tool('Stuck', never), tool('Quick', () => 'done')] }`,
    ['Stuck0', 'Stuck1', 'Quick2'],
  ],
  [
    'a tool of a subagent',
    `{
      model: testing.scriptedModel([calls('Agent'), calls('Stuck'), 'The end.', 'The end.']),
      tools: [core.agentTool({ name: 'Agent', description: 'agent', spawn: () => ({ prompt: 'go' }) }), tool('Stuck', never)],
    }`,
    ['Agent0'],
  ],
  ['a model', `{ model: testing.scriptedModel([{ hang: true, deaf: true }]) }`, []],
  [
    'a hook',
    `{ model: testing.scriptedModel(['Done.']), hooks: [new core.CallableHook(never, { triggers: ['beforeInference'] })] }`,
    [],
  ],
  [
    'a record that is never written',
    `{
      model: testing.scriptedModel(['Done.']),
      steps: new entry.DurableStepEngine({ log: { keeps: 'all', append() {}, flush: never } }),
    }`,
    [],
  ],
]

describe('a process that nothing could wake', () => {
  test.each(stuckPrograms)('because of %s: the run ends as error, with a result', async (_what, options, results) => {
    const end = await runProgram(`${ended}
      const running = core.streamRun(core.startRun({ prompt: 'go' }), ${options})
      const events = []
      for await (const { type } of running) events.push(type)
      say({ ...summary(await running.ended), last: events.at(-1), ends: events.filter((type) => type === 'run_end').length })
    `)
    expect({ ...end, stdout: linesIn(end.stdout) }).toEqual({
      exitCode: 0,
      stderr: '',
      stdout: [{ reason: 'error', code: 'stalled', results, problems: [], last: 'run_end', ends: 1 }],
    })
  })

  test('records the end, and a query has its result message', async () => {
    const end = await runProgram(`
      const records = []
      const query = core.query({
        prompt: 'go',
        options: {
          model: testing.scriptedModel([calls('Stuck')]),
          tools: [tool('Stuck', never)],
          stepsFor: () => core.createMemorySteps({ onRecord: (record) => records.push(record) }),
        },
      })
      let last
      for await (const message of query) last = message
      say([last.type, last.subtype, last.terminal_reason, records.at(-1).type, records.at(-1).terminal?.reason])
    `)
    expect({ ...end, stdout: linesIn(end.stdout) }).toEqual({
      exitCode: 0,
      stderr: '',
      stdout: [['result', 'error_during_execution', 'error', 'end', 'error']],
    })
  })

  test('has a result for a run that waits for a person, and another process can continue its record', async () => {
    const end = await runProgram(`
      const records = []
      const steps = core.createMemorySteps({ onRecord: (record) => records.push(JSON.parse(JSON.stringify(record))) })
      const options = (replies, given) => ({
        model: testing.scriptedModel(replies),
        tools: [tool('Ask', () => 'it ran')],
        permissions: { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'May it?' }) },
        onAsk: 'wait',
        ...given,
      })
      const first = core.streamRun(core.startRun({ prompt: 'go' }), options([calls('Ask')], { steps }))
      const { terminal } = await first.ended
      say([terminal.reason, terminal.error.code, records.some(({ type }) => type === 'end')])
      const { loop } = core.resume(records, options(['Done.']))
      for await (const event of loop) if (event.type === 'approval_needed') loop.answer(event.key, { behavior: 'allow' })
      const resumed = await loop.ended
      say([resumed.terminal.reason, JSON.stringify(resumed.state.transcript.messages()).includes('it ran')])
    `)
    expect({ ...end, stdout: linesIn(end.stdout) }).toEqual({
      exitCode: 0,
      stderr: '',
      stdout: [
        ['error', 'stalled', false],
        ['completed', true],
      ],
    })
  })

  test('a run that has ended leaves no listener on the process', async () => {
    const end = await runProgram(`
      const before = process.listenerCount('beforeExit')
      const runs = Array.from({ length: 20 }, () =>
        core.streamRun(core.startRun({ prompt: 'go' }), { model: testing.scriptedModel(['Done.']) }).result)
      await Promise.resolve()
      const during = process.listenerCount('beforeExit')
      await Promise.all(runs)
      say([before, during, process.listenerCount('beforeExit')])
    `)
    expect({ ...end, stdout: linesIn(end.stdout) }).toEqual({ exitCode: 0, stderr: '', stdout: [[0, 1, 0]] })
  })
})
