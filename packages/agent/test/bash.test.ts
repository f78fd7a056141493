import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { WorkspaceOptions } from '@halting/agent'
import { describe, expect, test } from 'vitest'
import { isDeep } from './support/deep.ts'
import {
  allDirectoriesGone,
  beginWithCd,
  commandInterrupted,
  commandTimedOut,
  directoryGone,
  directoryNow,
  notRunGone,
  notRunInterrupted,
  outside,
  timeoutLowered,
} from '../src/tools/shell-texts.ts'
import { alreadyEnded, unknownTaskId } from '../src/tools/task-texts.ts'
import { codingTools, type Harness, numberIn, runs, temporaryFolder, toolNamed, until } from './support/harness.ts'

describe('returns the whole output of a command', () => {
  test('in the order in which both outputs were written, followed by the exit code', async () => {
    const { use } = codingTools()
    const result = await use('Bash', { command: 'echo one; echo two >&2; echo three; exit 7' })
    expect(result).toMatchObject({ text: 'Exit code 7\none\ntwo\nthree', isError: true })
    expect(result.details).toEqual({
      stdout: 'one\ntwo\nthree',
      stderr: '',
      interrupted: false,
      timedOut: false,
      exitCode: 7,
    })
  })

  test('reports success without output', async () => {
    expect(await codingTools().use('Bash', { command: 'true' })).toMatchObject({ text: '(no output)', isError: false })
  })

  test('treats exit code 1 of grep, diff and test as an answer, alone or at the end of a pipe', async () => {
    const { use, cwd } = codingTools()
    writeFileSync(join(cwd, 'a'), 'one\n')
    writeFileSync(join(cwd, 'b'), 'two\n')
    const answers = [
      ['grep three a', 'no match'], ['grep three a 2>/dev/null', 'no match'], ['cat a | sort | grep -c three', 'no match'],
      ['timeout 10 egrep three a', 'no match'], ["LC_ALL=C fgrep three <<< 'a'", 'no match'], ['diff a b', 'they differ'],
      ['diff -q a b 2>&1', 'they differ'], ['cmp a b', 'they differ'], ['test -d a', 'it is false'], ['[ 1 = 2 ]', 'it is false'],
      ['[[ 1 = 2 ]]', 'it is false'], ['git diff --no-index a b', 'they differ'], ['time grep three a', 'no match'],
    ] as const // prettier-ignore
    for (const [command, answer] of answers) {
      const { text, isError, details } = await use('Bash', { command })
      expect([command, isError, details['exitCode']]).toEqual([command, false, 1])
      expect(text.endsWith(`Exit code 1: ${answer}.`)).toBe(true)
    }
  })

  test('treats it as an error of other commands, of lists, and where it may have another cause', async () => {
    const { use, cwd } = codingTools()
    writeFileSync(join(cwd, 'a'), 'one\n')
    const errors = [
      'false', 'cat a && grep three a', 'false; grep three a', 'true || grep x a; false', 'grep three a | false', 'grep three < missing',
      'grep three a > /nowhere/at/all', '! grep one a', 'f() { return 1; }; f', '(grep three a)', 'g=grep; $g three a',
      'bash -c "grep three a"', 'echo a | xargs false', 'git rev-parse --verify -q nothing', 'exit 1',
    ] // prettier-ignore
    for (const command of errors) {
      const { text, isError } = await use('Bash', { command })
      expect([command, isError]).toEqual([command, true])
      expect(text).toMatch(/^Exit code \d+(?:\n|$)/)
    }
    expect(await use('Bash', { command: 'grep three missing' })).toMatchObject({ isError: true })
    expect(await use('Bash', { command: 'grep "[" a' })).toMatchObject({ isError: true })
  })

  test('reports the signal that ended the shell', async () => {
    expect(await codingTools().use('Bash', { command: 'kill -KILL $$' })).toMatchObject({
      text: 'The shell was ended by SIGKILL.',
      isError: true,
    })
  })

  test('reports a syntax error with its line', async () => {
    const result = await codingTools().use('Bash', { command: 'echo fine\nfi' })
    expect(result.isError).toBe(true)
    expect(result.text).toMatch(/line 2: syntax error/)
  })

  test('closes stdin: a command that reads does not hang', async () => {
    expect(await codingTools().use('Bash', { command: 'cat; read answer || echo nobody' })).toMatchObject({
      text: 'nobody',
      isError: false,
    })
  })

  test('joins characters that arrive in two chunks', async () => {
    const result = await codingTools().use('Bash', {
      command: String.raw`printf '\xf0\x9f'; sleep 0.05; printf '\x98\x80'`,
    })
    expect(result.text).toBe('😀')
  })
})

