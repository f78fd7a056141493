// Holds R-LIM-4 to R-LIM-9 of docs/spec: limits of runs by flags, settings and default, in this process and with the real program.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RunResult } from '@halting/core'
import { startScriptedServer } from '@halting/models/scripted'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Flags } from '../src/flags/flags.ts'
import { type Frontend, type LiveSession, openLiveSession } from '../src/flags/open-session.ts'
import { parseFlags } from '../src/flags/parse.ts'
import { runLimitOfPrint } from '../src/flags/run-limit.ts'
import type { Program } from '../src/program.ts'
import { here, installProgram, run } from './support/program.ts'

installProgram()

const priced = 'claude-sonnet-4-5'
const unpriced = 'claude-nobody-1'

/** A model that never stops requesting tools, each time for another part of the file. */
const endless = (count: number, outputTokens: number): readonly unknown[] =>
  Array.from({ length: count }, (_, index) => ({
    content: [{ type: 'tool_use', name: 'Read', input: { file_path: 'a.txt', offset: index + 1, limit: 1 } }],
    usage: { input_tokens: 1_000, output_tokens: outputTokens },
  }))

interface World {
  readonly cwd: string
  readonly url: string
  readonly notes: readonly string[]
  readonly open: (flags: Flags, face?: Partial<Frontend>) => Promise<LiveSession>
  readonly ownSettings: (settings: object) => void
  readonly projectSettings: (settings: object) => void
}

async function world(replies: readonly unknown[] = []): Promise<World> {
  const home = mkdtempSync(join(tmpdir(), 'halting-limit-'))
  const cwd = join(home, 'project')
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'a.txt'), 'line\n'.repeat(400))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const server = await startScriptedServer({ replies })
  onTestFinished(() => server.close())
  const notes: string[] = []
  const say = (text: string): void => void notes.push(text)
  const program: Program = {
    argv: [],
    cwd,
    env: { PATH: process.env['PATH'], HOME: home, ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: server.url },
    stdin: process.stdin,
    // True: an open session uses nothing else of the output.
    output: { err: say, out: say, redactWith: () => undefined } as unknown as Program['output'],
    home: new URL('../', import.meta.url),
  }
  const write = (folder: string, settings: object): void => {
    mkdirSync(join(folder, '.halting'), { recursive: true })
    writeFileSync(join(folder, '.halting', 'settings.json'), JSON.stringify(settings))
  }
  return {
    cwd,
    url: server.url,
    notes,
    ownSettings: (settings) => write(home, settings),
    projectSettings: (settings) => write(cwd, settings),
    async open(flags, face = {}) {
      const live = await openLiveSession({ model: priced, ...flags }, program, { answersQuestions: false, ...face })
      onTestFinished(() => live.session.close())
      return live
    },
  }
}

const printed = { runLimit: runLimitOfPrint }

/** Dollars of a run, and turns. */
const boundsOf = ({ session: { snapshot } }: LiveSession): readonly [number | null, number | null] => [
  snapshot.limits.maxRunUsd,
  snapshot.limits.maxTurns,
]

