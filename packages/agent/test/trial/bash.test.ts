// Holds R-TRY-1 to R-TRY-7 of docs/spec in the Bash tool of a session.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  AgentState,
  type PermissionDecision,
  type PermissionRequest,
  type ToolContext,
  type ToolOutput,
} from '@halting/core'
import { textOf } from '@halting/core/adapters'
import { createBashTool, openWorkspace, type SessionWorkspace } from '@halting/agent'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bashCall } from '../../../policy/test/judge/support.ts'
import { means } from '../../../policy/test/trial/support.ts'
import { temporaryFolder } from '../support/harness.ts'

/** No rule covers them, and their effects are unknown without running them. */
const scripts = {
  'append.sh': 'echo x >> script.sh',
  'end.sh': 'kill -9 $(ps -o ppid= $PPID)',
  'left.sh': 'sleep 30 & disown',
  'rights.sh': 'chmod 600 script.sh',
  'script.sh': 'echo "ran in $PWD"\nexit ${1:-0}\n',
  'sleep.sh': 'sleep 60',
  'touch.sh': 'touch made',
}
const scriptNames = Object.keys(scripts)

type Settings = Parameters<typeof openWorkspace>[0]['settings']

interface Session extends SessionWorkspace {
  readonly cwd: string
  readonly home: string
  decide(command: string, more?: Partial<PermissionRequest>, input?: object): Promise<PermissionDecision>
  execute(command: string, input?: object): Promise<Exclude<ToolOutput, string>>
}

function openSession(settings: Settings = {}, whenAsked: 'ask' | 'deny' = 'ask'): Session {
  const [cwd, home] = [temporaryFolder(), temporaryFolder()]
  const env = { ...process.env, HOME: home }
  const options = { places: { cwd, home, env }, sessionId: 'one', env, whenAsked }
  const session = openWorkspace({ ...options, settings: { tryReadOnly: true, ...settings } })
  onTestFinished(() => session.workspace.dispose())
  const bash = createBashTool(session.workspace)
  for (const [name, text] of Object.entries(scripts)) writeFileSync(join(cwd, name), text)
  return {
    ...session,
    cwd,
    home,
    async decide(command, more = {}, input = {}) {
      const request = bashCall(command)
      const call = { ...request.call, input: { command, ...input } }
      return session.permissions.decide({ ...request, call, signal: new AbortController().signal, ...more })
    },
    async execute(command, input = {}) {
      const context: ToolContext = {
        callId: 'call_1',
        toolName: 'Bash',
        agentType: null,
        signal: new AbortController().signal,
        idempotencyKey: 'call_1',
        state: AgentState.empty(),
        progress: () => undefined,
      }
      const output = await bash.execute({ command, ...input }, context)
      return typeof output === 'string' ? { content: output } : output
    },
  }
}

const contentOf = ({ content }: Exclude<ToolOutput, string>): string => textOf(content)

