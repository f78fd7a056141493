// Holds rules of docs/spec: R-STAND-17, R-STAND-18, R-STAND-19, R-STAND-20a, R-STAND-24, R-STAND-27, R-STAND-28, R-STAND-29: standing budgets in the program, from one process to the next.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownProcess } from '@halting/journal/files'
import { expect, test } from 'vitest'
import { budget } from '../src/budget/budget.ts'
import { parseFlags } from '../src/flags/parse.ts'
import { programInMemory } from './support/program-in-memory.ts'
import { type Ended, here, installProgram, run } from './support/program.ts'

installProgram()

interface Person {
  readonly home: string
  readonly ledger: string
  readonly halting: (...args: readonly string[]) => Promise<Ended>
  /** One reply of a model with a price. */
  readonly ask: (...args: readonly string[]) => Promise<Ended>
}

function person(settings: unknown, model = 'claude-sonnet-5-5'): Person {
  const home = realpathSync(mkdtempSync(join(here(), 'budgets-')))
  const cwd = join(home, 'work')
  for (const folder of [cwd, join(home, '.halting')]) mkdirSync(folder)
  writeFileSync(join(home, '.halting/settings.json'), JSON.stringify(settings))
  const script = join(home, 'script.json')
  writeFileSync(script, JSON.stringify({ model, replies: [{ content: ['Hello.'] }] }))
  const halting = (...args: readonly string[]): Promise<Ended> => run(args, { cwd, env: { HOME: home } })
  const ask = (...args: readonly string[]): Promise<Ended> => halting('-p', 'hi', '--script', script, ...args)
  return { home, ledger: join(home, '.halting/budgets/ledger.json'), halting, ask }
}

test('counts what another process spent, and names the reset time in the ending', async () => {
  const { halting, ask } = person({ budgets: [{ per: 'day', usd: 0.07 }] })
  expect(await ask()).toMatchObject({ status: 0, stdout: 'Hello.\n' })
  const { budgets } = JSON.parse((await halting('budget', '--json')).stdout) as {
    budgets: readonly { settledUsd: number; leftUsd: number }[]
  }
  const [{ settledUsd, leftUsd } = { settledUsd: 0, leftUsd: 0 }] = budgets
  expect(settledUsd).toBeGreaterThan(0)
  expect(settledUsd + leftUsd).toBeCloseTo(0.07, 9)
  let ended = await ask()
  for (let tries = 0; tries < 10 && ended.status === 0; tries++) ended = await ask()
  expect(ended.status).toBe(3)
  expect(ended.stderr).toMatch(
    /Too little is left of \$0\.07 a day: .*resets at \d{4}-\d\d-\d\dT[^]*\nAfter the reset: halting -p --resume /,
  )
  const ignoring = await ask('--ignore-standing-budgets')
  expect(ignoring).toMatchObject({ status: 0, stdout: 'Hello.\n' })
  expect(ignoring.stderr).toContain('standing budgets are not enforced in this session')
})

test.each(['', 'project,local'])(
  'applies budgets even if --setting-sources=%s leaves out their file, also for hosts',
  async (sources) => {
    const { ask, halting, ledger } = person({ budgets: [{ per: 'day', usd: 0.001 }], model: 'nobody-knows-it' })
    const refused = await ask(`--setting-sources=${sources}`)
    expect(refused.status).toBe(3)
    expect(refused.stderr).toMatch(/max_budget_usd: .* of \$0\.001 a day/)
    expect(existsSync(ledger)).toBe(true)
    // Nothing else in the file applies: the limit is a default.
    const { settings } = JSON.parse((await halting('config', '--json', `--setting-sources=${sources}`)).stdout) as {
      readonly settings: readonly { readonly setting: string }[]
    }
    expect(settings.map(({ setting }) => setting)).toEqual(['budgets', 'limits.maxRunUsd', 'waitForLimits'])
    expect(await ask(`--setting-sources=${sources}`, '--ignore-standing-budgets')).toMatchObject({ status: 0 })
  },
)