describe('the dollar limit of a run', () => {
  test('has a default only in frontends that define one', async () => {
    const { open, notes } = await world()
    expect(boundsOf(await open({}, printed))).toEqual([10, 1_000])
    expect(boundsOf(await open({}))).toEqual([null, 1_000])
    expect(boundsOf(await open({ maxRunUsd: 3 }, printed))).toEqual([3, 1_000])
    expect(boundsOf(await open({ maxRunUsd: Infinity }, printed))).toEqual([null, 1_000])
    expect(boundsOf(await open({ maxBudgetUsd: 50 }, printed))).toEqual([null, 1_000])
    expect(notes).toEqual([])
  })

  test('comes from the settings, and a flag overrides those of user and project', async () => {
    const { open, ownSettings, projectSettings, notes } = await world()
    ownSettings({ limits: { maxRunUsd: 4, maxTurns: 70, maxToolCalls: 9 } })
    const own = await open({}, printed)
    expect([...boundsOf(own), own.session.snapshot.limits.maxToolCalls]).toEqual([4, 70, 9])
    projectSettings({ limits: { maxRunUsd: 2, maxTurns: 90 } })
    expect(boundsOf(await open({}, printed))).toEqual([2, 70])
    expect(notes.join('')).toContain('limits.maxTurns in')
    expect(boundsOf(await open({ maxRunUsd: 8, maxTurns: 80 }, printed))).toEqual([8, 80])
    ownSettings({ limits: { maxRunUsd: null, maxTurns: null } })
    projectSettings({})
    expect(boundsOf(await open({}, printed))).toEqual([null, null])
  })

  test('can be lowered by a project, but not raised', async () => {
    const { open, projectSettings, notes } = await world()
    projectSettings({ limits: { maxRunUsd: 50 } })
    expect(boundsOf(await open({}, printed))).toEqual([10, 1_000])
    expect(notes.join('')).toMatch(/limits\.maxRunUsd in .* \(50\) is ignored: .*\(10, from the default of -p\)\./)
    projectSettings({ limits: { maxRunUsd: 1 } })
    expect(boundsOf(await open({}, printed))).toEqual([1, 1_000])
  })

  test('cannot be raised for a session that is stored elsewhere', async () => {
    const { open, ownSettings } = await world()
    ownSettings({ limits: { maxTurns: 70 } })
    const { session } = await open({ noSessionPersistence: true })
    await session.close()
    const { Transcript } = await import('@halting/core')
    const log = { keeps: 'nothing', append: () => undefined, flush: () => undefined } as const
    const kept = {
      sessionId: 'a',
      path: 'b',
      log,
      transcript: Transcript.empty(),
      open: undefined,
      ended: [],
      rewind: () => Promise.reject(new Error('nothing was said')),
      messageOf: () => Promise.reject(new Error('nothing was said')),
    }
    expect(boundsOf(await open({ maxTurns: 900 }, { kept }))).toEqual([null, 70])
    expect(boundsOf(await open({ maxTurns: 9 }, { kept }))).toEqual([null, 9])
  })
})

describe('a model without a price', () => {
  test.each([
    ['as the model', { model: unpriced }],
    ['as its fallback', { fallbackModel: unpriced }],
    ['as the small model', { smallModel: unpriced }],
    [
      'as that of an agent',
      { agents: JSON.stringify({ a: { description: 'Looks.', prompt: 'Look.', model: unpriced } }) },
    ],
  ] satisfies [string, Flags][])('%s has 200 turns instead of dollars, which is reported once', async (_, flags) => {
    const { open, notes } = await world()
    expect(boundsOf(await open(flags, printed))).toEqual([null, 200])
    const said = notes.filter((note) => note.includes('no price is known'))
    expect(said).toHaveLength(1)
    expect(said[0]).toContain(
      `no price is known for ${unpriced}, so the limit of $10 (the default of -p) cannot be enforced; the run ends after 200 turns.`,
    )
  })

  test('uses the given turns, and no limit if that was removed', async () => {
    const { open, notes } = await world()
    expect(boundsOf(await open({ model: unpriced, maxTurns: 30 }, printed))).toEqual([null, 30])
    expect(notes.join('')).toContain('the run ends after 30 turns')
    expect(boundsOf(await open({ model: unpriced, maxRunUsd: Infinity }, printed))).toEqual([null, 1_000])
    expect(boundsOf(await open({ model: unpriced }))).toEqual([null, 1_000])
  })

  test("also ignores the session's dollars of the settings", async () => {
    const { open, ownSettings, notes } = await world()
    ownSettings({ limits: { maxBudgetUsd: 20 } })
    const live = await open({ model: unpriced }, printed)
    expect([...boundsOf(live), live.session.snapshot.limits.maxBudgetUsd]).toEqual([null, 200, null])
    expect(notes.join('')).toContain('the limit of $10 (the default of -p) or $20 of the session cannot be enforced')
    live.session.set({ model: priced })
    expect([...boundsOf(live), live.session.snapshot.limits.maxBudgetUsd]).toEqual([10, 1_000, 20])
  })

  test('fails with a dollar limit that was given explicitly', async () => {
    const { open } = await world()
    await expect(open({ model: unpriced, maxRunUsd: 3 }, printed)).rejects.toThrow('There is no price for')
  })

  test('is selected by /model and deselected again', async () => {
    const { open, notes } = await world()
    const live = await open({}, printed)
    const { session } = live
    session.set({ model: unpriced })
    expect(boundsOf(live)).toEqual([null, 200])
    expect(notes).toHaveLength(1)
    session.set({ model: priced })
    expect(boundsOf(live)).toEqual([10, 1_000])
    session.set({ model: unpriced })
    session.set({ model: null })
    expect(boundsOf(live)).toEqual([10, 1_000])
    expect(notes).toHaveLength(1)
  })

  test('keeps what a user sets meanwhile', async () => {
    const { open } = await world()
    const turns = await open({}, printed)
    turns.session.set({ limits: { maxTurns: 33 } })
    turns.session.set({ model: unpriced })
    expect(boundsOf(turns)).toEqual([null, 33])
    turns.session.set({ model: priced })
    expect(boundsOf(turns)).toEqual([10, 33])
    const dollars = await open({}, printed)
    dollars.session.set({ limits: { maxRunUsd: 12 } })
    expect(() => dollars.session.set({ model: unpriced })).toThrow('There is no price for')
    expect(boundsOf(dollars)).toEqual([12, 1_000])
    dollars.session.set({ limits: { maxRunUsd: null } })
    dollars.session.set({ model: unpriced })
    expect(boundsOf(dollars)).toEqual([null, 1_000])
  })

  test('limits one message by turns, and the next one by dollars again', async () => {
    const { open } = await world([{ content: 'Hello.' }, { content: 'Hello.' }])
    const live = await open({}, printed)
    live.session.prompt('hi', { model: unpriced })
    expect(boundsOf(live)).toEqual([null, 200])
    await live.session.settled()
    expect(live.session.snapshot.last?.reason).toBe('completed')
    expect(boundsOf(live)).toEqual([10, 1_000])
    live.session.prompt('hi')
    await live.session.settled()
    expect(live.session.snapshot.last?.reason).toBe('completed')
  })

  test('limits two consecutive messages by turns', async () => {
    const { open } = await world([{ content: 'Hello.' }, { content: 'Hello.' }])
    const live = await open({}, printed)
    const ends: unknown[] = []
    live.session.listen((event) => {
      if (event.type === 'run_end' || event.type === 'failed') ends.push(event.type)
    })
    live.session.prompt('hi', { model: unpriced })
    live.session.prompt('hi', { model: unpriced, when: 'now' })
    await live.session.settled()
    expect(ends).toEqual(['run_end', 'run_end'])
    expect(boundsOf(live)).toEqual([10, 1_000])
  })

  test('is bounded by turns as before with a script, silently', async () => {
    const { open, notes, cwd } = await world()
    const script = join(cwd, 'script.json')
    writeFileSync(script, JSON.stringify({ replies: [] }))
    expect(boundsOf(await open({ script, model: unpriced }, printed))).toEqual([null, 1_000])
    expect(notes).toEqual([])
  })
})

