// Holds rules of docs/spec: R-BACK-2, R-BACK-5 to R-BACK-9a.
import { everyTool } from '../src/tools/available-tools.ts'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { backgroundOf } from '@halting/agent'
import type { Sandbox } from '@halting/policy/sandbox'
import { type ToolContext, streamRun, ModelError, startRun, Transcript } from '@halting/core'
import type { AnyLeafTool, TaskStarted } from '@halting/core/adapters'
import { createFakeClock, scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { DescribedSandbox } from '@halting/policy'
import { BoundedOutput } from '../src/tools/bounded-output.ts'
import { withProgress } from '../src/tools/progress-reports.ts'
import { tailReporter } from '../src/tools/bash.ts'
import {
  commandEnded,
  earlierEnded,
  earlierRuns,
  leftChildren,
  startedInBackground,
  taskStopped,
  unknownTaskId,
} from '../src/tools/task-texts.ts'
import { codingTools, numberIn, runs, until } from './support/harness.ts'

/** Ends processes that a test lets live on. */
function endsLater(processId: number): number {
  onTestFinished(() => {
    try {
      process.kill(processId, 'SIGKILL')
    } catch {
      // It is gone.
    }
  })
  return processId
}

/** The file for the output of a surviving command. */
function removesLater(description: string = ''): string {
  const [, file = ''] = /output to (\S+)\)$/.exec(description) ?? []
  onTestFinished(() => rmSync(file, { force: true }))
  return file
}

const inBackground = (command: string) => ({ command, run_in_background: true })

