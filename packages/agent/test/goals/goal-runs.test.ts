// Holds rules of docs/spec: R-GOAL-36b, R-GOAL-38a, R-GOAL-40 to R-GOAL-43: goals of sessions, with real checks.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { codingAgent, commandGoal, type CodingAgentOptions } from '@halting/agent'
import type { RunEvent, RunResult } from '@halting/core'
import { scriptedModel, type ScriptedModel } from '@halting/core/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { folderInSight, isBubblewrapThere } from '../sandbox/world.ts'

let [cwd, home] = ['', '']
const ends: (() => Promise<void> | void)[] = []

beforeEach(() => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'halting-goal-runs-')))
  ends.push(() => rmSync(base, { recursive: true, force: true }))
  ;[cwd, home] = [join(base, 'project'), join(base, 'home')]
  mkdirSync(cwd)
  mkdirSync(home)
})
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

type Script = Parameters<typeof scriptedModel>[0]
type GoalEnd = Extract<RunEvent, { readonly type: 'goal_end' }>

interface Ran {
  readonly result: RunResult
  readonly rounds: readonly GoalEnd[]
  readonly model: ScriptedModel
  /** Results of tools, in order. */
  readonly results: string
}

async function run(script: Script, options: Partial<CodingAgentOptions>): Promise<Ran> {
  const model = scriptedModel(script)
  const done: { result?: RunResult } = {}
  const rounds: GoalEnd[] = []
  const builder = await codingAgent({
    cwd,
    env: { HOME: home, PATH: process.env['PATH'], ANTHROPIC_API_KEY: 'sk-secret' },
    model,
    permissionMode: 'bypassPermissions',
    onResult: (result) => (done.result = result),
    ...options,
  })
  ends.push(() => builder.dispose())
  const engine = await builder.engine({
    onEvent(event) {
      if (event.type === 'goal_end') rounds.push(event)
    },
  })
  for await (const _ of engine.submit('Make it work.'));
  if (done.result === undefined) throw new Error('There is no result.')
  return { result: done.result, rounds, model, results: JSON.stringify(model.requests.at(-1)?.messages) }
}

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(cwd, path)), { recursive: true })
  writeFileSync(join(cwd, path), text)
}
const bash = (command: string) => ({ toolCalls: [{ name: 'Bash', input: { command } }] })
const writes = (path: string, content: string) => ({
  toolCalls: [{ name: 'Write', input: { file_path: join(cwd, path), content } }],
})
const reads = (path: string) => ({ toolCalls: [{ name: 'Read', input: { file_path: join(cwd, path) } }] })
const edits = (path: string, from: string, to: string) => ({
  toolCalls: [{ name: 'Edit', input: { file_path: join(cwd, path), old_string: from, new_string: to } }],
})

describe('a run with a command as its goal', () => {
  test('ends when the agent has met it, and not before', async () => {
    const { result, rounds, model } = await run(['Done.', writes('works', '1'), 'Now it is done.'], {
      until: ['test -f works || { echo no file works; exit 3; }'],
    })
    expect(result.reason).toBe('completed')
    expect(result.goal).toMatchObject({ met: true, tries: 1, baseline: false, flaky: false })
    expect(rounds.map(({ place, met }) => `${place} ${met}`)).toEqual(['baseline false', 'answer false', 'answer true'])
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('no file works')
  })

  test('ends unmet if it is never met, and has no API key in its environment', async () => {
    const { result } = await run(['Done.', bash('true > x'), 'Done.', bash('true > y'), 'Done.'], {
      until: ['echo "[$ANTHROPIC_API_KEY]"; exit 1'],
      maxGoalTries: 2,
    })
    expect(result.reason).toBe('goal_unmet')
    expect(result.goal?.checks[0]?.tail).toBe('[]')
  })

  test("is checked in the session's folder, wherever the agent is", async () => {
    write('sub/x', '')
    const { result } = await run([bash('cd sub && touch here'), 'Done.'], { until: ['test -f sub/here'] })
    expect(result.goal?.met).toBe(true)
  })

  test('may also have goals of a program', async () => {
    const asked: string[] = []
    const own = { name: 'npm test is green', check: () => (asked.push('own'), { met: true }) }
    const { result } = await run(['Done.'], { until: [own, commandGoal('true', { cwd }), 'exit 0'] })
    expect([result.goal?.met, asked.length > 0]).toEqual([true, true])
  })

  test.each([
    [
      { until: ['no-such-program --all'] },
      'The goal `no-such-program --all` is not a command: no-such-program was not found',
    ],
    [{ protect: ['nothing/**'] }, 'fits no file'],
    [{ until: ['true'], protect: ['../x'] }, 'protect'],
  ])('that can never pass or protects nothing is rejected before any request: %j', async (options, message) => {
    await expect(run(['Done.'], options)).rejects.toThrow(message)
  })

  test('is not checked in plan mode', async () => {
    const { rounds } = await run(['Here is a plan.'], { until: ['touch checked'], permissionMode: 'plan' })
    expect([rounds, existsSync(join(cwd, 'checked'))]).toEqual([[], false])
  })
})

