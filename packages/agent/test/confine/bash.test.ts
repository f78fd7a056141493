// Holds R-WALL-1, R-WALL-3, R-WALL-7 and R-WAIT-13 of docs/spec in the Bash and Wait tools of a session.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentState, type ToolContext } from '@halting/core'
import { textOf } from '@halting/core/adapters'
import { createBashTool, createWaitTool, openWorkspace, type SessionWorkspace } from '@halting/agent'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bashCall } from '../../../policy/test/judge/support.ts'
import { temporaryFolder } from '../support/harness.ts'
import { allMeans } from '../../../policy/test/confine/support.ts'

interface Session extends SessionWorkspace {
  readonly cwd: string
  /** Decides about a command, and runs it whatever the decision. */
  readonly run: (command: string) => Promise<string>
  /** The same with a command that Wait runs. */
  readonly wait: (command: string) => Promise<string>
}

function openSession(settings: Parameters<typeof openWorkspace>[0]['settings'] = {}): Session {
  const [cwd, home] = [temporaryFolder(), temporaryFolder()]
  mkdirSync(join(home, '.halting'))
  const env = { ...process.env, HOME: home }
  const session = openWorkspace({ places: { cwd, home, env }, sessionId: 'one', settings, env, whenAsked: 'ask' })
  onTestFinished(() => session.workspace.dispose())
  const [bash, wait] = [createBashTool(session.workspace), createWaitTool(session.workspace)]
  const run = async (
    tool: { readonly name: string; execute: typeof bash.execute },
    command: string,
  ): Promise<string> => {
    const call = bashCall(command)
    await session.permissions.decide({ ...call, call: { ...call.call, name: tool.name } })
    const context: ToolContext = {
      callId: 'call_1',
      toolName: tool.name,
      agentType: null,
      signal: new AbortController().signal,
      idempotencyKey: 'call_1',
      state: AgentState.empty(),
      progress: () => undefined,
    }
    const output = await tool.execute({ command }, context)
    return typeof output === 'string' ? output : textOf(output.content)
  }
  return { ...session, cwd, run: (command) => run(bash, command), wait: (command) => run(wait, command) }
}

const folders = (): readonly string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('halting-read-'))

describe.skipIf(allMeans.length === 0)('The Bash tool (needs Landlock or bubblewrap)', () => {
  test('confines commands that were judged read-only, and runs commands that a rule allows unconfined', async () => {
    const judged = openSession()
    expect(await judged.run('echo "$TMPDIR"')).toMatch(/halting-read-/)
    const ruled = openSession({
      permissions: { allow: ['Bash(echo:*)'], deny: [], ask: [], additionalDirectories: [] },
    })
    expect(await ruled.run('echo "$TMPDIR"')).not.toMatch(/halting-read-/)
    expect([await judged.wait('echo "$TMPDIR"'), await ruled.wait('echo "$TMPDIR"')]).toEqual([
      expect.stringMatching(/halting-read-/),
      expect.not.stringMatching(/halting-read-/),
    ])
  })

  test('confines a misjudged command: a line judged as read-only writes nothing', async () => {
    const session = openSession()
    writeFileSync(join(session.cwd, 'a'), 'x')
    // As if the analysis had mistaken it for read-only.
    session.workspace.wall?.means()
    const wrong = { kind: 'read', readable: [] } as const
    Object.defineProperty(session.workspace, 'confinementOf', { value: () => wrong })
    expect(await session.run('touch b; echo y > a; cat a')).toMatch(/Permission denied|Read-only/)
    expect(existsSync(join(session.cwd, 'b'))).toBe(false)
    expect(await session.run('cat a; touch b')).toMatch(/^Exit code 1\nx.*The command ran confined/s)
  })

  test('follows the shell into other folders', async () => {
    const session = openSession()
    mkdirSync(join(session.cwd, 'sub'))
    writeFileSync(join(session.cwd, 'sub/x'), 'inside\n')
    await session.run('cd sub')
    expect(await session.run('cat x; pwd')).toContain('inside')
    expect(session.workspace.shellDirectory).toBe(join(session.cwd, 'sub'))
  })

  test('removes its temporary folder with the session, and creates none before it is needed', async () => {
    const outer = process.env['TMPDIR']
    onTestFinished(() => {
      process.env['TMPDIR'] = outer
      if (outer === undefined) delete process.env['TMPDIR']
    })
    // One that no other test writes to.
    process.env['TMPDIR'] = temporaryFolder()
    const session = openSession()
    const before = folders()
    await session.run('ls')
    expect(folders()).toHaveLength(before.length + 1)
    await session.workspace.dispose()
    expect(folders()).toEqual(before)
  })

  test('runs nothing if the confinement is gone', async () => {
    const session = openSession()
    await session.permissions.decide(bashCall('ls'))
    const wall = session.workspace.wall
    if (wall !== undefined) Object.defineProperty(wall, 'means', { value: () => ({ kind: 'none', why: 'gone' }) })
    Object.defineProperty(session.workspace, 'confinementOf', { value: () => ({ kind: 'read', readable: [] }) })
    expect(await session.run('echo ran')).toContain('It did not run')
  })

  test('reports a failing launcher, runs nothing, and retries the next time', async () => {
    const session = openSession()
    await session.run('ls')
    const memory = session.workspace.wall?.memory ?? ''
    const wall = session.workspace.wall?.readWall
    if (wall === undefined || allMeans[0]?.kind !== 'landlock') return
    expect(existsSync(memory)).toBe(true)
    const confine = wall.confine.bind(wall)
    Object.defineProperty(wall, 'confine', {
      value: (...given: Parameters<typeof confine>) => {
        const started = confine(...given)
        // A filter that the kernel refuses.
        return { ...started, args: started.args.map((word, at) => (at === 7 ? '00' : word)) }
      },
    })
    const said = await session.run('ls; echo ran')
    expect(said).toContain('this command cannot be confined')
    expect(said).not.toContain('ran\n')
    expect(existsSync(memory)).toBe(false)
  })

  test('confines nothing if the setting disables it', async () => {
    const session = openSession({ confineJudged: 'off' })
    expect(await session.run('echo "$TMPDIR"')).not.toMatch(/halting-read-/)
  })
})
