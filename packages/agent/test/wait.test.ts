// Holds rules of docs/spec: R-WAIT-10 to R-WAIT-16: the Wait tool.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { AgentState, type Json } from '@halting/core'
import type { CallWait } from '@halting/core/adapters'
import { describe, expect, test } from 'vitest'
import { type Seen, watchFile } from '../src/tools/waits/file.ts'
import { type LinePattern, linePatternOf, LineSearch } from '../src/tools/waits/line-pattern.ts'
import { waitUntil } from '../src/tools/waits/until.ts'
import {
  endedEarly,
  fileChange,
  fileState,
  lowered,
  noBash,
  noRunEnded,
  spanWords,
  taskState,
  unusablePattern,
  waited,
  wrongFields,
} from '../src/tools/waits/wait-texts.ts'
import { codingTools, type Harness, numberIn, runs, toolNamed, until } from './support/harness.ts'

const background = (command: string) => ({ command, run_in_background: true })

/** A wait that the test ends. */
function wait(): {
  readonly wait: CallWait
  readonly end: (why: 'over' | 'limit' | 'arrived') => void
  readonly longest: number[]
} {
  const listeners = new Set<(why: 'over' | 'limit' | 'arrived') => void>()
  const longest: number[] = []
  return {
    longest,
    end: (why) => {
      for (const listener of listeners) listener(why)
    },
    wait: {
      sinceMs: 1_000,
      waitedMs: 7_000,
      leftMs: Infinity,
      onEnd(ms, listener) {
        longest.push(ms)
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    },
  }
}

/** Calls the tool with a wait of the test's, as the loop does. */
function waiting({ tools }: Harness, input: unknown, tool = 'Wait') {
  const progress: Json[] = []
  const controller = new AbortController()
  const given = wait()
  const context = {
    callId: 'call_1',
    toolName: tool,
    agentType: null,
    signal: controller.signal,
    state: AgentState.empty(),
    idempotencyKey: 'key',
    progress: (data: Json) => progress.push(data),
    wait: given.wait,
  }
  const result = Promise.resolve(toolNamed(tools, tool).execute(input as never, context)).then((output) =>
    typeof output === 'string' ? { content: output } : output,
  )
  return { result, progress, abort: () => controller.abort(), ...given }
}

describe('for a background task', () => {
  test('shows how it ended, and output that was not shown before', async () => {
    const { use, cwd } = codingTools()
    await use('Bash', background('echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 4'))
    await until(async () => (await use('TaskOutput', { task_id: 'bash_1', block: false })).text.includes('one'))
    const waited = use('Wait', { task_id: 'bash_1' })
    writeFileSync(join(cwd, 'go'), '')
    const { text, output, isError } = await waited
    expect([text.replace(/ Waited .*/, ''), isError]).toEqual(['bash_1: Ended with exit code 4.\ntwo', false])
    expect(output.tasks).toMatchObject([{ type: 'ended', id: 'bash_1', status: 'failed' }])
    expect(output.details).toMatchObject({ outcome: 'met', waitedFor: 'bash_1 to end', task_id: 'bash_1' })
    // A finished command is reported at once.
    expect((await use('Wait', { task_id: 'bash_1' })).text).toBe('bash_1: Ended with exit code 4.')
  })

  test.each(['ready on', String.raw`ready on port \d+`, '(?i)READY'])(
    'ends with a matching line (%s), even one from before the call',
    async (pattern) => {
      const { use, cwd } = codingTools()
      await use(
        'Bash',
        background('echo starting; echo ready on port 3000; echo more; while [ ! -e go ]; do sleep 0.02; done'),
      )
      const { text } = await use('Wait', { task_id: 'bash_1', pattern })
      expect(text.split('\n')[0]).toBe('bash_1 wrote: ready on port 3000')
      expect(text).toContain('starting\nready on port 3000\nmore')
      // Output that was shown is not waited for again.
      writeFileSync(join(cwd, 'go'), '')
      expect((await use('Wait', { task_id: 'bash_1', pattern })).text).toBe(
        taskState('bash_1', 'Ended with exit code 0.', true),
      )
    },
  )

  test('accepts an unfinished line, and one that arrives in pieces', async () => {
    const { use, cwd } = codingTools()
    await use(
      'Bash',
      background(
        'printf "Continue? "; while [ ! -e go ]; do sleep 0.02; done; printf "[y"; sleep 0.3; printf "/n]"; sleep 1000',
      ),
    )
    expect((await use('Wait', { task_id: 'bash_1', pattern: 'Continue' })).text).toMatch(/^bash_1 wrote: Continue\?/)
    const waited = use('Wait', { task_id: 'bash_1', pattern: String.raw`\[y/n\]` })
    writeFileSync(join(cwd, 'go'), '')
    expect((await waited).text).toMatch(/^bash_1 wrote: \[y\/n\]/)
  })

  test('reports the state when the wait ends early', async () => {
    const harness = codingTools()
    await harness.use('Bash', background('echo busy; sleep 1000'))
    for (const why of ['over', 'limit', 'arrived'] as const) {
      const { result, end, longest, progress } = waiting(harness, { task_id: 'bash_1' })
      await until(() => longest.length === 1)
      end(why)
      const { content, isError, details } = await result
      expect(content).toContain('bash_1: Still running.')
      expect(content).toContain(endedEarly(why, 7_000))
      expect([isError, longest, details]).toMatchObject([undefined, [600_000], { outcome: why, waitedMs: 7_000 }])
      expect(progress).toEqual([
        { waitsFor: 'bash_1 to end', sinceMs: 1_000, untilMs: expect.any(Number), leftMs: 593_000 },
      ])
    }
    const { result, longest, abort } = waiting(harness, { task_id: 'bash_1' })
    await until(() => longest.length === 1)
    abort()
    expect(await result).toMatchObject({
      isError: true,
      content: expect.stringContaining(endedEarly('aborted', 7_000)),
    })
  })

  test('lists existing tasks if it is missing, and explains an invalid pattern', async () => {
    const { use } = codingTools()
    expect((await use('Wait', { task_id: 'bash_1' })).text).toBe('There is no task bash_1. No task was started.')
    await use('Bash', background('sleep 1000'))
    expect(await use('Wait', { task_id: 'bash_7' })).toMatchObject({
      isError: true,
      text: 'There is no task bash_7. Known tasks: bash_1.',
    })
    const bad = await use('Wait', { task_id: 'bash_1', pattern: '(' })
    expect(bad).toMatchObject({ isError: true, text: unusablePattern('(', 'unclosed group') })
  })

  test('handles a catastrophic pattern, and endless output', async () => {
    const { use } = codingTools()
    await use('Bash', background(`head -c 200000 /dev/zero | tr '\\0' a; echo; echo done b; sleep 1000`))
    expect((await use('Wait', { task_id: 'bash_1', pattern: '(a+)+b$|done' })).text).toMatch(/^bash_1 wrote: done b/)
    await use('Bash', background('yes noise | head -n 2000000; echo the end; sleep 1000'))
    const { text } = await use('Wait', { task_id: 'bash_2', pattern: '^the e[n]d$' })
    expect(text).toMatch(/^bash_2 wrote: the end/)
    expect(text.length).toBeLessThan(5_000)
  })

  test('ends when TaskStop is called during the wait', async () => {
    const { use } = codingTools({ killGraceMs: 200 })
    await use('Bash', background('sleep 1000'))
    const waited = use('Wait', { task_id: 'bash_1' })
    await use('TaskStop', { task_id: 'bash_1' })
    expect((await waited).text).toMatch(/^bash_1: Stopped by TaskStop\./)
  })

  test('redacts secrets in lines, and no pattern finds them', async () => {
    const { use, workspace } = codingTools()
    workspace.redact = (text) => text.replaceAll('hunter2', '[redacted]')
    await use('Bash', background('echo the password is hunter2; sleep 0.1; exit 0'))
    const found = await use('Wait', { task_id: 'bash_1', pattern: 'hunter' })
    expect(found.text).toContain(taskState('bash_1', 'Ended with exit code 0.', true))
    expect(found.text).toContain('the password is [redacted]')
  })
})

describe('for a file', () => {
  test('until it exists, changes, or is gone', async () => {
    const { use, cwd } = codingTools()
    const path = join(cwd, 'out/result.txt')
    const appears = use('Wait', { file_path: 'out/result.txt' })
    mkdirSync(join(cwd, 'out'))
    writeFileSync(path, 'one')
    expect((await appears).text).toMatch(/^out\/result\.txt exists: 3 bytes, changed \d/)
    const changes = use('Wait', { file_path: path, change: 'changes' })
    // Before the first poll, a change cannot be detected.
    let text = 'two words'
    const changing = setInterval(() => {
      writeFileSync(join(cwd, 'new'), (text += '.'))
      renameSync(join(cwd, 'new'), path)
    }, 100)
    expect((await changes).text).toMatch(/^.+ exists: \d\d bytes/)
    clearInterval(changing)
    const gone = use('Wait', { file_path: path, change: 'gone' })
    rmSync(path)
    expect((await gone).text).toContain(fileState('out/result.txt', 'missing'))
  })

  test('reports a name with control characters in one line', async () => {
    const given = waiting(codingTools(), { file_path: 'a\u001B[2K\nhalting: done \u202Eb' })
    await until(() => given.progress.length === 1)
    given.end('over')
    const name = String.raw`"a\u001b[2K\nhalting: done \u202eb"`
    expect(given.progress).toMatchObject([{ waitsFor: fileChange(name, 'exists') }])
    const { content } = await given.result
    // The duration of the first poll does not matter.
    expect(content).toContain(name)
    expect(content).not.toContain('\u001B')
  })

  test('counts a change while no process was running after a resume', async () => {
    const { cwd, workspace } = codingTools()
    const path = join(cwd, 'a')
    writeFileSync(path, 'changed')
    const change = { named: 'a', real: path, change: 'changes' } as const
    const seen: unknown[] = []
    const stop = watchFile({ ...change, sinceMs: 1_000 }).watch((now) => seen.push(now))
    await until(() => seen.length === 1)
    stop()
    expect([seen, workspace.cwd]).toMatchObject([[{ size: 7 }], cwd])
  })

  test('is not blocked by a poll that never returns, and polls one at a time', async () => {
    let looks = 0
    const never = (): Promise<Seen> => {
      looks++
      return new Promise(() => {})
    }
    const { wait: given, end } = wait()
    const watched = watchFile(
      { named: '/mnt/dead/file', real: '/mnt/dead/file', change: 'exists', sinceMs: undefined },
      never,
    )
    const ended = waitUntil({ wait: given, signal: new AbortController().signal, longestMs: 1 }, watched.watch)
    await Promise.resolve()
    end('over')
    expect(await ended).toEqual({ kind: 'over' })
    expect([watched.unmet('over').sentences, looks]).toEqual([fileState('/mnt/dead/file', 'no answer'), 1])
  })

  test('reports a poll that fails at first; later ones are retried', async () => {
    const refused = Object.assign(new Error('no'), { code: 'EACCES' })
    const answers: (Seen | Error)[] = [null, refused, { mtimeMs: 0, ctimeMs: 0, size: 1, ino: 1 }]
    const lookAt = async (): Promise<Seen> => {
      const answer = answers.shift() ?? null
      if (answer instanceof Error) throw answer
      return answer
    }
    const where = { named: 'a', real: '/a', change: 'exists', sinceMs: undefined } as const
    const met: unknown[] = []
    const stop = watchFile(where, lookAt).watch((value) => met.push(value))
    await until(() => met.length === 1)
    stop()
    expect(met).toMatchObject([{ size: 1 }])
    answers.push(refused)
    const first = await new Promise((resolve) => watchFile(where, lookAt).watch(resolve))
    expect(first).toBe(refused)
  })

  test('does not follow a link created during the wait', async () => {
    const harness = codingTools()
    const { result, progress } = waiting(harness, { file_path: 'link' })
    await until(() => progress.length === 1)
    symlinkSync('/nowhere/at/all', join(harness.cwd, 'link'))
    expect((await result).content).toMatch(/^link exists/)
  })

  test('reports nothing behind a folder that became a link', async () => {
    const harness = codingTools()
    const [judged, elsewhere] = [join(harness.cwd, 'folder'), join(harness.cwd, 'elsewhere')]
    mkdirSync(judged)
    mkdirSync(elsewhere)
    writeFileSync(join(elsewhere, 'secret'), 'secret')
    const { result, progress, end } = waiting(harness, { file_path: 'folder/secret' })
    await until(() => progress.length === 1)
    rmSync(judged, { recursive: true })
    symlinkSync(elsewhere, judged)
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    end('over')
    expect((await result).content).toContain(fileState('folder/secret', 'missing'))
  })
})

describe('for a command', () => {
  test('runs it until it exits with 0, and shows its output', async () => {
    const { use, cwd } = codingTools()
    const command = 'echo run >> runs; n=$(wc -l < runs); echo "try $n"; [ "$n" -ge 3 ]'
    const { text, details } = await use('Wait', { command, every_seconds: 1 })
    expect(text.replace(/ Waited \d+ s\./, '')).toBe('The command exited with 0. It ran 3 times.\ntry 3')
    expect(readFileSync(join(cwd, 'runs'), 'utf8')).toBe('run\nrun\nrun\n')
    expect(details).toMatchObject({ outcome: 'met', runs: 3, exitCode: 0 })
  })

  test('runs it until it prints a matching line, with any exit code', async () => {
    const { use } = codingTools()
    const { text } = await use('Wait', {
      command: 'echo run >> runs; echo "state: $(wc -l < runs)"; exit 3',
      pattern: 'state: +2',
      every_seconds: 1,
    })
    expect(text).toMatch(/^The command printed: state: +2\nIt ran 2 times\. Waited \d+ s/)
  })

  test('whose output no result shows completely, and that does not end by itself', async () => {
    const { use, cwd } = codingTools({ killGraceMs: 200 })
    const middle = await use('Wait', { command: 'seq 1 200000', pattern: '^10000[0]$', timeout_seconds: 20 })
    expect(middle.text).toMatch(/^The command printed: 100000\nIt ran once\./)
    const command = 'echo $$ > shell.pid; echo building; echo ready on port 3000; sleep 1000'
    const { text } = await use('Wait', { command, pattern: 'ready', timeout_seconds: 20 })
    expect(text).toMatch(/^The command printed: ready on port 3000\nIt ran once\./)
    expect(runs(await numberIn(join(cwd, 'shell.pid')))).toBe(false)
  })

  test("ends processes of a run with it, and leaves the session's shell", async () => {
    const { use, cwd } = codingTools({ killGraceMs: 200 })
    mkdirSync(join(cwd, 'below'))
    await use('Wait', { command: 'cd below; sleep 1000 & echo $! > ../child.pid' })
    expect(runs(await numberIn(join(cwd, 'child.pid')))).toBe(false)
    expect((await use('Bash', { command: 'pwd' })).text).toBe(cwd)
  })

  test('treats a pause longer than timers allow as long, not as zero', async () => {
    const { text } = await codingTools().use('Wait', {
      command: 'exit 1',
      every_seconds: 99_999_999,
      timeout_seconds: 2,
    })
    expect(text).toMatch(/It ran once\./)
  })

  test('ends a run that hangs when the wait ends, with everything that it started', async () => {
    const harness = codingTools({ killGraceMs: 200 })
    const { result, end, abort } = waiting(harness, { command: 'echo $$ > shell.pid; sleep 1000' })
    const id = await numberIn(join(harness.cwd, 'shell.pid'))
    end('over')
    expect(await result).toMatchObject({ content: expect.stringContaining(noRunEnded) })
    expect(runs(id)).toBe(false)
    rmSync(join(harness.cwd, 'shell.pid'))
    abort()
    const second = waiting(harness, { command: 'echo $$ > shell.pid; sleep 1000' })
    const other = await numberIn(join(harness.cwd, 'shell.pid'))
    second.abort()
    expect(await second.result).toMatchObject({ isError: true })
    expect(runs(other)).toBe(false)
  })

  test('runs no command without the Bash tool', async () => {
    const harness = codingTools()
    const context = {
      callId: 'c',
      toolName: 'Wait',
      signal: new AbortController().signal,
      state: AgentState.empty(),
      idempotencyKey: 'k',
      progress: () => {},
    }
    const rights = { tools: ['Read', 'Wait'] }
    const output = await toolNamed(harness.tools, 'Wait').execute({ command: 'touch ran' } as never, {
      ...context,
      rights,
    })
    expect(output).toMatchObject({ isError: true, content: noBash })
    expect(existsSync(join(harness.cwd, 'ran'))).toBe(false)
  })

  test('is read-only like in Bash', () => {
    const tool = toolNamed(codingTools().tools, 'Wait')
    const readOnly = tool.readOnly as (input: unknown) => boolean
    const inputs = [
      { seconds: 1 },
      { task_id: 'bash_1' },
      { command: 'test -e a' },
      { command: 'curl -fs localhost:3000' },
      { command: 'rm a' },
    ]
    expect(inputs.map((input) => readOnly(input))).toEqual([true, true, true, false, false])
  })
})

describe('input', () => {
  test('for some seconds', async () => {
    expect(await codingTools().use('Wait', { seconds: 1 })).toMatchObject({
      text: expect.stringMatching(/^Waited \d+ s\.$/),
      isError: false,
      details: { outcome: 'met' },
    })
  })

  test('for a second, even if the timer fires a little early', async () => {
    const context = {
      callId: 'call_1',
      toolName: 'Wait',
      agentType: null,
      signal: new AbortController().signal,
      state: AgentState.empty(),
      idempotencyKey: 'key',
      progress: () => undefined,
      wait: {
        ...wait().wait,
        waitedMs: 999.2,
        onEnd: (_ms: number, listener: (why: 'over') => void) => {
          queueMicrotask(() => listener('over'))
          return () => undefined
        },
      },
    }
    const output = await toolNamed(codingTools().tools, 'Wait').execute({ seconds: 1 } as never, context)
    expect(output).toMatchObject({ content: 'Waited 1 s.' })
  })

  test('reports which fields belong together', async () => {
    const { use } = codingTools()
    const text = async (input: unknown): Promise<string> => (await use('Wait', input)).text
    expect(await text({})).toBe(wrongFields('none'))
    expect(await text({ seconds: 1, file_path: 'a' })).toBe(wrongFields({ several: ['seconds', 'file_path'] }))
    expect(await text({ file_path: 'a', pattern: 'b' })).toBe(wrongFields('pattern'))
    expect(await text({ seconds: 1, change: 'gone' })).toBe(wrongFields('change'))
    expect(await text({ seconds: 1, every_seconds: 2 })).toBe(wrongFields('every_seconds'))
    expect(await text({ seconds: 0 })).toContain('seconds must be an integer >= 1')
    expect(await text({ task: 'bash_1' })).toContain('there is no field task')
  })

  test('is lowered if longer than a day, with a note', async () => {
    const harness = codingTools()
    const { result, end, longest } = waiting(harness, { seconds: 1_000_000 })
    await until(() => longest.length === 1)
    end('over')
    expect([longest, (await result).content]).toEqual([[86_400_000], `${waited(7_000)} ${lowered(86_400_000)}`])
  })

  test('durations in words', () => {
    expect([400, 45_000, 600_000, 65_000, 3_900_000, 86_400_000].map(spanWords)).toEqual([
      '0 s',
      '45 s',
      '10 min',
      '1 min 5 s',
      '1 h 5 min',
      '24 h',
    ])
  })
})

test('finds a line in however many pieces its text arrives', async () => {
  const plain = (await linePatternOf('needle')) as LinePattern
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('hay', 'nee', 'dle', 'needle', '\n', ' '), { maxLength: 40 }),
      fc.boolean(),
      async (pieces, isHasty) => {
        const found: string[] = []
        const search = new LineSearch(plain, undefined, (line) => found.push(line))
        for (const piece of pieces) {
          search.add(piece)
          if (!isHasty) await search.flush()
        }
        await search.flush()
        search.stop()
        const lines = pieces.join('').split('\n')
        const is = lines.find((line) => line.includes('needle'))
        expect(found.length).toBe(is === undefined ? 0 : 1)
        // If text arrives quickly the whole line is there; otherwise as much as there was when it matched.
        expect(is === undefined || is.startsWith(found[0] ?? '')).toBe(true)
      },
    ),
    { numRuns: 50 },
  )
})