describe('output is bounded', () => {
  test('to head and tail, with the number of omitted characters', async () => {
    const { use } = codingTools({ bashOutputCharacters: 1000 })
    const { text } = await use('Bash', { command: 'echo first; seq 1 100000; echo last' })
    expect(text.length).toBeLessThanOrEqual(1000)
    expect(text).toMatch(/^first\n1\n/)
    expect(text).toMatch(/\n99999\n100000\nlast$/)
    expect(text).toMatch(/\[\.\.\. 58\d{4} characters left out \.\.\.\]/)
  })

  test('by BASH_MAX_OUTPUT_LENGTH', async () => {
    const { use } = codingTools({}, { env: { ...process.env, BASH_MAX_OUTPUT_LENGTH: '500' } })
    const { text } = await use('Bash', { command: 'seq 1 100000' })
    expect(text.length).toBeLessThanOrEqual(500)
  })

  test('and memory stays constant for endless output', async () => {
    const { use } = codingTools()
    const before = process.memoryUsage().rss
    let highest = before
    const watch = setInterval(() => (highest = Math.max(highest, process.memoryUsage().rss)), 20)
    const { text } = await use('Bash', {
      command: `head -c ${isDeep ? 500_000_000 : 200_000_000} /dev/zero | tr "\\0" x; echo end`,
    })
    clearInterval(watch)
    expect(text.length).toBeLessThanOrEqual(30_000)
    expect(text.endsWith('xend')).toBe(true)
    expect(highest - before).toBeLessThan(150_000_000)
  })
})

describe('nothing survives its stop', () => {
  test('an abort ends the command and its grandchildren, including those that ignore SIGTERM', async () => {
    const { use, cwd } = codingTools({ killGraceMs: 200 })
    const controller = new AbortController()
    const deaf = `bash -c 'trap "" TERM; echo $$ > deaf.pid; while :; do sleep 0.1; done'`
    const call = use(
      'Bash',
      { command: `echo begun; ${deaf} & sleep 1000 & echo $! > mild.pid; wait` },
      controller.signal,
    )
    const [deafId, mildId] = [await numberIn(join(cwd, 'deaf.pid')), await numberIn(join(cwd, 'mild.pid'))]
    expect([runs(deafId), runs(mildId)]).toEqual([true, true])
    controller.abort()
    const result = await call
    expect([runs(deafId), runs(mildId)]).toEqual([false, false])
    expect(result.isError).toBe(true)
    expect(result.text).toBe(`${commandInterrupted}\nbegun`)
    expect(result.details['interrupted']).toBe(true)
  })

  test.runIf(process.platform === 'linux')('an abort reaches a grandchild that left the process group', async () => {
    const { use, cwd } = codingTools({ killGraceMs: 200 })
    const controller = new AbortController()
    const call = use(
      'Bash',
      { command: `setsid bash -c 'echo $$ > gone.pid; exec sleep 1000' & sleep 1000` },
      controller.signal,
    )
    const id = await numberIn(join(cwd, 'gone.pid'))
    controller.abort()
    await call
    expect(runs(id)).toBe(false)
  })

  test('an abort reaches a grandchild with its own environment', async () => {
    const { use, cwd } = codingTools({ killGraceMs: 200 })
    const controller = new AbortController()
    const call = use('Bash', { command: 'env -i sleep 1000 & echo $! > bare.pid; wait' }, controller.signal)
    const id = await numberIn(join(cwd, 'bare.pid'))
    controller.abort()
    await call
    expect(runs(id)).toBe(false)
  })

  test('gives a well-behaved command time to clean up', async () => {
    const { use, cwd } = codingTools()
    const controller = new AbortController()
    const call = use(
      'Bash',
      { command: `trap 'echo cleaned; exit 0' TERM; echo $$ > up.pid; while :; do sleep 0.02; done` },
      controller.signal,
    )
    await numberIn(join(cwd, 'up.pid'))
    controller.abort()
    const { text } = await call
    expect(text.startsWith(commandInterrupted)).toBe(true)
    expect(text).toContain('cleaned')
  })

  test('does not run a call that is aborted before it starts', async () => {
    const { use, cwd } = codingTools()
    const result = await use('Bash', { command: 'touch ran' }, AbortSignal.abort())
    expect(result.text).toBe(notRunInterrupted)
    expect(() => readFileSync(join(cwd, 'ran'))).toThrow('ENOENT')
  })

  test('reports a timeout with the output so far, and ends everything', async () => {
    const { use, cwd } = codingTools({ killGraceMs: 200 })
    const result = await use('Bash', { command: 'echo working; sleep 1000 & echo $! > child.pid; wait', timeout: 300 })
    expect(result.text.startsWith(`${commandTimedOut(300)}\nworking`)).toBe(true)
    expect(result.details).toMatchObject({ timedOut: true, interrupted: false })
    expect(runs(await numberIn(join(cwd, 'child.pid')))).toBe(false)
  })

  test('lowers a timeout above the maximum, and says so', async () => {
    const { use } = codingTools({}, { env: { ...process.env, BASH_MAX_TIMEOUT_MS: '5000' } })
    expect(await use('Bash', { command: 'echo ran', timeout: '5001' })).toMatchObject({
      isError: false,
      text: `ran\n${timeoutLowered(5_000)}`,
    })
    expect((await use('Bash', { command: 'echo ran', timeout: 5000 })).text).toBe('ran')
  })

  test('ends processes of finished commands with the workspace', async () => {
    const { use, cwd, workspace } = codingTools({ killGraceMs: 200 })
    await use('Bash', { command: 'sleep 1000 >/dev/null 2>&1 & echo $! > left.pid' })
    const id = await numberIn(join(cwd, 'left.pid'))
    expect(runs(id)).toBe(true)
    await workspace.dispose()
    expect(runs(id)).toBe(false)
  })

  test('ends running commands with the program, even without dispose', async () => {
    const cwd = temporaryFolder()
    await programLeaving('sleep 1000 & echo $! > new.pid; mv new.pid left.pid; exec sleep 1000', cwd)
    const id = await numberIn(join(cwd, 'left.pid'))
    // The signal was sent before the program was gone; its effect may be visible a little later.
    await until(() => !runs(id))
    expect(runs(id)).toBe(false)
  })
})

