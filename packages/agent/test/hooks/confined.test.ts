// Spec R-SETHOOK-23: command hooks run in the sandbox where there is one.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { answerOf } from '../../src/hooks/hook-answer.ts'
import { readHooks, ShellHooks } from '../../src/hooks/index.ts'
import { HookProcesses } from '../../src/hooks/processes.ts'
import { runHook } from '../../src/hooks/run-hook.ts'
import type { HookEnd } from '../../src/hooks/run-command.ts'
import { escapes } from '../sandbox/escapes.ts'
import {
  contentOf,
  environmentIn,
  isBubblewrapThere,
  isPythonThere,
  makeWorld,
  napping,
  sandboxIn,
  type World,
} from '../sandbox/world.ts'
import { isDeep } from '../support/deep.ts'

interface Hook {
  readonly timeoutMs?: number
  readonly settings?: Parameters<typeof sandboxIn>[1]
  readonly readable?: readonly string[]
}

async function runHeld(world: World, command: string, hook: Hook = {}): Promise<HookEnd> {
  const { timeoutMs = 20_000, settings, readable = [] } = hook
  const processes = new HookProcesses(100)
  const sandbox = await sandboxIn(world, settings)
  onTestFinished(async () => {
    await processes.dispose()
    sandbox.dispose()
  })
  return runHook(
    {
      hook: { type: 'command', command, matcher: '', timeoutMs, async: false },
      input: { tool_name: 'Write' },
      source: { signal: new AbortController().signal },
    },
    { cwd: world.project, env: environmentIn(world), processes, sandbox: () => sandbox, readable },
  )
}