describe('the end of a background command', () => {
  test('is passed to the loop, with its outcome, until it is reported', async () => {
    const { use, cwd, workspace } = codingTools()
    const background = backgroundOf(workspace)
    const { output, text } = await use('Bash', inBackground('while [ ! -e go ]; do sleep 0.02; done; exit 4'))
    const description = '"while [ ! -e go ]; do sleep 0.02; done; exit 4"'
    const started = {
      type: 'started',
      id: 'bash_1',
      description,
      trace: expect.stringMatching(/^\d+ [\da-f-]{36}$/) as string,
    }
    expect(output.tasks).toEqual([started])
    expect(text).toBe(startedInBackground('bash_1', 'wait', 'main', everyTool))
    expect([background.running().map(({ id }) => id), background.ended()]).toEqual([['bash_1'], []])
    const ended = new Promise<void>((resolve) => background.onEnd(resolve))
    writeFileSync(join(cwd, 'go'), '')
    await ended
    const summary = commandEnded(description, { kind: 'exited', exitCode: 4 }, everyTool)
    const end = { type: 'ended', id: 'bash_1', status: 'failed', summary }
    expect([background.running(), background.ended(), background.ended()]).toEqual([[], [end], [end]])
    background.markReported(['bash_1'])
    expect(background.ended()).toEqual([])
  })

  test('is reported once: by TaskOutput or TaskStop if they come first', async () => {
    const { use, workspace } = codingTools({ killGraceMs: 200 })
    const background = backgroundOf(workspace)
    await use('Bash', inBackground('exit 0'))
    const read = await use('TaskOutput', { task_id: 'bash_1' })
    expect(read.output.tasks).toMatchObject([{ type: 'ended', id: 'bash_1', status: 'completed' }])
    // A call may be dropped: only what the loop has recorded counts.
    expect(background.ended()).toMatchObject([{ id: 'bash_1' }])
    background.markReported(['bash_1'])
    expect((await use('TaskOutput', { task_id: 'bash_1' })).output.tasks).toBe(undefined)
    await use('Bash', inBackground('exec sleep 1000'))
    const stopped = await use('TaskStop', { task_id: 'bash_2' })
    expect(stopped.output.tasks).toMatchObject([{ type: 'ended', id: 'bash_2', status: 'stopped' }])
    background.markReported(['bash_2'])
    expect(background.ended()).toEqual([])
  })

  test('R-BACK-3a: is reported by the loop if TaskOutput was started early and its message never arrived', async () => {
    const { workspace, tools } = codingTools()
    const received: unknown[] = []
    let hasRead = false
    const watched = tools.map((tool): AnyLeafTool => {
      if (tool.name !== 'TaskOutput') return tool
      const execute: AnyLeafTool['execute'] = async (input, context) => {
        const output = await tool.execute(input, context)
        hasRead = true
        return output
      }
      return { ...tool, execute }
    })
    const script: readonly ScriptedReply[] = [
      { toolCalls: [{ name: 'Bash', input: inBackground('exit 0') }] },
      {
        toolCalls: [{ name: 'TaskOutput', input: { task_id: 'bash_1' } }],
        async before() {
          await until(() => hasRead)
          throw new ModelError({ kind: 'overloaded', message: 'busy' })
        },
      },
      'A moment.',
      'It has ended.',
    ]
    const background = backgroundOf(workspace)
    const options = {
      model: scriptedModel(script),
      clock: createFakeClock({ autoAdvance: true }),
      tools: watched,
      background,
    }
    for await (const event of streamRun(startRun({ runId: 'run1', prompt: 'go' }), options))
      if (event.type === 'message' && event.entry.kind === 'user')
        for (const { type } of event.entry.tasks ?? []) received.push([type, event.entry.origin])
    expect(received).toEqual([
      ['started', 'tool_results'],
      ['ended', 'loop'],
    ])
  })

  test('R-BACK-1: is also reported to the main loop, as promised, after a subagent saw it', async () => {
    const { useInAgent: use, workspace } = codingTools({ killGraceMs: 200 })
    const background = backgroundOf(workspace)
    const started = await use('Bash', inBackground('exit 0'))
    expect(started.text).toBe(startedInBackground('bash_1', 'wait', 'agent', everyTool))
    expect(await use('TaskOutput', { task_id: 'bash_1' })).toMatchObject({
      text: expect.stringContaining('Ended with'),
    })
    await use('Bash', inBackground('exec sleep 1000'))
    const stopped = await use('TaskStop', { task_id: 'bash_2' })
    expect([stopped.text, stopped.output.tasks]).toEqual([taskStopped('bash_2', 'exec sleep 1000'), undefined])
    expect(background.ended()).toMatchObject([
      { id: 'bash_1', status: 'completed' },
      { id: 'bash_2', status: 'stopped' },
    ])
  })

  test('is not promised if nobody reports it', async () => {
    const { use } = codingTools()
    expect((await use('Bash', inBackground('true'))).text).not.toContain('You are notified')
  })

  test('shows a long command as one short line, without secrets if these are removed', async () => {
    const { use, workspace } = codingTools()
    workspace.redact = (text) => text.replaceAll('hunter2', '[secret]')
    const { output } = await use('Bash', inBackground(`: hunter2\n:\t${'x'.repeat(500)}`))
    expect(output.tasks).toMatchObject([
      { type: 'started', id: 'bash_1', description: `": [secret] : ${'x'.repeat(107)} ..."` },
    ])
  })

  test('a shown command contains nothing that ends its quotes, reverses text, or is half a character', async () => {
    const { use } = codingTools()
    const shown = async (command: string): Promise<unknown> =>
      (await use('Bash', inBackground(command))).output.tasks?.map(
        (task) => task.type === 'started' && task.description,
      )
    expect(await shown(': " ended with exit code 0. \u202Enow\u0007 ')).toEqual(['": \\" ended with exit code 0. now"'])
    expect(await shown(`: ${'x'.repeat(117)}\u{1F600} and more`)).toEqual([`": ${'x'.repeat(117)} ..."`])
  })

  const startedId = async (use: ReturnType<typeof codingTools>['use']): Promise<string> => {
    const { details } = await use('Bash', inBackground('true'))
    return String((details as { readonly backgroundTaskId?: unknown }).backgroundTaskId)
  }

  test('R-BACK-8d: ids of earlier processes are not reused, and their tasks are distinguished', async () => {
    const { use, workspace } = codingTools()
    const entry = {
      kind: 'user', id: 'run1/x', origin: 'tool_results', message: { role: 'user', content: [] },
      tasks: [{ type: 'started', id: 'bash_3', description: '' }],
    } as const // prettier-ignore
    const open = [
      { type: 'result', value: { tasks: [{ id: 'bash_5' }] } },
      { type: 'lap', lap: { added: [{ tasks: [{ id: 'bash_4' }] }, null] } },
      { type: 'control', control: { tasks: [{ id: 'bash_5' }] } },
    ]
    backgroundOf(workspace, { session: { transcript: Transcript.of([entry]), open } })
    const id = await startedId(use)
    expect(id).toMatch(/^bash_[0-9a-f]{6}_1$/)
    for (const earlier of ['bash_3', 'bash_4', 'bash_5'])
      expect((await use('TaskOutput', { task_id: earlier })).text).toContain('earlier process')
    expect((await use('TaskOutput', { task_id: 'bash_7' })).text).toBe(unknownTaskId('bash_7', id))
  })

  test('R-BACK-8d: an id that a rewind removed is not reused', async () => {
    const ids: string[] = []
    for (const isRewound of [false, true, true]) {
      const { use, workspace } = codingTools()
      backgroundOf(workspace, { session: { transcript: Transcript.empty(), isRewound } })
      ids.push(await startedId(use))
    }
    expect(ids[0]).toBe('bash_1')
    expect(new Set(ids).size).toBe(3)
  })
})