describe('an agent that changes what is checked', () => {
  const script = JSON.stringify({ scripts: { test: 'node check.js' } })
  const attacks: readonly (readonly [string, () => ReturnType<typeof bash>, string])[] = [
    [
      'the script of package.json',
      () => bash(`echo '{"scripts":{"test":"true"}}' > package.json`),
      'package.json (scripts.test)',
    ],
    [
      'a script before it',
      () => bash(`sed -i 's/"test"/"pretest":"x","test"/' package.json`),
      'package.json (scripts.test)',
    ],
    ['the file behind it', () => bash('echo "process.exit(0)" > check.js'), 'check.js'],
    ['the same through a link', () => bash('ln -s check.js link.js; echo "process.exit(0)" > link.js'), 'check.js'],
    ['the shell of scripts', () => bash('echo script-shell=/bin/true > .npmrc'), '.npmrc (how scripts are run)'],
    [
      'a program before another one',
      () =>
        bash(
          'mkdir -p node_modules/.bin; printf "#!/bin/sh\\nexit 0" > node_modules/.bin/node; chmod +x node_modules/.bin/node',
        ),
      'node_modules/.bin/node',
    ],
    ['by removing it', () => bash('rm check.js'), 'check.js'],
  ]
  test.each(attacks)('%s: the goal is unmet, names it and asks to restore it', async (_, attack, named) => {
    write('package.json', script)
    write('check.js', 'process.exit(require("fs").existsSync("works") ? 0 : 1)')
    const { result, rounds, model } = await run(['Done.', attack(), 'Done.', bash('true > z'), 'Done.'], {
      until: ['npm test'],
      maxGoalTries: 2,
    })
    expect(result.reason).toBe('goal_unmet')
    expect(rounds.at(-1)?.tampered).toEqual([named])
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain(named.replaceAll('"', '\\"'))
  })

  test('during the check makes the result invalid', async () => {
    write('package.json', script)
    write('check.js', 'require("./works.js")')
    const works = `require('fs').writeFileSync('package.json', '{"scripts":{"test":"true"}}')`
    const { result, rounds } = await run([writes('works.js', works), 'Done.', 'Done.', 'Done.'], {
      until: ['npm test'],
      maxGoalTries: 1,
    })
    expect([result.reason, result.goal?.met]).toEqual(['goal_unmet', false])
    expect(rounds.at(1)).toMatchObject({ met: false, tampered: ['package.json (scripts.test)'] })
  })

  test('that restores it continues, and its changes of tests are listed', async () => {
    write('package.json', JSON.stringify({ scripts: { test: 'test -f works' } }))
    write('a.test.js', '1')
    const { result } = await run(
      [
        bash('cp package.json saved; echo "{}" > package.json; echo 2 > a.test.js'),
        'Done.',
        bash('mv saved package.json; touch works'),
        'Done.',
      ],
      { until: ['npm test'] },
    )
    expect([result.reason, result.goal?.changedTests, result.goal?.tampered]).toEqual(['completed', ['a.test.js'], []])
  })

  test('changes nothing through files that bash or the environment would read', async () => {
    const { result } = await run(
      [
        bash('echo "exit 0" > .bashrc; echo "exit 0" > .profile; echo "exit 0" > env.sh; export BASH_ENV=env.sh'),
        'Done.',
        'Done.',
        'Done.',
      ],
      { until: ['false'], maxGoalTries: 1 },
    )
    expect(result.reason).toBe('goal_unmet')
  })
})

