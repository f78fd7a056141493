// Holds R-EFRONT-1 to R-EFRONT-2 of docs/spec: where commands run confined in acceptEdits, and where a frontend is asked.
import { existsSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { describe, expect, onTestFinished, test } from 'vitest'
import { allMeans } from '../../policy/test/confine/support.ts'
import { say, talk } from './support/acp-program.ts'
import { servedCluster } from './support/cluster.ts'
import { endHosts, host, isResult, user } from './support/host.ts'
import { call, here, installProgram, linesOf, type Line, run, script } from './support/program.ts'

installProgram()
endHosts()

interface Place {
  readonly home: string
  readonly project: string
  /** What the command changes in the project and in the home directory. */
  readonly changed: () => readonly string[]
}

function place(): Place {
  const root = realpathSync(mkdtempSync(join(here(), 'fronts-')))
  const [home, project] = [join(root, 'home'), join(root, 'project')]
  for (const folder of [join(home, '.halting'), project]) mkdirSync(folder, { recursive: true })
  const changed = (): readonly string[] =>
    [join(project, 'made'), join(home, 'made')].filter((path) => existsSync(path))
  return { home, project, changed }
}

/** No grammar and no rule covers it. It writes into the project, and tries to write into the home directory. */
const command = `perl -e 'for (".", $ENV{HOME_OF_TEST}) { open F, ">", "$_/made" } print "ran"'`
const bash = (more: object = {}) => call('Bash', { command, ...more })
const replies = [{ content: [bash()] }, { content: 'Done.' }]
const settings = (value: boolean): string => JSON.stringify({ sandbox: { autoAllowBashIfSandboxed: value } })
const accepts = ['--permission-mode', 'acceptEdits']

const canConfine = allMeans.some((means) => means.kind === 'bubblewrap' && means.hasOwnProc)

describe.skipIf(!canConfine)('Where commands can be confined to the workspace (needs bubblewrap)', () => {
  const printing = async (at: Place, args: readonly string[], content: readonly object[]) =>
    run(['-p', 'hi', ...accepts, '--script', script(content), ...args], {
      cwd: at.project,
      env: { HOME: at.home, HOME_OF_TEST: at.home },
    })

  /** A run of `-p`, and what it changed. */
  async function print(at: Place, args: readonly string[] = [], content: readonly object[] = replies) {
    const { stdout } = await printing(at, [...args, '--output-format', 'json'], content)
    return { result: linesOf(stdout)[0], changed: at.changed() }
  }

  test('-p runs a command without a rule, confined to the project', async () => {
    const at = place()
    const { result, changed } = await print(at)
    expect(result).toMatchObject({ permission_denials: [], result: 'Done.' })
    expect(changed).toEqual([join(at.project, 'made')])
  })

  test('runs a command with a rule unconfined', async () => {
    const at = place()
    expect((await print(at, ['--allowedTools', 'Bash(perl *)'])).changed).toHaveLength(2)
  })

  test.each([
    [
      'an explicit false of the person',
      (at: Place) => writeFileSync(join(at.home, '.halting/settings.json'), settings(false)),
      [],
    ],
    ['an explicit false of --settings', () => undefined, ['--settings', settings(false)]],
    [
      'a false of the person, with a true of --settings',
      (at: Place) => writeFileSync(join(at.home, '.halting/settings.json'), settings(false)),
      ['--settings', settings(true)],
    ],
    ['confineJudged off', () => undefined, ['--settings', '{"confineJudged":"off"}']],
    ['the mode default', () => undefined, ['--permission-mode', 'default']],
  ] as const)('with %s, -p denies the command and names the missing rule', async (_case, prepare, args) => {
    const at = place()
    prepare(at)
    const { stderr } = await printing(at, args, replies)
    expect([at.changed(), stderr]).toEqual([[], expect.stringContaining('1 call denied: Bash perl ')])
    expect(stderr).toContain("--allowedTools 'Bash(perl ")
  })

  test('denies with -p what would run in the background or unconfined', async () => {
    for (const more of [{ run_in_background: true }, { unconfined: true }]) {
      const at = place()
      const { result, changed } = await print(at, [], [{ content: [bash(more)] }, { content: 'Done.' }])
      expect([more, changed, result?.['permission_denials']]).toEqual([more, [], [expect.anything()]])
    }
  })

  test('suggests a rule for a denied command, not the mode in which it would run confined (spec R-TEXT-6)', async () => {
    const at = place()
    const calls = [bash(), call('Bash', { command: 'make all' })]
    const content = [{ content: calls }, { content: 'Done.' }]
    const { stderr } = await printing(at, ['--permission-mode', 'default'], content)
    expect(stderr).toMatch(/--allowedTools 'Bash\(perl .*,Bash\(make all\)'/)
  })

  test('also confines a subagent, including a user-defined one that accepts edits while its parent does not', async () => {
    const at = place()
    const agents = JSON.stringify({
      maker: { description: 'Makes', prompt: 'Make it.', tools: ['Bash'], permissionMode: 'acceptEdits' },
    })
    const asked = { description: 'Make', prompt: 'Make it', subagent_type: 'maker', run_in_background: false }
    const content = [{ content: [call('Agent', asked)] }, ...replies, { content: 'All done.' }]
    const { result, changed } = await print(at, ['--permission-mode', 'default', '--agents', agents], content)
    expect(result).toMatchObject({ permission_denials: [], result: 'All done.' })
    expect(changed).toEqual([join(at.project, 'made')])
  })

  test('uses the confinement of the program that resumes a session', async () => {
    const at = place()
    const id = '3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
    await print(at, ['--session-id', id], [{ content: 'Hello.' }])
    expect((await print(at, ['--resume', id])).changed).toEqual([join(at.project, 'made')])
  })

  const isAsked = ({ type, request }: Line): boolean =>
    type === 'control_request' && Object(request)['subtype'] === 'can_use_tool'

  /** What a host with these flags is asked, and the outcome; it denies each question. */
  async function hosted(at: Place, args: readonly string[]) {
    const env = { HOME: at.home, HOME_OF_TEST: at.home }
    const one = await host(replies, { cwd: at.project, env, args })
    const answered = one.next((line) => isAsked(line) || isResult(line))
    one.send(user('go'))
    const first = await answered
    if (isAsked(first)) {
      const denied = { behavior: 'deny', message: 'No.' }
      const response = { subtype: 'success', request_id: first['request_id'], response: denied }
      one.send({ type: 'control_response', response })
      await one.next(isResult)
    }
    await one.end()
    return { asked: isAsked(first), changed: at.changed() }
  }

  const own = (at: Place): string => join(at.home, '.halting/settings.json')
  const ofProject = (at: Place): string => join(at.project, '.halting/settings.json')
  test.each([
    ['asked', undefined, []],
    ['not asked where a settings file of the person says so', own, []],
    ['not asked where --settings says so', undefined, ['--settings', settings(true)]],
    ['asked where only a project that nobody trusts says so', ofProject, []],
    ['asked where a project says so whose sandbox nobody reviewed', ofProject, ['--trust']],
  ] as const)('treats a host that answers as %s (spec R-EFRONT-1)', async (how, file, args) => {
    const at = place()
    mkdirSync(join(at.project, '.halting'))
    if (file !== undefined) writeFileSync(file(at), settings(true))
    const asked = how.startsWith('asked')
    expect(await hosted(at, [...accepts, '--permission-prompt-tool', 'stdio', ...args])).toEqual({
      asked,
      changed: asked ? [] : [join(at.project, 'made')],
    })
  })

  test('treats a host that answers nothing like -p', async () => {
    const at = place()
    expect(await hosted(at, accepts)).toEqual({ asked: false, changed: [join(at.project, 'made')] })
  })

  test('applies a mode that a host sets from the next call on', async () => {
    const at = place()
    const env = { HOME: at.home, HOME_OF_TEST: at.home }
    const one = await host([...replies, ...replies], { cwd: at.project, env })
    await one.say('go')
    expect(at.changed()).toEqual([])
    await one.ask('set_permission_mode', { mode: 'acceptEdits' })
    await one.say('go')
    expect(at.changed()).toEqual([join(at.project, 'made')])
    await one.end()
  })

  test('asks an editor unless a user setting says otherwise', async () => {
    for (const isSet of [false, true]) {
      const at = place()
      if (isSet) writeFileSync(join(at.home, '.halting/settings.json'), settings(true))
      const one = await talk([...accepts, '--script', script(replies)], {
        env: { HOME: at.home, HOME_OF_TEST: at.home },
        permission: async () => ({ outcome: { outcome: 'selected', optionId: 'reject_once' } }),
      })
      const { sessionId } = await one.agent.request(methods.agent.session.new, { cwd: at.project, mcpServers: [] })
      await one.agent.request(methods.agent.session.prompt, { sessionId, prompt: say('go') })
      expect([isSet, one.asked.length, at.changed()]).toEqual([
        isSet,
        isSet ? 0 : 1,
        isSet ? [join(at.project, 'made')] : [],
      ])
      one.child.stdin?.end()
      await one.exited()
    }
  })

  test('says in the request to an editor that a command would run unconfined (spec R-EFRONT-5)', async () => {
    const at = place()
    writeFileSync(join(at.home, '.halting/settings.json'), settings(true))
    const content = script([{ content: [bash({ unconfined: true })] }, { content: 'Done.' }])
    const one = await talk([...accepts, '--script', content], { env: { HOME: at.home, HOME_OF_TEST: at.home } })
    const { sessionId } = await one.agent.request(methods.agent.session.new, { cwd: at.project, mcpServers: [] })
    await one.agent.request(methods.agent.session.prompt, { sessionId, prompt: say('go') })
    const asked = one.wire.said.filter(({ message }) => JSON.stringify(message).includes('session/request_permission'))
    const remark = 'It would run outside of the confinement: '
    expect(asked.map(({ message }) => message)).toMatchObject([
      {
        params: {
          toolCall: { content: [{ content: { text: expect.stringContaining(remark) } }] },
          _meta: { 'halting/question': { reason: expect.stringContaining(remark) } },
        },
      },
    ])
    // It was allowed, and ran unconfined.
    expect(at.changed()).toHaveLength(2)
    one.child.stdin?.end()
    await one.exited()
  })

  test('confines commands on the machine of a cluster worker', async () => {
    const served = await servedCluster(replies, { permissionMode: 'acceptEdits' })
    onTestFinished(() => served.close())
    const { stdout, status } = await run(['-p', 'go', '--cluster', served.url], { cwd: here() })
    expect([status, stdout]).toEqual([0, expect.stringContaining('Done.')])
    const results = JSON.stringify(served.service.requests.at(-1)?.body['messages'])
    expect(results).toContain('ran')
  })
})

test.skipIf(process.platform !== 'linux')(
  'reports a missing program once, and not if confinement is off (spec R-EFRONT-4)',
  async () => {
    const at = place()
    const empty = join(at.home, 'bin')
    mkdirSync(empty)
    const isReported = async (...args: readonly string[]): Promise<boolean> => {
      const { stderr } = await run(['-p', 'hi', ...accepts, '--script', script(replies), ...args], {
        cwd: at.project,
        env: { HOME: at.home, HOME_OF_TEST: at.home, PATH: empty },
      })
      expect(stderr).toContain('1 call denied')
      return stderr.includes('could run confined instead of asking, but bubblewrap is missing. Install bubblewrap (')
    }
    expect(await isReported('--settings', settings(false))).toBe(false)
    expect(await isReported('--permission-mode', 'default')).toBe(false)
    expect([await isReported(), await isReported()]).toEqual([true, false])
  },
)