/** Runs a program that starts a background command and then simply ends. Resolves with its end. */
async function programLeaving(command: string, cwd: string): Promise<void> {
  const bundle = join(cwd, 'program.mjs')
  await build({
    stdin: {
      contents: `
        import { existsSync } from 'node:fs'
        import { createBashTool } from './tools/bash.ts'
        import { Workspace } from './tools/workspace.ts'
        const bash = createBashTool(new Workspace({ cwd: ${JSON.stringify(cwd)} }))
        await bash.execute({ command: ${JSON.stringify(command)}, run_in_background: true }, { signal: new AbortController().signal })
        while (!existsSync('left.pid')) await new Promise((resolve) => setTimeout(resolve, 5))
      `,
      resolveDir: fileURLToPath(new URL('../src', import.meta.url)),
      loader: 'ts',
    },
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['@vscode/ripgrep', 'diff'],
    logLevel: 'error',
  })
  const program = spawn(process.execPath, [bundle], { cwd, stdio: 'inherit' })
  await once(program, 'exit')
}

describe('a background grandchild does not block the call', () => {
  test('returns when the shell has ended; the grandchild continues and may write', async () => {
    const { use, cwd } = codingTools()
    const result = await use('Bash', {
      command: `(while [ ! -e go ]; do sleep 0.02; done; echo late; echo done > wrote) & echo $! > child.pid; echo ready`,
    })
    expect(result).toMatchObject({ text: 'ready', isError: false })
    expect(runs(await numberIn(join(cwd, 'child.pid')))).toBe(true)
    writeFileSync(join(cwd, 'go'), '')
    await until(() => {
      try {
        return readFileSync(join(cwd, 'wrote'), 'utf8') === 'done\n'
      } catch {
        return false
      }
    })
  })

  test('returns although a grandchild never stops writing', async () => {
    const { use, cwd } = codingTools({ killGraceMs: 200 })
    const result = await use('Bash', { command: 'yes & echo $! > yes.pid' })
    expect(result.isError).toBe(false)
    expect(runs(await numberIn(join(cwd, 'yes.pid')))).toBe(true)
  })
})

/** A session whose folder was removed, and another folder outside of it. */
function withoutFolder(options: Partial<WorkspaceOptions> = {}): Harness & { readonly other: string } {
  const cwd = join(temporaryFolder(), 'run')
  return { ...codingTools({}, { ...options, cwd }), other: temporaryFolder() }
}

