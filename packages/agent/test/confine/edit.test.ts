// Holds R-EBASH-1 to R-EBASH-8 of docs/spec in the Bash and Wait tools of a session.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { AgentState, type ToolContext, type ToolOutput } from '@halting/core'
import { textOf } from '@halting/core/adapters'
import {
  createBashTool,
  createWaitTool,
  FileCheckpoints,
  openWorkspace,
  SessionFiles,
  type SessionWorkspace,
} from '@halting/agent'
import { isReadOnlyCommand } from '@halting/policy/shell'
import type { CommandAftermath } from '@halting/policy/wall'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ConfinedNotice } from '../../src/tools/workspace.ts'
import { notConfined, notConfinedNow, notTakenBack, ranInWorkspace, takenBack } from '../../src/tools/shell-texts.ts'
import { bashCall } from '../../../policy/test/judge/support.ts'
import { allMeans } from '../../../policy/test/confine/support.ts'
import { temporaryFolder } from '../support/harness.ts'

const hasBubblewrap = allMeans.some((means) => means.kind === 'bubblewrap' && means.hasOwnProc)

interface Session extends SessionWorkspace {
  readonly cwd: string
  readonly home: string
  /** The decision of the rules about a call. */
  readonly behaviorOf: (command: string, fields?: object) => Promise<string>
  /** Decides about a command, and runs it whatever the decision. */
  readonly run: (command: string, options?: RunOptions) => Promise<ToolOutput>
  readonly text: (command: string, options?: RunOptions) => Promise<string>
  readonly notices: readonly ConfinedNotice[]
}

interface RunOptions {
  readonly fields?: object
  readonly signal?: AbortSignal
  readonly tool?: 'Bash' | 'Wait'
  readonly agentId?: string
  /** A user is asked, and allows it. */
  readonly isAsked?: boolean
}

type Options = Partial<
  Pick<Parameters<typeof openWorkspace>[0], 'settings' | 'checkpoints' | 'additionalDirectories' | 'mode'>
>

function openSession({ settings = {}, ...options }: Options = {}, cwd = temporaryFolder()): Session {
  const home = temporaryFolder()
  mkdirSync(join(home, '.halting'))
  const env = { ...process.env, HOME: home }
  const session = openWorkspace({
    places: { cwd, home, env },
    sessionId: 'one',
    settings,
    env,
    mode: 'acceptEdits',
    ...options,
    whenAsked: 'ask',
    confinesEdits: true,
  })
  const { workspace, permissions } = session
  onTestFinished(() => workspace.dispose())
  const notices: ConfinedNotice[] = []
  workspace.onConfined = (notice) => notices.push(notice)
  const tools = { Bash: createBashTool(workspace), Wait: createWaitTool(workspace) }
  let calls = 0
  const callOf = (command: string, name: string, fields: object = {}): ReturnType<typeof bashCall> => {
    const { call, ...rest } = bashCall(command)
    return { ...rest, call: { ...call, id: `call_${++calls}`, name, input: { command, ...fields } } }
  }
  const run: Session['run'] = async (command, { fields, signal, tool = 'Bash', agentId, isAsked = false } = {}) => {
    const request = callOf(command, tool, fields)
    const { behavior } = await permissions.decide({ ...request, ...(agentId !== undefined && { agentId }) })
    // A command that asks would run unconfined.
    if (behavior !== (isAsked ? 'ask' : 'allow')) throw new Error(`${behavior}: ${command}`)
    const context: ToolContext = {
      callId: request.call.id,
      toolName: tool,
      agentType: agentId === undefined ? null : 'helper',
      signal: signal ?? new AbortController().signal,
      idempotencyKey: `session/run1/tool:${calls}:0:${request.call.id}`,
      state: AgentState.empty(),
      progress: () => undefined,
    }
    const output = await tools[tool].execute({ command, ...fields }, context)
    return typeof output === 'string' ? { content: output } : output
  }
  return {
    ...session,
    cwd,
    home,
    notices,
    run,
    text: async (command, options) => textOf((await run(command, options)).content),
    behaviorOf: async (command, fields) => (await permissions.decide(callOf(command, 'Bash', fields))).behavior,
  }
}