test('informs the model of what is left of a limit, unless the settings say otherwise (spec R-LIM-3)', async () => {
  const limitMessages = async (settings: object): Promise<readonly string[]> => {
    const { open, ownSettings } = await world([...endless(2, 10), { content: 'Done.' }])
    ownSettings(settings)
    const { session } = await open({ maxTurns: 4 })
    const texts: string[] = []
    session.listen((event) => {
      if (event.type !== 'loop' || event.event.type !== 'message' || event.event.entry.kind !== 'user') return
      const { content } = event.event.entry.message
      if (typeof content === 'string' && content.startsWith('Remaining in')) texts.push(content)
    })
    session.prompt('go')
    await session.settled()
    return texts
  }
  expect(await limitMessages({})).toEqual(['Remaining in this run: 2 of 4 turns.'])
  expect(await limitMessages({ limitReminders: false })).toEqual([])
})

describe('an agent as the session', () => {
  const agents = (limits: object): string =>
    JSON.stringify({ mine: { description: 'Works.', prompt: 'Work.', ...limits } })

  test('lowers the settings, and a flag overrides it', async () => {
    const { open, ownSettings } = await world()
    ownSettings({ limits: { maxTurns: 70, maxToolCalls: 20 } })
    const lower = { agent: 'mine', agents: agents({ maxTurns: 30, maxToolCalls: 10 }) }
    const limits = async (flags: Flags): Promise<unknown> => {
      const { maxTurns, maxToolCalls } = (await open(flags)).session.snapshot.limits
      return [maxTurns, maxToolCalls]
    }
    expect(await limits(lower)).toEqual([30, 10])
    expect(await limits({ ...lower, maxTurns: 90 })).toEqual([90, 10])
    expect(await limits({ agent: 'mine', agents: agents({ maxTurns: 90, maxToolCalls: 40 }) })).toEqual([70, 20])
  })
})

test('limits each run: earlier prompts do not count', async () => {
  const replies = [1, 2].map(() => ({ content: 'Hello.', usage: { input_tokens: 1_000, output_tokens: 8_000 } }))
  const { open } = await world(replies)
  const { session } = await open({ maxRunUsd: 1 })
  const ends: (RunResult['reason'] | undefined)[] = []
  for (const prompt of ['one', 'two']) {
    session.prompt(prompt)
    await session.settled()
    ends.push(session.snapshot.last?.reason)
  }
  expect(ends).toEqual(['completed', 'completed'])
  expect(session.snapshot.figures.sessionUsd).toBeGreaterThan(0.2)
})