describe('the working directory persists between calls', () => {
  test('after cd, even if the command fails or exits', async () => {
    const { use, cwd, workspace } = codingTools()
    mkdirSync(join(cwd, 'a/b c'), { recursive: true })
    await use('Bash', { command: 'cd a && exit 3' })
    expect(await use('Bash', { command: 'pwd' })).toMatchObject({ text: join(cwd, 'a') })
    await use('Bash', { command: "cd 'b c'; false" })
    expect(workspace.shellDirectory).toBe(join(cwd, 'a/b c'))
    await use('Bash', { command: '(cd /)' })
    expect(workspace.shellDirectory).toBe(join(cwd, 'a/b c'))
  })

  test('is reset outside the workspace directories, with a note', async () => {
    const { use, cwd, workspace } = codingTools()
    const result = await use('Bash', { command: 'cd / && pwd' })
    expect(result.text).toBe(`/\n${outside('/', cwd)}`)
    expect(workspace.shellDirectory).toBe(cwd)
  })

  test('treats a link that leads outside the workspace as outside', async () => {
    const { use, cwd, workspace } = codingTools()
    symlinkSync('/', join(cwd, 'link'))
    await use('Bash', { command: 'cd link' })
    expect(workspace.shellDirectory).toBe(cwd)
  })

  test('treats an additional directory as part of the workspace', async () => {
    const other = temporaryFolder()
    const { use, workspace } = codingTools({}, { additionalDirectories: [other] })
    await use('Bash', { command: `cd ${other}` })
    expect(workspace.shellDirectory).toBe(realpathSync(other))
  })

  // R-HAND-9
  describe("when the session's folder is gone", () => {
    test('runs nothing elsewhere, and says what to do', async () => {
      const { use, cwd } = withoutFolder()
      const { text, isError } = await use('Bash', { command: 'touch it' })
      expect(isError).toBe(true)
      expect(text).toBe(notRunGone(cwd) + beginWithCd(dirname(cwd)))
    })

    test.each([
      ['cd OTHER && pwd', true],
      ['  cd -- "OTHER"; pwd', true],
      ["cd 'OTHER'\npwd", true],
      ['cd OTHER', true],
      ['cd OTHER & pwd', false],
      ['cd OTHER | pwd', false],
      ['cd OTHER || pwd', false],
      ['cd OTHER/../x && pwd', false],
      ['cd OTHER/none && pwd', false],
      ['cd $HOME && pwd', false],
      ['cd .. && pwd', false],
      ['cd "$(echo OTHER)" && pwd', false],
      ['X=1 cd OTHER && pwd', false],
      ['pwd; cd OTHER', false],
    ])('for %j runs: %s', async (command, isRun) => {
      const { use, other } = withoutFolder()
      const { text, isError } = await use('Bash', { command: command.replace('OTHER', other) })
      const ran = new RegExp(`^(?:${other}\n|.no output.\n)${other} is outside .* Begin the next command with cd`)
      expect({ isError, hasRun: ran.test(text), isRefused: text.includes('so the command did not run') }).toEqual({
        isError: !isRun,
        hasRun: isRun,
        isRefused: !isRun,
      })
    })

    test('continues in another directory of the session', async () => {
      const other = temporaryFolder()
      const { use, workspace } = withoutFolder({ additionalDirectories: [other] })
      expect(await use('Bash', { command: `cd ${other} && pwd` })).toMatchObject({ text: other, isError: false })
      expect(workspace.shellDirectory).toBe(other)
      expect(await use('Bash', { command: 'pwd' })).toMatchObject({ text: other, isError: false })
    })

    test('uses a recreated folder as before', async () => {
      const { use, cwd } = withoutFolder()
      await use('Bash', { command: `cd ${dirname(cwd)} && mkdir ${cwd}` })
      expect(await use('Bash', { command: 'pwd' })).toMatchObject({ text: cwd, isError: false })
    })

    test('reports it to the command that removed it, and starts nothing in the background', async () => {
      const { use, cwd } = codingTools({}, { cwd: join(temporaryFolder(), 'run') })
      mkdirSync(cwd)
      expect((await use('Bash', { command: `rmdir ${cwd}` })).text).toContain(allDirectoriesGone(cwd))
      const started = await use('Bash', { command: 'sleep 1', run_in_background: true })
      expect(started).toMatchObject({ isError: true, text: expect.stringContaining(notRunGone(cwd)) as string })
    })
  })

  test('reports nothing from a job killed during its start', async () => {
    const { use, cwd } = codingTools()
    for (let at = 0; at < 10; at += 1) {
      const { text } = await use('Bash', { command: 'sleep 100 & kill %1; echo done' })
      expect(text).toBe('done')
    }
    expect(await use('Bash', { command: 'pwd' })).toMatchObject({ text: cwd })
  })

  test('commands for a removed shell directory do not run in the root, and then the shell moves to the root', async () => {
    const { use, cwd } = codingTools()
    mkdirSync(join(cwd, 'gone'))
    await use('Bash', { command: 'cd gone' })
    rmSync(join(cwd, 'gone'), { recursive: true })
    const text = notRunGone(`${cwd}/gone`) + directoryNow(cwd)
    expect(await use('Bash', { command: 'pwd' })).toMatchObject({ text, isError: true })
    expect(await use('Bash', { command: 'pwd' })).toMatchObject({ text: cwd, isError: false })
  })

  test('says where the next command starts after one that removes the working directory', async () => {
    const { use, cwd } = codingTools()
    mkdirSync(join(cwd, 'gone'))
    await use('Bash', { command: 'cd gone' })
    const text = directoryGone(`${cwd}/gone`, cwd)
    expect(await use('Bash', { command: 'rmdir ../gone' })).toMatchObject({ text: `(no output)\n${text}` })
    expect(await use('Bash', { command: 'pwd' })).toMatchObject({ text: cwd, isError: false })
  })

  test('does not use descriptor 3 of the command', async () => {
    const { use, cwd } = codingTools()
    const free = await use('Bash', { command: '{ : >&3; } 2>/dev/null && echo taken || echo free' })
    expect(free.text).toBe('free')
    await use('Bash', { command: 'exec 3>mine; echo text >&3; mkdir d; cd d' })
    expect(readFileSync(join(cwd, 'mine'), 'utf8')).toBe('text\n')
    expect(await use('Bash', { command: 'pwd' })).toMatchObject({ text: join(cwd, 'd') })
  })
})