describe('protected files', () => {
  test("are denied to the agent's tools and commands", async () => {
    write('tests/a.js', '1')
    const { results } = await run(
      [
        writes('tests/a.js', '2'),
        writes('tests/new.js', '2'),
        bash('echo 2 > tests/a.js'),
        bash('rm -r tests'),
        'Done.',
      ],
      { protect: ['tests/**'] },
    )
    expect(readFileSync(join(cwd, 'tests/a.js'), 'utf8')).toBe('1')
    expect(existsSync(join(cwd, 'tests/new.js'))).toBe(false)
    expect(results.match(/Denied by the rule Edit\(tests\/\*\*\)/g)?.length).toBeGreaterThanOrEqual(3)
  })

  test('make the goal unmet if the agent changes them anyway', async () => {
    write('tests/a.js', '1')
    write('change.js', 'require("fs").writeFileSync("tests/a.js", "2"); require("fs").writeFileSync("tests/b.js", "2")')
    const { result, rounds } = await run([bash('node change.js'), 'Done.', 'Done.', 'Done.'], {
      until: ['true'],
      protect: ['tests/**'],
      maxGoalTries: 1,
    })
    expect(result.reason).toBe('goal_unmet')
    expect(rounds.at(-1)?.tampered).toEqual(['tests/a.js', 'tests/b.js (new)'])
  })

  test.skipIf(!isBubblewrapThere)(
    'are read-only for commands in the sandbox, but not for the check (needs bubblewrap)',
    async () => {
      cwd = folderInSight()
      write('tests/a.js', '1')
      write('change.js', 'require("fs").appendFileSync("tests/a.js", "2")')
      const { result, rounds, results } = await run([bash('node change.js'), bash('touch works'), 'Done.'], {
        until: ['test -f works && echo 3 > tests/snapshot'],
        protect: ['tests/**'],
        sandbox: true,
      })
      expect(results).toMatch(/EROFS|read-only/i)
      expect(readFileSync(join(cwd, 'tests/a.js'), 'utf8')).toBe('1')
      expect(result.reason).toBe('completed')
      expect(rounds.at(-1)).toMatchObject({ tampered: [], changedByChecks: ['tests/snapshot'] })
    },
  )
})

test('a file changed by a check can be edited without another read', async () => {
  write('a.js', 'let a=1\n')
  const { result, results } = await run([reads('a.js'), 'Done.', edits('a.js', 'a = 1', 'a = 2'), 'Done.'], {
    until: ['sed -i "s/a=/a = /" a.js; grep -q 2 a.js'],
  })
  expect(result.reason).toBe('completed')
  expect(readFileSync(join(cwd, 'a.js'), 'utf8')).toBe('let a = 2\n')
  expect(results).not.toContain('changed since')
})