test('shows the remaining budget, lists correctable charges, and corrects one', async () => {
  const { halting, ask, ledger } = person({
    budgets: [
      { per: 'day', usd: 20 },
      { per: 'month', usd: 5, model: 'gpt-*' },
    ],
  })
  expect((await halting('budget')).stdout).toMatch(
    /^\$20 a day: \$20\.00 left in [\d-]{10}, resets \S+\n {2}settled \$0\.0000, reserved \$0\.0000\n\$5 a month for gpt-\*: \$5\.00 left in [\d-]{7}, resets \S+\n/,
  )
  expect(existsSync(ledger)).toBe(false)
  await ask()
  const state = JSON.parse(readFileSync(ledger, 'utf8')) as { scopes: { day: Record<string, object> } }
  const [period = ''] = Object.keys(state.scopes.day)
  // The state that a process leaves when it is killed during a request.
  const process = { pid: 2 ** 22 + 1, began: '', host: 'gone' }
  const reservation = {
    id: 'dead-1',
    process,
    session: 'x',
    model: 'm',
    repository: '',
    nanos: 2e9,
    places: [{ scope: 'day', period }],
    since: 0,
  }
  const budget = { limitNanos: null, leasedNanos: 3e9, spentNanos: 1e9, unknownNanos: 0, holders: 1 }
  writeFileSync(
    ledger,
    JSON.stringify({ ...state, scopes: { day: { [period]: budget } }, reservations: [reservation] }),
  )
  const { stdout } = await halting('budget')
  expect(stdout).toContain(`$20 a day: $17.00 left in ${period}`)
  expect(stdout).toContain('settled $3.00 (including $2.00 at worst case), reserved $0.0000')
  expect(stdout).toContain('  dead-1  $2.00  its process ended, m, x, 1970-01-01T00:00:00.000Z')
  expect(stdout).toContain(`Ledger: ${ledger}`)
  expect(await halting('budget', 'settle', 'dead-1', '--usd', '0.5')).toEqual({
    status: 0,
    stderr: '',
    stdout: 'dead-1: $0.5000 instead of $2.00\n',
  })
  expect((await halting('budget')).stdout).toContain('$20 a day: $18.50 left')
})

test('explains how to set the first budget, and writes no ledger for a run', async () => {
  const { halting, ask, home } = person({})
  expect(await halting('budget')).toEqual({
    status: 0,
    stderr: '',
    stdout: `No standing budgets are set. Set one in ${home}/.halting/settings.json, such as {"budgets": [{"per": "day", "usd": 20}]}.\n`,
  })
  await ask()
  expect(existsSync(join(home, '.halting/budgets'))).toBe(false)
})

test.each([
  [['show'], {}, 'halting budget show is not a command'],
  [['settle'], {}, 'Usage: halting budget settle ID --usd X'],
  [['settle', 'x'], {}, 'Usage: halting budget settle ID --usd X'],
  [['settle', 'x', 'y'], { usd: 1 }, 'Usage: halting budget settle ID --usd X'],
  [['settle', 'x'], { usd: 1 }, 'has no entry x that can be corrected'],
  [[], { usd: 1 }, '--usd belongs to halting budget settle ID'],
])('refuses halting budget %j with %j as a usage error', async (words, flags, message) => {
  const { home } = person({ budgets: [{ per: 'day', usd: 1 }] })
  const program = programInMemory({ cwd: join(home, 'work'), env: { HOME: home } })
  await expect(budget(flags, words, program)).rejects.toThrow(message)
  expect(program.written()).toBe('')
})

test.each(['-1', 'NaN', 'Infinity', '1e3', '', '1000001'])('refuses --usd %j', (given) => {
  expect(() => parseFlags([`--usd=${given}`])).toThrow(/--usd/)
})

test('stops before the first request if the ledger is unusable, unless the user overrides it', async () => {
  const { halting, ask, ledger } = person({ budgets: [{ per: 'day', usd: 20 }] })
  await ask()
  chmodSync(ledger, 0o400)
  const refused = await ask()
  expect(refused).toMatchObject({ status: 2, stdout: '' })
  expect(refused.stderr).toMatch(
    /ledger\.json is read-only\. Run: chmod u\+w .*--ignore-standing-budgets continues without them\.\n$/,
  )
  expect((await halting('doctor', '--json')).stdout).toContain('ledger.json is read-only')
  const going = await ask('--ignore-standing-budgets')
  expect(going).toMatchObject({ status: 0, stdout: 'Hello.\n' })
  expect(going.stderr.match(/is not recorded for standing budgets/g)).toHaveLength(1)
})

test('refuses a model without a price if a budget applies to it', async () => {
  const { ask } = person({ budgets: [{ per: 'day', usd: 20 }] }, 'a-model-of-nobody')
  const refused = await ask()
  expect(refused).toMatchObject({ status: 2, stdout: '' })
  expect(refused.stderr).toContain('The budget $20 a day counts a-model-of-nobody, which has no price')
  expect(await ask('--ignore-standing-budgets')).toMatchObject({ status: 0, stdout: 'Hello.\n' })
})