/** Removes notes about confinement, and process numbers. */
const withoutNotes = (text: string): string =>
  text.replace(`\n${ranInWorkspace}`, '').replaceAll(/line \d+: +\d+ /g, 'line N: ')

/** Everything is allowed by a rule. */
const ruled = { settings: { permissions: { allow: ['Bash'], deny: [], ask: [], additionalDirectories: [] } } }

/** Returns these effects for every command of the session, and counts how often they were requested. */
function settles(session: Session, settle: () => CommandAftermath): () => number {
  let asked = 0
  session.workspace.wall?.edits()
  const editor = session.workspace.wall?.editWall
  if (editor === undefined) throw new Error('Run a command first.')
  const confine = editor.confine.bind(editor)
  Object.defineProperty(editor, 'confine', {
    value: (...given: Parameters<typeof confine>) => {
      const held = confine(...given)
      return {
        ...held,
        settle: () => {
          asked++
          held.settle()
          return settle()
        },
      }
    },
  })
  return () => asked
}

const aborted = (ms: number): AbortSignal => AbortSignal.timeout(ms)

/** A command that runs these lines, which nothing reads before. */
function script({ cwd }: Session, ...lines: readonly string[]): string {
  writeFileSync(join(cwd, 'lines'), `${lines.join('\n')}\n`)
  return 'bash lines'
}

/** Fails for lack of a permission, and does no harm if it has it. */
const outside = 'touch /usr/no-such-folder/x'

/** Once the command has made this file. */
function abortedWhen({ cwd }: Session, name: string): AbortSignal {
  const controller = new AbortController()
  const timer = setInterval(() => {
    if (!existsSync(join(cwd, name))) return
    clearInterval(timer)
    controller.abort()
  }, 5)
  return controller.signal
}