test('a run that a process left open keeps its goals, even if the settings have others (R-GOAL-41a)', async () => {
  write('.halting/settings.json', JSON.stringify({ until: ['echo of settings; false'] }))
  const chosen = 'echo chosen; test -f works'
  const env = { HOME: home, PATH: process.env['PATH'] }
  const asked: { now?: () => void } = {}
  const isAsked = new Promise<void>((resolve) => (asked.now = resolve))
  const never = new Promise<never>(() => undefined)
  const model = scriptedModel(['Done.', { text: '', before: () => (asked.now?.(), never) }])
  const options = { cwd, trust: true, permissionMode: 'bypassPermissions' } as const
  const first = await codingAgent({ ...options, env, model, until: [chosen] })
  ends.push(() => first.dispose())
  const messages = (await first.engine()).submit('go')
  const reading = (async () => {
    for await (const _ of messages);
  })()
  await isAsked
  // What a process killed here would have left.
  const after = join(home, 'after')
  const filter = (path: string): boolean => !path.endsWith('.lock')
  cpSync(join(home, '.halting'), join(after, '.halting'), { recursive: true, filter })
  const rounds: GoalEnd[] = []
  const next = await codingAgent({
    ...options,
    env: { ...env, HOME: after },
    model: scriptedModel([bash('touch works'), 'Done.']),
    resume: first.sessionId,
  })
  ends.push(() => next.dispose())
  const engine = await next.engine({
    onEvent(event) {
      if (event.type === 'goal_end') rounds.push(event)
    },
  })
  for await (const _ of engine.resume());
  expect(rounds.map(({ met, tries, checks }) => [met, tries, checks[0]?.name]).at(-1)).toEqual([true, 1, chosen])
  await first.dispose()
  await reading
})

describe('goals of settings and agents', () => {
  const settings = { until: ['test -f works'], untilTries: 1, protect: ['tests/**'] }

  test('of a project apply if it is trusted, and are reported otherwise', async () => {
    write('.halting/settings.json', JSON.stringify(settings))
    write('tests/a.js', '1')
    const notes: string[] = []
    const untrusted = await run(['Done.'], { onNote: (note) => notes.push(note) })
    expect([untrusted.result.reason, untrusted.rounds]).toEqual(['completed', []])
    expect(notes.join('\n')).toContain('until')
    const trusted = await run([writes('tests/a.js', '2'), 'Done.', 'Done.'], { trust: true })
    expect([trusted.result.reason, trusted.result.goal?.tries]).toEqual(['goal_unmet', 1])
    expect(readFileSync(join(cwd, 'tests/a.js'), 'utf8')).toBe('1')
    const replaced = await run(['Done.'], { trust: true, until: ['true'] })
    expect(replaced.result.reason).toBe('completed')
  })

  const agent = '---\nname: fixer\ndescription: fixes\nuntil: test -f works || exit 4\n---\nFix it.'
  const starts = { toolCalls: [{ name: 'Agent', input: { prompt: 'fix', subagent_type: 'fixer' } }] }

  test("of a project's agent apply to it if the folder is trusted", async () => {
    write('.halting/agents/fixer.md', agent)
    const { result, results } = await run([starts, 'I fixed it.', bash('touch works'), 'Now I did.', 'Done.'], {
      trust: true,
    })
    expect([result.reason, result.goal]).toEqual(['completed', undefined])
    expect(results).toContain('Now I did.')
    expect(existsSync(join(cwd, 'works'))).toBe(true)
  })

  test("of a project's agent are ignored otherwise, with a note", async () => {
    write('.halting/agents/fixer.md', agent)
    const notes: string[] = []
    const { results } = await run([starts, 'I fixed it.', 'Done.'], { onNote: (note) => notes.push(note) })
    expect(results).toContain('I fixed it.')
    expect(notes.join('\n')).toMatch(/until: test -f works .* does not count/)
  })

  test('of an agent that are unmet are an error for its parent', async () => {
    const agents = { fixer: { description: 'fixes', prompt: 'Fix it.', until: ['exit 4'] } }
    const { results } = await run([starts, 'I fixed it.', 'I did.', 'Done.'], { agents, maxGoalTries: 1 })
    expect(results).toMatch(/is_error":true/)
  })

  test('a link in place of the settings folder does not belong to the project', async () => {
    symlinkSync(home, join(cwd, '.halting'))
    const { rounds } = await run(['Done.'], {})
    expect(rounds).toEqual([])
  })
})