describe.skipIf(means === undefined)(
  'A command that no rule covers, with tryReadOnly (needs bubblewrap and overlays)',
  () => {
    test('runs once, without asking, if it has no effects: the call returns the result of the trial', async () => {
      const session = openSession()
      const counted = join(session.cwd, 'node_modules/.cache/count')
      expect(await session.decide('bash script.sh')).toEqual({ behavior: 'allow', confined: true })
      writeFileSync(join(session.cwd, 'script.sh'), 'echo "another one"\n')
      const output = await session.execute('bash script.sh')
      expect([contentOf(output), output.isError, existsSync(counted)]).toEqual([`ran in ${session.cwd}`, false, false])
      // Stored once.
      expect(session.workspace.trials?.take({ callId: 'call_1', command: 'bash script.sh' })).toBeUndefined()
    })

    test('returns a failure unchanged, with a note about the confinement if that may be the reason', async () => {
      const session = openSession()
      await session.decide('bash script.sh 3')
      expect(contentOf(await session.execute('bash script.sh 3'))).toBe(`Exit code 3\nran in ${session.cwd}`)
      const line = 'python3 -c "import nothing_like_it"'
      expect(await session.decide(line)).toEqual({ behavior: 'allow', confined: true })
      expect(contentOf(await session.execute(line))).toMatch(/^Exit code 1\n.*No module named.*"unconfined": true/s)
    })

    test('moves the shell when its call runs, and not before', async () => {
      const session = openSession()
      mkdirSync(join(session.cwd, 'sub'))
      await session.decide('cd sub && bash ../script.sh')
      expect(session.workspace.shellDirectory).toBe(session.cwd)
      await session.execute('cd sub && bash ../script.sh')
      expect(session.workspace.shellDirectory).toBe(join(session.cwd, 'sub'))
    })

    test.each([
      // Its writes are visible before it runs.
      ['echo x > made', /^(?!.*tried)/],
      ['bash append.sh', /A trial without effects did not settle it.*: it writes \/.*script\.sh\.$/],
      ['bash touch.sh', /A trial without effects did not settle it.*: it writes \/.*made\.$/],
      ['bash rights.sh', /A trial without effects did not settle it.*: it writes \/.*script\.sh\.$/],
      ['bash left.sh', /A trial without effects did not settle it.*: it left processes running\.$/],
      ['bash end.sh', /A trial without effects did not settle it.*: it ended its own shell\.$/],
      [
        'python3 -c "import socket; socket.create_connection((\'192.0.2.1\', 80), 1)"',
        /A trial without effects did not settle it.*: it needs the network\.$/,
      ],
    ])('asks when %s has, or may have, effects, and leaves nothing of them', async (command, message) => {
      const session = openSession()
      const before = readFileSync(join(session.cwd, 'script.sh'), 'utf8')
      expect(await session.decide(command)).toEqual({ behavior: 'ask', message: expect.stringMatching(message) })
      expect(readdirSync(session.cwd)).toEqual(scriptNames)
      expect(readFileSync(join(session.cwd, 'script.sh'), 'utf8')).toBe(before)
      expect(session.workspace.trials?.take({ callId: 'call_1', command })).toBeUndefined()
    })

    test('is not tried if something other than a missing rule asks, or if its effects are elsewhere', async () => {
      const session = openSession({
        permissions: {
          allow: [],
          deny: ['Bash(bash denied.sh)'],
          ask: ['Bash(bash asked.sh)'],
          additionalDirectories: [],
        },
      })
      writeFileSync(join(session.home, 'secret.sh'), 'echo secret\n')
      const tried: string[] = []
      session.workspace.trials = undefined
      const decisions = [
        await session.decide('bash asked.sh'),
        await session.decide('bash denied.sh'),
        await session.decide('bash script.sh', { hookDecision: 'ask' }),
        await session.decide('bash script.sh', { needsApproval: true }),
        await session.decide('bash script.sh', { wasAsked: true }),
        await session.decide('bash script.sh', { mode: 'plan' }),
        await session.decide('bash script.sh', {}, { unconfined: true }),
        await session.decide('bash script.sh', {}, { run_in_background: true }),
        await session.decide('kill 1'),
        await session.decide('docker ps'),
        await session.decide('curl example.com'),
        await session.decide(`bash ${session.home}/secret.sh`),
        await session.decide('bash ../*/secret.sh'),
      ]
      tried.push(...decisions.flatMap((decision) => ('message' in decision ? [decision.message] : ['allowed'])))
      expect(decisions.map(({ behavior }) => behavior).filter((behavior) => behavior === 'allow')).toEqual([])
      expect(tried.filter((message) => message.includes('tried'))).toEqual([])
      expect(session.workspace.trials).toBeUndefined()
    })

    test('is denied if nobody answers and it has effects, and runs if it has none', async () => {
      const session = openSession({}, 'deny')
      expect(await session.decide('bash script.sh')).toEqual({ behavior: 'allow', confined: true })
      expect(await session.decide('bash touch.sh')).toMatchObject({
        behavior: 'deny',
        message: expect.stringContaining('it writes'),
      })
    })

    test('is not tried without the setting, in other modes, or with confinement disabled', async () => {
      for (const settings of [{ tryReadOnly: false }, { confineJudged: 'off' as const }]) {
        const session = openSession(settings)
        expect((await session.decide('bash script.sh')).behavior).toBe('ask')
        expect(session.workspace.trials).toBeUndefined()
      }
    })

    test('ends with the run, and with its timeout', async () => {
      const session = openSession()
      const abort = new AbortController()
      setTimeout(() => abort.abort(), 300)
      expect(await session.decide('bash sleep.sh', { signal: abort.signal })).toMatchObject({
        behavior: 'ask',
        message: expect.stringContaining('it was interrupted'),
      })
      expect(await session.decide('bash sleep.sh', {}, { timeout: 200 })).toMatchObject({
        behavior: 'ask',
        message: expect.stringContaining('it did not end within 200 ms'),
      })
    })

    test('is tried during its call in a process that did not decide about it, and does not run if it has effects', async () => {
      const session = openSession()
      expect(contentOf(await session.execute('bash script.sh'))).toBe(`ran in ${session.cwd}`)
      const output = await session.execute('bash touch.sh')
      expect([output.isError, contentOf(output)]).toEqual([
        true,
        expect.stringMatching(/^The command did not run: .*it writes .*Call it again/),
      ])
      expect(readdirSync(session.cwd)).toEqual(scriptNames)
    })

    test('cannot read what a deny rule names', async () => {
      const session = openSession({
        permissions: { allow: [], deny: ['Read(./secret)'], ask: [], additionalDirectories: [] },
      })
      writeFileSync(join(session.cwd, 'secret'), 'the secret\n')
      const line = "python3 -c \"print(open('secr' + 'et').read())\""
      expect(await session.decide(line)).toMatchObject({
        behavior: 'ask',
        message: expect.stringMatching(/A trial without effects did not settle it.*refused/),
      })
    })

    test('asks with the reason if the trial could not start, and checks again what works', async () => {
      const session = openSession()
      await session.decide('bash script.sh')
      const { wall } = session.workspace
      const [before, trialist] = [wall?.trials(), wall?.trialWall]
      if (trialist === undefined) throw new Error('There is no wall.')
      const confine = trialist.confine.bind(trialist)
      Object.defineProperty(trialist, 'confine', {
        value: (...given: Parameters<typeof confine>) => {
          const held = confine(...given)
          const at = held.args.indexOf('--chdir')
          return { ...held, args: held.args.toSpliced(at, 0, '--bind', '/no/such', '/mnt') }
        },
      })
      expect(await session.decide('bash script.sh')).toMatchObject({
        behavior: 'ask',
        message: expect.stringMatching(/it could not be tried \(bwrap: /),
      })
      expect(wall?.trials()).not.toBe(before)
    })
  },
)