describe.skipIf(!hasBubblewrap)('A command confined to the workspace (needs bubblewrap)', () => {
  test('changes only the workspace; a command that the user is asked about runs unconfined', async () => {
    const session = openSession()
    const elsewhere = join(session.home, 'x')
    const line = 'bash both.sh'
    writeFileSync(join(session.cwd, 'both.sh'), `echo a > b; echo a > ${elsewhere}\n`)
    expect(await session.behaviorOf(line)).toBe('allow')
    await session.run(line)
    expect([existsSync(join(session.cwd, 'b')), existsSync(elsewhere)]).toEqual([true, false])
    const fields = { unconfined: true }
    expect(await session.behaviorOf(line, fields)).toBe('ask')
    await session.run(line, { fields, isAsked: true })
    expect(existsSync(elsewhere)).toBe(true)
    const call = { callId: 'begun elsewhere', state: AgentState.empty(), agentType: null }
    const kindOf = (input: object): string | undefined =>
      session.workspace.confinementOf({ command: line, ...input }, call)?.kind
    expect([kindOf({}), kindOf(fields), kindOf({ run_in_background: true })]).toEqual(['edit', undefined, undefined])
  })

  test('is confined in the mode of its agent, and after a resume in any mode', async () => {
    const session = openSession({ mode: 'default' })
    const input = { command: 'npm test' }
    const call = { callId: 'begun elsewhere', state: AgentState.empty(), agentType: 'helper' } as const
    const rights = (mode: string): { readonly mode: string; readonly tools: readonly string[] } => ({
      mode,
      tools: ['Bash'],
    })
    const kindOf = (mode: string, fields = {}): string | undefined =>
      session.workspace.confinementOf({ ...input, ...fields }, { ...call, rights: rights(mode) })?.kind
    expect(['acceptEdits', 'default', 'plan'].map((mode) => kindOf(mode))).toEqual(['edit', 'edit', 'edit'])
    expect(kindOf('default', { unconfined: true })).toBeUndefined()
    const request = bashCall('npm test')
    const modes = ['acceptEdits', 'default', 'plan']
    const decided = await Promise.all(
      modes.map(async (mode, at) => {
        const of = { ...request, mode, agentId: `agent-${at}` }
        return (await session.permissions.decide({ ...of, call: { ...of.call, id: `agent-call-${at}` } })).behavior
      }),
    )
    expect(decided.map((behavior) => behavior === 'allow')).toEqual([true, false, false])
    expect(
      modes.map(
        (mode, at) =>
          session.permissions.confinementOf({ command: 'npm test', callId: `agent-call-${at}`, agentId: `agent-${at}` })
            ?.kind,
      ),
    ).toEqual(['edit', undefined, undefined])
  })

  // Spec R-PERM-1b.
  test('does not run if it was allowed only confined and cannot be confined', async () => {
    const session = openSession({ mode: 'default', settings: { confineJudged: 'off' } })
    const context: ToolContext = {
      callId: 'begun elsewhere',
      toolName: 'Bash',
      agentType: null,
      signal: new AbortController().signal,
      idempotencyKey: 'session/run1/tool:1:0:begun elsewhere',
      state: AgentState.empty(),
      progress: () => undefined,
    }
    const command = 'node -e 1 && touch made'
    const bash = createBashTool(session.workspace)
    const [refused, ran] = [
      await bash.execute({ command }, { ...context, confined: true }),
      await bash.execute({ command: 'touch other' }, context),
    ]
    expect(refused).toMatchObject({ content: notConfinedNow, isError: true })
    expect(ran).not.toMatchObject({ isError: true })
    expect(['made', 'other'].map((name) => existsSync(join(session.cwd, name)))).toEqual([false, true])
  })

  test('has its exit code, signals and output, and moves the shell', async () => {
    const [session, plain] = [openSession(), openSession(ruled)]
    const lines = [
      'exit 0',
      'exit 3',
      'exit 300',
      'exit 137',
      'no-such-program',
      'kill -9 $$',
      "sh -c 'kill -9 $$'",
      "sh -c 'kill -11 $$'; echo $?",
      'exec sh -c "exit 4"',
      'set -e; false; echo no',
      'echo out; echo err >&2; exit 2',
      'printf a; (exit 5)',
      'mkdir -p sub; cd sub',
      'basename "$PWD"; echo "$CLAUDECODE $GIT_EDITOR"',
      'cd "$(printf /)"',
      'basename "$PWD"',
      'seq 1 20000',
    ]
    for (const line of lines) {
      const [confined, unconfined] = [await session.run(line), await plain.run(line)]
      const shown = (output: ToolOutput, { cwd }: Session): string =>
        withoutNotes(textOf(output.content)).replaceAll(basename(cwd), 'CWD')
      expect([line, shown(confined, session)]).toEqual([line, shown(unconfined, plain)])
      expect([line, confined.isError]).toEqual([line, unconfined.isError])
    }
  })

  test.each([
    ['echo "1 failed, 3 passed"; exit 1', false],
    ['echo "TypeError: Cannot read properties of undefined (reading \'x\')"; exit 1', false],
    ['echo no | grep yes', false],
    ['true', false],
    ['exit 1', true],
    ['kill -9 $$', true],
    ['ls no-such; echo done', false],
    ['cat outside.txt', false],
    ['echo "getaddrinfo EAI_AGAIN registry.npmjs.org"; exit 1', true],
    ['echo "dial tcp: lookup proxy.golang.org"; exit 1', true],
    ['node -e "process.exitCode = 3; fetch(\'http://example.com\').catch((e) => console.log(e.cause.message))"', true],
    ['no-such-program', true],
  ])('%s: reports its confinement: %s', async (line, isSaid) => {
    const text = await openSession().text(line)
    // Once, and at the end.
    expect(text.split(ranInWorkspace).slice(1)).toEqual(isSaid ? [''] : [])
  })

  test('reports it after a timeout, but not after an interruption by the user', async () => {
    const session = openSession()
    expect(await session.text('touch t; sleep 20', { fields: { timeout: 200 } })).toContain(ranInWorkspace)
    expect(await session.text('touch t; sleep 20', { signal: aborted(200) })).not.toContain(ranInWorkspace)
  })

  test('runs once, whatever happened to it', async () => {
    const session = openSession()
    await session.run(script(session, 'echo x >> count', outside))
    await session.run('echo x >> count; sleep 20', { fields: { timeout: 500 } })
    expect(readFileSync(join(session.cwd, 'count'), 'utf8')).toBe('x\nx\n')
    expect(createBashTool(session.workspace).onUnknownOutcome).toBe('tell')
  })

  test('reports to model and user what was reverted', async () => {
    const session = openSession()
    await session.run('touch t')
    const path = join(session.cwd, '.mcp.json')
    const movedTo = join(session.home, 'aside')
    settles(session, () => ({ takenBack: [{ path, movedTo }] }))
    expect(await session.text('touch t; echo {}')).toBe(`{}\n${takenBack(path)}`)
    expect(await session.text('touch t; exit 1')).toBe(`Exit code 1\n${takenBack(path)}\n${ranInWorkspace}`)
    expect(session.notices).toEqual([1, 2].map(() => ({ kind: 'confined_file_taken_back', path, movedTo })))
  })

  test('determines its effects once, however it ended', async () => {
    const session = openSession()
    await session.run('touch t')
    const asked = settles(session, () => ({ takenBack: [] }))
    const counts: number[] = []
    const counted = async (running: Promise<unknown>): Promise<void> => {
      await running.catch(() => undefined)
      counts.push(asked())
    }
    await counted(session.run('touch t'))
    await counted(session.run('kill -9 $$'))
    await counted(session.run('touch t; sleep 20', { signal: aborted(200) }))
    await counted(session.run('touch t; sleep 20', { fields: { timeout: 200 } }))
    const stubborn = script(session, "trap '' TERM", 'sleep 20 &', 'sleep 20', 'sleep 20')
    await counted(session.run(stubborn, { fields: { timeout: 200 } }))
    await counted(session.run(script(session, '(sleep 20; touch t) &', 'echo')))
    // A command that cannot be started.
    await counted(session.run(`touch t; : ${'x'.repeat(1_000_000)}`))
    expect(counts).toEqual([1, 2, 3, 4, 5, 6, 7])
  })

  test('returns its result even if its effects cannot be determined', async () => {
    const session = openSession()
    await session.run('touch t')
    settles(session, () => {
      throw new Error('EIO: the disk is gone')
    })
    expect(await session.text('touch t; echo done')).toBe(`done\n${notTakenBack('EIO: the disk is gone')}`)
    expect(session.notices).toEqual([{ kind: 'confined_command_unchecked', why: 'EIO: the disk is gone' }])
  })

  test('does not run if it cannot be confined, and says so', async () => {
    const session = openSession()
    await session.run('touch t')
    const before = session.workspace.wall?.edits()
    expect(existsSync(join(session.home, '.halting/confinement-edits.json'))).toBe(true)
    const editor = session.workspace.wall?.editWall
    if (editor === undefined) throw new Error('There is no wall.')
    const confine = editor.confine.bind(editor)
    Object.defineProperty(editor, 'confine', {
      value: (...given: Parameters<typeof confine>) => {
        const held = confine(...given)
        const at = held.args.indexOf('--chdir')
        return { ...held, args: held.args.toSpliced(at, 0, '--bind', '/no/such', '/mnt') }
      },
    })
    const text = await session.text('touch never')
    expect(text).toMatch(/^Exit code 1\nbwrap: .*\n/)
    expect(text.endsWith(`\n${notConfined}`)).toBe(true)
    expect(existsSync(join(session.cwd, 'never'))).toBe(false)
    // What works here is checked again, also by the next process.
    expect(existsSync(join(session.home, '.halting/confinement-edits.json'))).toBe(false)
    expect(session.workspace.wall?.edits()).not.toBe(before)
  })

  test('that can no longer be confined triggers a new check of the confinement', async () => {
    const bin = temporaryFolder()
    const bubblewrap = execFileSync('sh', ['-c', 'command -v bwrap'], { encoding: 'utf8' }).trim()
    const refused = 'echo "bwrap: No permissions to create new namespace" >&2; exit 1'
    const text = `#!/bin/sh\n[ -e ${join(bin, 'refuses')} ] && { ${refused}; }\nexec ${bubblewrap} "$@"\n`
    writeFileSync(join(bin, 'bwrap'), text, { mode: 0o755 })
    vi.stubEnv('PATH', `${bin}:${process.env['PATH']}`)
    onTestFinished(() => void vi.unstubAllEnvs())
    const session = openSession()
    const memory = join(session.home, '.halting/confinement-edits.json')
    expect(await session.text(script(session, 'touch first'))).toBe('(no output)')
    expect(existsSync(memory)).toBe(true)
    writeFileSync(join(bin, 'refuses'), '')
    expect(await session.text(script(session, 'touch second'))).toContain(notConfined)
    expect([existsSync(memory), existsSync(join(session.cwd, 'second'))]).toEqual([false, false])
    expect(await session.behaviorOf('sh ./other')).toBe('ask')
  })

  test('leaves no process when its result is there, including hidden and stubborn ones', async () => {
    const session = openSession()
    const hidden = 'env -i setsid bash -c \'exec >/dev/null 2>&1; trap "" TERM; while :; do echo x >> grows; done\''
    const text = await session.text(script(session, `${hidden} &`, 'sleep 0.2'))
    const grows = join(session.cwd, 'grows')
    const size = readFileSync(grows).length
    expect(size).toBeGreaterThan(0)
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(readFileSync(grows).length).toBe(size)
    expect(text).toBe('(no output)')
    expect(session.workspace.processes.leftBehind).toEqual([])
  })

  test('has time to clean up when it is interrupted', async () => {
    const session = openSession()
    const isThere = (name: string): boolean => existsSync(join(session.cwd, name))
    // The shell itself ends at once.
    const slow = "(trap 'sleep 0.05; rm lock; exit' TERM; touch lock; touch ready; sleep 20 & wait)"
    await session.run(`trap exit TERM; ${slow} & wait; touch next`, { signal: abortedWhen(session, 'ready') })
    expect(['lock', 'next'].map(isThere)).toEqual([false, false])
  })

  test('receives the trace span of its call', async () => {
    const session = openSession()
    session.workspace.traceparentOf = (callId) => `of ${callId}`
    expect(await session.text('echo "$TRACEPARENT"')).toBe('of call_1')
  })

  test('runs git hooks confined with it', async () => {
    const session = openSession()
    execFileSync('git', ['init', '-q'], { cwd: session.cwd })
    expect(await session.text('git config core.hooksPath || echo none; echo "$GIT_ALLOW_PROTOCOL"; touch x')).toBe(
      'none',
    )
  })

  test('is judged in Wait as in Bash, and its failure is reported', async () => {
    const session = openSession()
    const fields = { timeout_seconds: 1, every_seconds: 1 }
    const failed = await session.text(script(session, outside), { tool: 'Wait', fields })
    expect(failed).toContain(ranInWorkspace)
    expect(failed.split(ranInWorkspace)).toHaveLength(2)
    expect(await session.text('echo a > made', { tool: 'Wait', fields })).not.toContain(ranInWorkspace)
    expect(readFileSync(join(session.cwd, 'made'), 'utf8')).toBe('a\n')
    const elsewhere = join(session.home, 'x')
    await session.text(`echo a > ${elsewhere}`, {
      tool: 'Wait',
      fields: { ...fields, unconfined: true },
      isAsked: true,
    })
    expect(existsSync(elsewhere)).toBe(true)
    expect(createWaitTool(session.workspace).validate?.({ seconds: 1, unconfined: true })).toMatchObject({
      valid: false,
    })
  })

  test('runs in parallel for several agents, each under its own call', async () => {
    const session = openSession()
    const lines = Array.from({ length: 6 }, (_, at) => at)
    script(session, outside)
    const texts = await Promise.all(
      lines.map((at) => session.text(`echo ${at} > of-${at}; bash lines; exit ${at}`, { agentId: `agent-${at}` })),
    )
    expect(texts.map((text) => text.includes(ranInWorkspace))).toEqual(lines.map((at) => at > 0))
    expect(lines.map((at) => readFileSync(join(session.cwd, `of-${at}`), 'utf8'))).toEqual(lines.map((at) => `${at}\n`))
  })
})