describe('when the run ends', () => {
  /** A background command, and one that ended and left a process in its group. */
  async function twoRunning() {
    const harness = codingTools({ killGraceMs: 200 })
    const { use, cwd } = harness
    await use('Bash', inBackground('echo $$ > task.pid; exec sleep 1000'))
    await use('Bash', { command: 'sleep 1000 >/dev/null 2>&1 & echo $! > left.pid' })
    const ids = [await numberIn(join(cwd, 'task.pid')), await numberIn(join(cwd, 'left.pid'))].map(endsLater)
    return { ...harness, ids }
  }

  test.each([['wait'], ['stop']] as const)(
    '%s: ends and reports background commands and what commands left behind',
    async (atEnd) => {
      const { workspace, ids } = await twoRunning()
      const background = backgroundOf(workspace, { atEnd })
      expect(background.leave('ended')).toEqual([
        { type: 'left', id: 'bash_1', how: 'stopped', description: 'bash_1 "echo $$ > task.pid; exec sleep 1000"' },
        {
          type: 'left',
          id: null,
          how: 'stopped',
          description: leftChildren('"sleep 1000 >/dev/null 2>&1 & echo $! > left.pid"'),
        },
      ])
      await workspace.dispose()
      expect([ids.map(runs), background.ended(), background.leave('ended')]).toEqual([[false, false], [], []])
    },
  )

  test('keep: all processes continue, and are reported with how to end them', async () => {
    const { workspace, ids } = await twoRunning()
    const background = backgroundOf(workspace, { atEnd: 'keep' })
    const [task, rest] = background.leave('ended')
    expect(task?.description).toMatch(RegExp(`^bash_1 ".*" \\(process group ${ids[0]}, output to \\S+\\)$`))
    removesLater(task?.description)
    expect(rest?.description).toMatch(/^processes started by ".*" \(process group \d+\)$/)
    // The next run of this process still has it.
    expect(background.running().map(({ id }) => id)).toEqual(['bash_1'])
    await workspace.letGo()
    await workspace.dispose()
    expect(ids.map(runs)).toEqual([true, true])
  })

  test.each([['keep'], ['wait']] as const)('%s: an abort ends all processes', async (atEnd) => {
    const { workspace, ids } = await twoRunning()
    expect(
      backgroundOf(workspace, { atEnd })
        .leave('aborted')
        .map(({ how }) => how),
    ).toEqual(['stopped', 'stopped'])
    await workspace.letGo()
    await workspace.dispose()
    expect(ids.map(runs)).toEqual([false, false])
  })

  test('keep: confined commands cannot continue, and are reported as stopped', async () => {
    const { use, cwd, workspace } = codingTools({ killGraceMs: 200 })
    const held = {
      holds: () => true,
      excludes: () => false,
      describe: () => ({}) as DescribedSandbox,
      dispose: () => undefined,
    }
    const sandboxed: Sandbox['sandboxed'] = (command) => ({ ...command, descriptors: [], started: () => undefined })
    workspace.sandbox = { ...held, sandboxed }
    const server = "setsid bash -c 'echo $$ > server.pid; exec sleep 1000'"
    await use('Bash', inBackground(`${server} & exec sleep 1000`))
    const id = endsLater(await numberIn(join(cwd, 'server.pid')))
    const left = backgroundOf(workspace, { atEnd: 'keep' }).leave('ended')
    expect(left.map(({ how }) => how)).toEqual(['stopped'])
    await workspace.letGo()
    await workspace.dispose()
    expect(runs(id)).toBe(false)
  })

  test('a surviving command continues to write into the reported file', async () => {
    const { use, cwd, workspace } = codingTools()
    const script =
      'echo first; echo $$ > up.pid; while [ ! -e go ]; do sleep 0.02; done; echo second && echo fine > written'
    await use('Bash', inBackground(script))
    endsLater(await numberIn(join(cwd, 'up.pid')))
    await until(async () => (await use('TaskOutput', { task_id: 'bash_1', block: false })).text.includes('first'))
    const [left] = backgroundOf(workspace, { atEnd: 'keep' }).leave('ended')
    const file = removesLater(left?.description)
    await workspace.letGo()
    await workspace.dispose()
    writeFileSync(join(cwd, 'go'), '')
    await until(() => existsSync(join(cwd, 'written')) && readFileSync(file, 'utf8').length > 6)
    expect(readFileSync(file, 'utf8')).toBe('first\nsecond\n')
  })

  // Identified by their environment, which other systems do not show.
  describe.runIf(process.platform === 'linux')('a detached process', () => {
    test('is found again by a later process, as is a lost command', async () => {
      const { use, cwd, workspace } = codingTools({ killGraceMs: 200 })
      const detach = "setsid bash -c 'echo $$ > server.pid; exec sleep 1000' & exec sleep 1000"
      const { output } = await use('Bash', inBackground(detach))
      const server = endsLater(await numberIn(join(cwd, 'server.pid')))
      const [started] = output.tasks ?? []
      const fate = (): string | undefined => backgroundOf(codingTools().workspace).fateOf?.(started as TaskStarted)
      const trace = started?.type === 'started' ? started.trace : undefined
      const [group = ''] = String(trace).split(' ')
      expect(fate()).toBe(earlierRuns(group))
      backgroundOf(workspace).leave('ended')
      await workspace.dispose()
      expect(fate()).toMatch(RegExp(`^Processes that it detached are still running: .*\\b${server}\\b.*\\.$`))
      process.kill(server, 'SIGKILL')
      await until(() => !runs(server))
      await until(() => fate() === earlierEnded)
    })

    // R-BACK-8e.
    test.each(['in the group', 'in a session of its own'])(
      'is found while each process starts the next one and ends, %s',
      async (where) => {
        const chain = `chain() { if (($1 > 0)); then chain $(($1 - 1)) & else echo $BASHPID > new.pid; mv new.pid end.pid; exec sleep 1000; fi; }`
        const start = where === 'in the group' ? 'chain 40' : 'setsid bash -c "$(declare -f chain); chain 40"'
        const { use, cwd, workspace } = codingTools({ killGraceMs: 200 })
        await use('Bash', { command: `${chain}; ${start} >/dev/null 2>&1 &` })
        expect(workspace.processes.leftBehind).toHaveLength(1)
        const last = endsLater(await numberIn(join(cwd, 'end.pid')))
        expect(workspace.processes.leftBehind).toHaveLength(1)
        await workspace.dispose()
        expect([runs(last), workspace.processes.leftBehind]).toEqual([false, []])
      },
    )

    /** A server as commands start one: in its own session, with the pipe of the command. */
    const server =
      "setsid bash -c 'echo $$ > server.pid; while [ ! -e go ]; do sleep 0.02; done; echo up && echo fine > written'"
    const detached = async (command: string, background = false) => {
      const harness = codingTools({ killGraceMs: 200 })
      await harness.use('Bash', { command, run_in_background: background })
      return { ...harness, id: endsLater(await numberIn(join(harness.cwd, 'server.pid'))) }
    }

    test.each([
      ['a command', `${server} & while [ ! -e server.pid ]; do sleep 0.02; done`, false],
      ['a command in the background', `${server} & exec sleep 1000`, true],
    ] as const)('from %s continues, may write, and is reported', async (_from, command, isInBackground) => {
      const { workspace, id, cwd } = await detached(command, isInBackground)
      const left = backgroundOf(workspace).leave('ended')
      expect(left.at(-1)).toMatchObject({ id: null, how: 'kept' })
      expect(left.at(-1)?.description).toMatch(
        RegExp(`^processes detached by ".*" \\(process(es)? .*\\b${id}\\b.*\\)$`),
      )
      expect(left.slice(0, -1).map(({ how }) => how)).toEqual(isInBackground ? ['stopped'] : [])
      await workspace.letGo()
      await workspace.dispose()
      expect(runs(id)).toBe(true)
      writeFileSync(join(cwd, 'go'), '')
      await until(() => existsSync(join(cwd, 'written')))
    })

    test('is ended with the policy stop, and by TaskStop together with the task that started it', async () => {
      const one = await detached(`${server} & while [ ! -e server.pid ]; do sleep 0.02; done`)
      expect(backgroundOf(one.workspace, { atEnd: 'stop' }).leave('ended')).toMatchObject([
        { id: null, how: 'stopped' },
      ])
      await one.workspace.dispose()
      const two = await detached(`${server} & exec sleep 1000`, true)
      await two.use('TaskStop', { task_id: 'bash_1' })
      expect([runs(one.id), runs(two.id)]).toEqual([false, false])
    })
  })
})