test('shows budgets with their files in halting config, and those of a project as ignored', async () => {
  const { halting, home } = person({ budgets: [{ per: 'day', usd: 20 }] })
  mkdirSync(join(home, 'work/.halting'))
  writeFileSync(join(home, 'work/.halting/settings.json'), JSON.stringify({ budgets: [{ per: 'day', usd: 9_999 }] }))
  const { settings, ignored } = JSON.parse((await halting('config', '--json')).stdout) as Readonly<
    Record<string, readonly object[]>
  >
  expect(settings).toContainEqual({
    setting: 'budgets',
    value: { per: 'day', usd: 20 },
    from: join(home, '.halting/settings.json'),
  })
  expect(ignored).toMatchObject([{ setting: 'budgets', text: '[{"per":"day","usd":9999}]' }])
  expect((await halting('doctor')).stdout).toMatch(/ok {2}budgets +1 standing budget, counted in /)
})

test('names the standing budgets that apply in halting check, and refuses a model without a price like a run', async () => {
  const { home, halting, ask, ledger } = person({
    budgets: [
      { per: 'day', usd: 20 },
      { per: 'month', usd: 5, folder: '/elsewhere' },
    ],
  })
  expect((await halting('check')).stdout).toContain('\nStanding budgets also apply: $20 a day.\n')
  expect(JSON.parse((await halting('check', '--json')).stdout)).toMatchObject({ standingBudgets: ['$20 a day'] })
  expect((await halting('check', '--ignore-standing-budgets')).stdout).not.toContain('Standing budgets')
  expect(existsSync(ledger)).toBe(false)
  const script = join(home, 'script.json')
  writeFileSync(script, JSON.stringify({ model: 'a-model-of-nobody', replies: [{ content: ['Hello.'] }] }))
  const [checked, asked] = [await halting('check', '--script', script), await ask()]
  expect(checked).toMatchObject({ status: 2, stdout: '' })
  expect(checked.stderr.trim().split('\n').at(-1)).toBe(asked.stderr.trim().split('\n').at(-1))
})

test('reports what is left in halting doctor, and that no run can start with nothing left or without a price', async () => {
  const { halting, ask, home } = person({ budgets: [{ per: 'day', usd: 0.0001 }] })
  await ask('--ignore-standing-budgets')
  const used = await halting('doctor')
  expect(used.status).toBe(1)
  expect(used.stdout).toMatch(
    /\n!! {2}budgets +\$0\.0000 left of \$0\.0001 a day, resets \d{4}-\d\d-\d\d 00:00\n +Wait until then, raise it in your settings, or use --ignore-standing-budgets\.\n/,
  )
  writeFileSync(
    join(home, '.halting/settings.json'),
    JSON.stringify({ budgets: [{ per: 'day', usd: 5, model: 'gpt-*' }] }),
  )
  expect((await halting('doctor')).stdout).toMatch(/\nok {2}budgets +\$5\.00 left of \$5 a day for gpt-\*, resets /)
  expect((await halting('doctor', '--model', 'gpt-of-nobody')).stdout).toMatch(
    /\n!! {2}budgets +The budget \$5 a day for gpt-\* counts openai\/gpt-of-nobody, which has no price/,
  )
})

test('prints once on stderr what it waits for if another process has reserved the budget', async () => {
  const { ask, ledger } = person({ budgets: [{ per: 'day', usd: 20 }] })
  await ask()
  const state = JSON.parse(readFileSync(ledger, 'utf8')) as { scopes: { day: Record<string, object> } }
  const [period = ''] = Object.keys(state.scopes.day)
  // This process has reserved everything that is left.
  const reservation = {
    id: 'held-1',
    process: ownProcess(),
    session: 'x',
    model: 'm',
    repository: '',
    nanos: 19e9,
    places: [{ scope: 'day', period }],
    since: Date.now(),
  }
  const held = { limitNanos: null, leasedNanos: 20e9, spentNanos: 1e9, unknownNanos: 0, holders: 1 }
  writeFileSync(ledger, JSON.stringify({ ...state, scopes: { day: { [period]: held } }, reservations: [reservation] }))
  const ended = await ask('--max-duration', '3s')
  expect(ended.stderr.split('\n').slice(0, 2)).toEqual([
    '! Waiting for budget: $19.00 of $20 a day is reserved by 1 other request.',
    expect.stringContaining('time_limit'),
  ])
  expect(ended).toMatchObject({ status: 3, stdout: '' })
})