/** Everything in a folder except its repository, with contents. */
const contentsOf = (folder: string): string =>
  execFileSync(
    'bash',
    [
      '-c',
      'find . -name .git -prune -o -type f -print0 | sort -z | xargs -0r tail -n +1 -v; find . -name .git -prune -o -type d -print | sort',
    ],
    { cwd: folder, encoding: 'utf8' },
  )

/** Reverts the last run; returns what was left unchanged, and what is unknown. */
async function undo(folder: string): Promise<unknown> {
  const files = new SessionFiles(folder)
  const plan = await files.plan({ kind: 'undo' })
  if (plan === undefined) return 'nothing'
  return { left: [...plan.left, ...(await files.apply(plan))], unknown: plan.unknown }
}

describe.skipIf(!hasBubblewrap).each(['git', 'folder'])('Undo of a confined command in a %s', (kind) => {
  const open = (): { readonly session: Session; readonly added: string; readonly kept: string } => {
    const [cwd, added, kept] = [temporaryFolder(), temporaryFolder(), temporaryFolder()]
    for (const folder of [cwd, added]) {
      const init = kind === 'git' ? 'git init -q; git config user.email a@b.c; git config user.name a;' : ''
      const commit = kind === 'git' ? 'git add .; git commit -qm x;' : ''
      const files = `echo a > a; mkdir d; echo b > d/b; chmod 640 a;`
      execFileSync('bash', ['-c', `${init} ${files} ${commit} echo changed >> d/b`], { cwd: folder, env: quietGit })
    }
    const checkpoints = new FileCheckpoints({ folder: kept, cwd, directories: [added], env: quietGit })
    return { session: openSession({ checkpoints, additionalDirectories: [added] }, cwd), added, kept }
  }

  test('reverts what it changed in all workspace folders, and nothing in /tmp', async () => {
    const { session, added, kept } = open()
    const folders = [session.cwd, added]
    const before = folders.map(contentsOf)
    const temporary = `/tmp/${basename(kept)}.t`
    onTestFinished(() => rmSync(temporary, { force: true }))
    await session.run(
      `for f in ${folders.join(' ')}; do cd $f; echo new > a; mv d/b c; mkdir n; seq 99 > n/o; done; echo x > ${temporary}`,
    )
    expect(folders.map(contentsOf)).not.toEqual(before)
    expect(readFileSync(join(added, 'a'), 'utf8')).toBe('new\n')
    expect(await undo(kept)).toEqual({ left: [], unknown: [] })
    expect(folders.map(contentsOf)).toEqual(before)
    expect(readFileSync(join(kept, 'changes.jsonl'), 'utf8')).not.toContain(`"path":"${temporary}"`)
  })

  test('reverts what an interrupted one did, and does not restore what the confinement moved away', async () => {
    const { session, kept } = open()
    const line = script(session, 'echo new > a', 'echo {} > .mcp.json', 'touch ready', 'sleep 20')
    const before = contentsOf(session.cwd)
    const made = join(session.cwd, '.mcp.json')
    await session.run(line, {
      signal: abortedWhen(session, 'ready'),
    })
    expect(session.notices).toMatchObject([{ kind: 'confined_file_taken_back', path: made }])
    expect(readFileSync(join(session.cwd, 'a'), 'utf8')).toBe('new\n')
    expect(await undo(kept)).toEqual({ left: [], unknown: [] })
    expect([contentsOf(session.cwd), existsSync(made)]).toEqual([before, false])
  })

  test('covers a line that was mistaken for read-only', async () => {
    const { session, kept } = open()
    const line = 'cat d/b; ls'
    expect(isReadOnlyCommand(line)).toBe(true)
    const confinement = session.workspace.confinementOf(
      { command: 'npm test' },
      { callId: 'other', state: AgentState.empty(), agentType: null },
    )
    Object.defineProperty(session.workspace, 'confinementOf', { value: () => confinement })
    // Files that the shell reads first are not in the line.
    writeFileSync(join(session.cwd, 'first'), 'echo hidden > a')
    const env = { ...session.workspace.env, BASH_ENV: join(session.cwd, 'first') }
    Object.defineProperty(session.workspace, 'env', { value: env })
    await session.run(line)
    expect(readFileSync(join(session.cwd, 'a'), 'utf8')).toBe('hidden\n')
    expect(await undo(kept)).toEqual({ left: [], unknown: [] })
    expect(readFileSync(join(session.cwd, 'a'), 'utf8')).toBe('a\n')
  })
})

const quietGit = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' }

describe('The tools', () => {
  test('accept unconfined, also under the names of other agents', () => {
    const { workspace } = openSession()
    const bash = createBashTool(workspace)
    for (const name of ['dangerouslyDisableSandbox', 'with_escalated_permissions'])
      expect(bash.canonicalInput?.({ command: 'ls', [name]: true })).toEqual({ command: 'ls', unconfined: true })
    expect(bash.validate?.({ command: 'ls', unconfined: 'yes please' })).toMatchObject({ valid: false })
  })
})
