// Holds R-EBASH-1 to R-EBASH-8 of docs/spec.md in the Bash and Wait tools of a session.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AgentState, type ToolContext, type ToolOutput } from '@halting/core'
import { textOf } from '@halting/core/adapters'
import { createBashTool, createWaitTool, openWorkspace, type SessionWorkspace } from '@halting/agent'
import type { Aftermath } from '@halting/policy/wall'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ConfinedNotice } from '../../src/tools/workspace.ts'
import { endedWithCommand, notTakenBack, ranInWorkspace, takenBack } from '../../src/tools/shell-texts.ts'
import { bashCall } from '../../../policy/test/judge/support.ts'
import { allMeans } from '../../../policy/test/confine/support.ts'
import { temporaryFolder } from '../support/harness.ts'

const hasBubblewrap = allMeans.some((means) => means.kind === 'bubblewrap' && means.hasOwnProc)

interface Session extends SessionWorkspace {
  readonly cwd: string
  readonly home: string
  /** What the rules say of a call. */
  readonly behaviorOf: (command: string, fields?: object) => Promise<string>
  /** Decides about a command, and runs it whatever came of that. */
  readonly run: (command: string, options?: RunOptions) => Promise<ToolOutput>
  readonly text: (command: string, options?: RunOptions) => Promise<string>
  readonly notices: readonly ConfinedNotice[]
}

interface RunOptions {
  readonly fields?: object
  readonly signal?: AbortSignal
  readonly tool?: 'Bash' | 'Wait'
  readonly agentId?: string
}

function openSession(settings: Parameters<typeof openWorkspace>[0]['settings'] = {}): Session {
  const [cwd, home] = [temporaryFolder(), temporaryFolder()]
  mkdirSync(join(home, '.halting'))
  const env = { ...process.env, HOME: home }
  const session = openWorkspace({
    places: { cwd, home, env },
    sessionId: 'one',
    settings,
    env,
    mode: 'acceptEdits',
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
  const run: Session['run'] = async (command, { fields, signal, tool = 'Bash', agentId } = {}) => {
    const request = callOf(command, tool, fields)
    await permissions.decide({ ...request, ...(agentId !== undefined && { agentId }) })
    const context: ToolContext = {
      callId: request.call.id,
      toolName: tool,
      agentType: agentId === undefined ? null : 'helper',
      signal: signal ?? new AbortController().signal,
      idempotencyKey: request.call.id,
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

describe.skipIf(!hasBubblewrap)('A command confined to the workspace (needs bubblewrap)', () => {
  test('changes the workspace, and what a person has to allow runs as it is', async () => {
    const session = openSession()
    const outside = join(session.home, 'x')
    const abort = new AbortController()
    const t0 = performance.now()
    setTimeout(() => abort.abort(), 500)
    console.log(await session.run(`trap 'sleep 0.3; echo bye > bye; exit 3' TERM; (trap '' TERM; sleep 0.7; echo x > x) & sleep 100 & wait; echo next`, {signal: abort.signal}))
    console.log(performance.now() - t0, execFileSync('ls', [session.cwd]).toString())
    const abort2 = new AbortController()
    const t1 = performance.now()
    setTimeout(() => abort2.abort(), 500)
    console.log(await session.run(`sleep 100; echo next > next`, {signal: abort2.signal}))
    console.log(performance.now() - t1, execFileSync('ls', [session.cwd]).toString())
    const t2 = performance.now()
    console.log(await session.run(`(exec >/dev/null 2>&1; trap '' TERM; while :; do echo x >> grows; done) & echo`))
    const size = readFileSync(join(session.cwd, 'grows')).length
    console.log(performance.now() - t2, size)
    await new Promise(r => setTimeout(r, 300))
    expect(readFileSync(join(session.cwd, 'grows')).length).toBe(size)
  })
})