test('a slow tool reports its elapsed time until it ends', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const received: unknown[] = []
  let finish = (): void => undefined
  const slow = { name: 'Slow', description: '', inputSchema: {}, readOnly: true }
  const execute: AnyLeafTool['execute'] = () => new Promise((resolve) => (finish = () => resolve('done')))
  const tool = withProgress({ ...slow, execute })
  const running = tool.execute(
    {} as never,
    { progress: (data: unknown) => received.push(data) } as unknown as ToolContext,
  )
  vi.advanceTimersByTime(11_000)
  finish()
  expect([await running, received]).toEqual(['done', [{ elapsedSeconds: 5 }, { elapsedSeconds: 10 }]])
  vi.advanceTimersByTime(11_000)
  expect([received.length, vi.getTimerCount()]).toEqual([2, 0])
})

test('a command reports new output with secrets redacted, only while it is running', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const received: unknown[] = []
  const output = new BoundedOutput(30_000, (text) => text.replaceAll('hunter2', '[secret]'))
  const stop = tailReporter(output, { progress: (data) => received.push(data) })
  vi.advanceTimersByTime(1_000)
  output.append('one\nhunter2\n')
  vi.advanceTimersByTime(3_000)
  output.append('x'.repeat(5_000))
  vi.advanceTimersByTime(1_000)
  stop()
  output.append('more')
  vi.advanceTimersByTime(5_000)
  expect(received).toEqual([
    { elapsedSeconds: 2, tail: 'one\n[secret]\n' },
    { elapsedSeconds: 5, tail: 'x'.repeat(1_000) },
  ])
  expect(vi.getTimerCount()).toBe(0)
})