test('resumes a run that ended at the limit with its counters when a user raises it (spec R-LIM-8)', async () => {
  // 7.8 cents a turn.
  const { open } = await world([...endless(4, 5_000), { content: 'Done.', usage: { output_tokens: 5_000 } }])
  const { session } = await open({ maxRunUsd: 0.6 }, { background: 'keep' })
  session.set({ limits: { maxRunUsd: 0.2 } })
  session.prompt('go')
  await session.settled()
  const { last, figures, canResume } = session.snapshot
  expect(last?.reason).toBe('max_budget_usd')
  expect([canResume, last?.signal.context['of']]).toEqual([true, 'run'])
  session.resume({ maxRunUsd: 0.5 })
  await session.settled()
  const after = session.snapshot
  expect(after.last?.reason).toBe('completed')
  expect(after.figures.settledUsd).toBeGreaterThan(figures.settledUsd)
  expect(after.limits.maxRunUsd).toBe(0.5)
})

describe('the real program', () => {
  const started = async (
    { cwd, url }: World,
    args: readonly string[],
    options: { readonly stdin?: string; readonly config?: string } = {},
  ): ReturnType<typeof run> =>
    run(args, {
      cwd,
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'key',
        HALTING_CONFIG_DIR: options.config ?? join(here(), 'none'),
      },
      ...(options.stdin !== undefined && { stdin: options.stdin }),
    })

  test('-p ends at $10 by default, and names the limit and how to raise it', async () => {
    // 45 cents a turn.
    const around = await world(endless(60, 30_000))
    const { status, stderr } = await started(around, ['-p', 'go', '--model', priced])
    expect(status).toBe(3)
    expect(stderr).toMatch(
      /max_budget_usd: Reached the dollar limit of the run \(\$10\).* \(\d+ turns, .*, \$9\.\d\d, .*\)\. Raise --max-run-usd (?:to \S+ or more )?\(none: no limit; limits\.maxRunUsd in your settings sets it for all runs\)/,
    )
    expect(stderr).toMatch(/Resume: halting -p --resume \S+ --max-run-usd 20/)
  })

  test('-p ends after 200 turns of a model without a price by default', async () => {
    const around = await world(endless(220, 10))
    const { status, stderr } = await started(around, ['-p', 'go', '--model', unpriced])
    expect(status).toBe(3)
    expect(stderr).toContain('the run ends after 200 turns')
    expect(stderr).toContain('max_turns: Reached maximum number of turns (200)')
  })

  test('-p does not make a request that alone exceeds the limit', async () => {
    const around = await world([{ content: 'Hello.' }])
    const { status, stderr } = await started(around, ['-p', 'go', '--model', priced, '--max-run-usd', '0.001'])
    expect(status).toBe(3)
    expect(stderr).toMatch(
      /max_budget_usd: No request fits the dollar limit of the run, \$0\.001: the first one may cost up to \$\S+ .*Raise --max-run-usd to/,
    )
  })

  test('has no default for a host and an editor', async () => {
    const around = await world([{ content: 'Hello.' }])
    const line = JSON.stringify({ type: 'user', message: { role: 'user', content: '/limits' } })
    const args = [
      '-p',
      '--input-format',
      'stream-json',
      '--output-format',
      'stream-json',
      '--verbose',
      '--model',
      priced,
    ]
    const { stdout } = await started(around, args, { stdin: `${line}\n` })
    expect(stdout).toMatch(/run-usd +\$0\.0000, no limit/)
  })

  test('shows the default and its source in halting config', async () => {
    const around = await world()
    const { stdout } = await started(around, ['config'])
    expect(stdout).toContain('limits.maxRunUsd = 10  default of -p and the interactive program')
    const json = JSON.parse(
      (await started(around, ['config', '--json', '--max-run-usd', 'none', '--wait-for-limits', 'none'])).stdout,
    ) as {
      readonly settings: readonly unknown[]
    }
    expect(json.settings).toEqual([])
  })
})

test.each(['0', '-1', 'NaN', 'Infinity', 'nothing'])('refuses --max-run-usd %s', (value) => {
  expect(() => parseFlags(['-p', 'go', `--max-run-usd=${value}`])).toThrow(
    'a number of US dollars above 0, such as 0.50, or none',
  )
})