describe.skipIf(!isBubblewrapThere)('Hooks run confined (needs bubblewrap)', () => {
  test('a hook reads stdin, writes the project and /tmp, and answers by exit code, stdout and stderr', async () => {
    const world = await makeWorld()
    const command = 'cat > input.json; echo x > "$TMPDIR/x" && cat "$TMPDIR/x"; echo no >&2; exit 2'
    expect(await runHeld(world, command)).toEqual({
      kind: 'exited',
      exitCode: 2,
      stdout: 'x\n',
      stderr: 'no\n',
      isConfined: true,
    })
    expect(contentOf(join(world.project, 'input.json'))).toBe('{"tool_name":"Write"}\n')
  })

  test('a hook can read the transcript anywhere, but not write it', async () => {
    const world = await makeWorld()
    const transcript = join(world.home, '.ssh/session.jsonl')
    writeFileSync(transcript, 'said\n')
    const { stdout } = await runHeld(world, `cat '${transcript}'; echo x >> '${transcript}'; ls '${world.home}/.ssh'`, {
      readable: [transcript],
    })
    expect([stdout, contentOf(transcript)]).toEqual(['said\n', 'said\n'])
  })

  test('a guard that the sandbox kept from writing reports that it did not guard, and what to do', async () => {
    const world = await makeWorld()
    const logging = [
      `set -e; echo seen >> '${world.home}/log'; exit 2`,
      `node -e 'require("fs").appendFileSync("${world.home}/log", "x")'`,
    ]
    for (const command of logging) {
      const end = await runHeld(world, command)
      const { error = '', permission } = answerOf('PreToolUse', end)
      expect([permission, error]).toEqual([undefined, expect.stringMatching(/^exit code 1: .*read-only file system/is)])
      expect(error).toContain(
        '. NOT GUARDED: the hook made no decision. The sandbox may have blocked a file: allow the path in',
      )
      expect(answerOf('PostToolUse', end).error).toMatch(/\. The sandbox may have blocked a file/)
      expect(answerOf('PreToolUse', { ...end, exitCode: 2 }).permission).toBe('deny')
    }
    const open = await runHeld(world, logging[0] ?? '', {
      settings: { filesystem: { allowWrite: [`${world.home}/log`] } },
    })
    expect(open.exitCode).toBe(1)
    writeFileSync(join(world.home, 'log'), '')
    const settings = { filesystem: { allowWrite: [`${world.home}/log`] } }
    expect(answerOf('PreToolUse', await runHeld(world, logging[0] ?? '', { settings })).permission).toBe('deny')
    const shut = await runHeld(world, `cat '${world.home}/.ssh/id'`)
    expect(answerOf('PreToolUse', shut).error).toMatch(/permission denied\. NOT GUARDED/i)
    const failing = await runHeld(world, 'echo "Permission of nobody" >&2; exit 1')
    expect(answerOf('PreToolUse', failing)).toEqual({ error: 'exit code 1: Permission of nobody' })
  })

  test('excludedCommands run outside', async () => {
    const world = await makeWorld()
    const command = `touch ${world.outside}/notified`
    const excluded = { excludedCommands: ['touch *'] }
    const held = await runHeld(world, command)
    const free = await runHeld(world, command, { settings: excluded })
    const joined = await runHeld(world, `touch x; ${command}2`, { settings: excluded })
    expect([held.exitCode, free.exitCode, joined.exitCode]).toEqual([1, 0, 1])
  })

  test('processes that a hook leaves, even out of its group, end with it', async () => {
    const world = await makeWorld()
    await runHeld(world, 'sleep "$NAP" & setsid sh -c "sleep $NAP" >/dev/null 2>&1 & sleep 0.2')
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(napping(world)).toEqual([])
  })

  test('a hook that hangs is ended at its timeout with everything that it started', async () => {
    const world = await makeWorld()
    const { kind } = await runHeld(world, 'trap "" TERM; setsid sleep "$NAP" & sleep "$NAP"', { timeoutMs: 700 })
    expect([kind, napping(world)]).toEqual(['timed out', []])
  })

  test('a guard that cannot be confined does not run, and lets nothing pass', async () => {
    const world = await makeWorld()
    // A command could do this.
    symlinkSync('nowhere', join(world.project, '.envrc'))
    const end = await runHeld(world, 'touch ran')
    expect([end.kind, end.stderr, contentOf(join(world.project, 'ran'))]).toEqual([
      'not confined',
      expect.stringContaining('.envrc is a link'),
      undefined,
    ])
    const why = expect.stringMatching(/the sandbox cannot confine it: .*\.envrc is a link/)
    expect(answerOf('PreToolUse', end)).toEqual({ permission: 'deny', permissionReason: why, error: why })
    expect(answerOf('PermissionRequest', end)).toMatchObject({ request: { behavior: 'deny', message: why } })
    expect(answerOf('UserPromptSubmit', end)).toEqual({ block: why, error: why })
    for (const event of ['PostToolUse', 'Stop', 'SessionStart'] as const)
      expect(answerOf(event, end)).toEqual({ error: why })
  })

  test('a failure of bubblewrap before the hook ran is not a decision of the hook', async () => {
    const world = await makeWorld()
    expect((await runHeld(world, 'echo "bwrap: no such place" >&2; exit 1')).kind).toBe('not confined')
    expect((await runHeld(world, 'echo "no such place" >&2; exit 1')).kind).toBe('exited')
  })

  test('parallel hooks of a session are confined', async () => {
    const world = await makeWorld()
    const transcriptPath = join(world.home, '.halting/t.jsonl')
    mkdirSync(join(world.home, '.halting'), { recursive: true })
    writeFileSync(transcriptPath, 'said\n')
    const commands = [1, 2, 3].map((n) => ({
      type: 'command',
      // Longer than the default for hooks at the end of a session: the machine may be busy.
      timeout: 30,
      command: `cat "$(python3 -c 'import json,sys; print(json.load(sys.stdin)["transcript_path"])')" > ran${n}; echo x > "$OUTSIDE/target"`,
    }))
    const sandbox = await sandboxIn(world)
    const shell = new ShellHooks({
      hooks: readHooks({ SessionEnd: [{ hooks: commands }] }).hooks,
      sessionId: 's',
      transcriptPath,
      cwd: world.project,
      env: environmentIn(world),
      permissionMode: () => 'default',
      model: 'm',
      source: 'startup',
      sandbox: () => sandbox,
    })
    await shell.end('other')
    sandbox.dispose()
    expect([1, 2, 3].map((n) => contentOf(join(world.project, `ran${n}`)))).toEqual(['said\n', 'said\n', 'said\n'])
    expect(contentOf(join(world.outside, 'target'))).toBe('whole\n')
  })

  const sample = escapes.filter(
    ({ needs }, index) =>
      (needs === undefined || (needs === 'python' && isPythonThere)) && index % (isDeep ? 6 : 9) === 0,
  )
  test.each(sample)('a hook cannot escape: $name', async ({ command, worked }) => {
    const world = await makeWorld()
    const { stdout, stderr } = await runHeld(world, command)
    expect(worked(world, stdout + stderr), `${stdout}${stderr}`).toBe(false)
    expect(stderr).not.toContain('bwrap:')
    for (const folder of ['/tmp', '/dev/shm']) rmSync(`${folder}/halting-planted-${world.victim.pid}`, { force: true })
  })
})