describe('background tasks', () => {
  test('start at once; output is read later; the exit code is reported', async () => {
    const { use, cwd } = codingTools()
    const started = await use('Bash', {
      command: 'echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 4',
      run_in_background: true,
    })
    expect(started.details).toEqual({ backgroundTaskId: 'bash_1' })
    const look = async (): Promise<string> => (await use('TaskOutput', { task_id: 'bash_1', block: false })).text
    let seen = await look()
    await until(async () => (seen = await look()).includes('one'))
    expect(seen).toBe('Still running.\none')
    writeFileSync(join(cwd, 'go'), '')
    expect((await use('TaskOutput', { task_id: 'bash_1' })).text).toBe('Ended with exit code 4.\none\ntwo')
  })

  test('are stopped by TaskStop with everything that they started', async () => {
    const { use, cwd } = codingTools({ killGraceMs: 200 })
    await use('Bash', { command: 'sleep 1000 & echo $! > child.pid; wait', run_in_background: true })
    const id = await numberIn(join(cwd, 'child.pid'))
    expect(await use('TaskStop', { task_id: 'bash_1' })).toMatchObject({ isError: false })
    expect(runs(id)).toBe(false)
    expect((await use('TaskOutput', { task_id: 'bash_1' })).text).toMatch(/^Stopped by TaskStop/)
    expect((await use('TaskStop', { task_id: 'bash_1' })).text).toBe(alreadyEnded('bash_1'))
    expect((await use('TaskStop', { task_id: 'bash_9' })).text).toBe(unknownTaskId('bash_9', 'bash_1'))
  })

  test('are ended by dispose', async () => {
    const { use, cwd, workspace } = codingTools({ killGraceMs: 200 })
    await use('Bash', { command: 'echo $$ > up.pid; exec sleep 1000', run_in_background: true })
    const id = await numberIn(join(cwd, 'up.pid'))
    await workspace.dispose()
    expect(runs(id)).toBe(false)
  })
})

describe('the loop learns from the tool', () => {
  test('that a command is read-only, and that commands run one after another', () => {
    const bash = toolNamed(codingTools().tools, 'Bash')
    expect(bash.concurrencySafe).toBe(false)
    expect(bash.onUnknownOutcome).toBe('tell')
    const readOnly = bash.readOnly as (input: unknown) => boolean
    expect(readOnly({ command: 'git status && ls' })).toBe(true)
    expect(readOnly({ command: 'git commit -m x' })).toBe(false)
    expect(readOnly({ command: 'ls', run_in_background: true })).toBe(false)
  })
})
