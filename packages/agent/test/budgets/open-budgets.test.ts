// Holds rules of docs/spec: R-STAND-19, R-STAND-22, R-STAND-22a to R-STAND-24: which budgets count for a session, what is reported of them, and corrections.
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { ConfigurationError, type StandingBudgets } from '@halting/core'
import { createPrices } from '@halting/models'
import { describe, expect, test } from 'vitest'
import type { BudgetTerms } from '@halting/core/adapters'
import { openStandingBudgets, placeOf, type LedgerOwner } from '../../src/budgets/open.ts'
import { correctBudget, ledgerTrouble, reportBudgets } from '../../src/budgets/status.ts'
import { request, take, taken, tempFolder } from './support.ts'

const model = 'claude-opus-4-8'
const prices = createPrices()

interface Place {
  readonly root: string
  readonly owner: (folder?: string) => LedgerOwner
}

function place(): Place {
  const root = realpathSync(tempFolder())
  for (const folder of ['home', 'work']) mkdirSync(join(root, folder))
  return { root, owner: (folder = 'work') => ({ cwd: join(root, folder), env: { HOME: join(root, 'home') } }) }
}

function open(
  owner: LedgerOwner,
  budgets: readonly BudgetTerms[],
  options: { readonly ignored?: boolean; readonly models?: readonly string[] } = {},
): Promise<StandingBudgets | undefined> {
  const { ignored = false, models = [model] } = options
  const nameOfIgnoring = '--ignore-standing-budgets'
  return openStandingBudgets({
    owner,
    budgets,
    sessionId: 's',
    models,
    prices,
    ignored,
    nameOfIgnoring,
    onUncounted() {},
  })
}

const git = (cwd: string, ...args: readonly string[]): unknown =>
  execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@x', ...args], { cwd, stdio: 'ignore' })

describe('a budget of a folder', () => {
  test('counts in its repository and all of its worktrees, wherever they are', async () => {
    const { root, owner } = place()
    for (const folder of ['home/x', 'home/x/deep', 'elsewhere']) mkdirSync(join(root, folder), { recursive: true })
    git(join(root, 'home/x'), 'init')
    git(join(root, 'home/x'), 'commit', '--allow-empty', '-m', 'x')
    git(join(root, 'home/x'), 'worktree', 'add', join(root, 'elsewhere/tree'))
    const budget = { per: 'day', usd: 1, folder: '~/x' } as const
    for (const folder of ['home/x', 'home/x/deep', 'elsewhere/tree'])
      expect((await open(owner(folder), [budget]))?.names).toEqual(['$1 a day in ~/x'])
    const [one, other] = [await open(owner('home/x'), [budget]), await open(owner('elsewhere/tree'), [budget])]
    taken(take(one!, request(1, 1, model))).settle(1, true)
    expect(take(other!, request(1, 1, model))).toMatchObject({ kind: 'refused' })
    expect(placeOf(join(root, 'elsewhere/tree'))).toBe(join(root, 'home/x/.git'))
    // A folder in a worktree counts for the same repository.
    expect((await open(owner('home/x'), [{ ...budget, folder: join(root, 'elsewhere/tree') }]))?.names).toHaveLength(1)
    // Elsewhere nothing is created or read.
    const before = readdirSync(join(root, 'home/.halting/budgets'))
    for (const folder of ['work', 'elsewhere', 'home']) expect(await open(owner(folder), [budget])).toBeUndefined()
    expect(readdirSync(join(root, 'home/.halting/budgets'))).toEqual(before)
  })

  test('without a repository counts in it and below it, including repositories there and their worktrees', async () => {
    const { root, owner } = place()
    for (const folder of ['work/a/b', 'workshop']) mkdirSync(join(root, folder), { recursive: true })
    git(join(root, 'work/a'), 'init')
    git(join(root, 'work/a'), 'commit', '--allow-empty', '-m', 'x')
    git(join(root, 'work/a'), 'worktree', 'add', join(root, 'tree'))
    symlinkSync(join(root, 'work'), join(root, 'link'))
    const budget = { per: 'month', usd: 1, folder: join(root, 'link') } as const
    for (const folder of ['work', 'work/a', 'work/a/b', 'link/a', 'tree'])
      expect((await open(owner(folder), [budget]))?.names).toHaveLength(1)
    for (const folder of ['workshop', 'home']) expect(await open(owner(folder), [budget])).toBeUndefined()
  })
})

describe('a repository that is created, moved or removed', () => {
  const budget = (root: string) => ({ per: 'day', usd: 1, folder: join(root, 'work') }) as const
  const spent = async ({ root, owner }: Place): Promise<void> => {
    const standing = await open(owner(), [budget(root)])
    taken(take(standing!, request(1, 1, model))).settle(1, true)
  }
  const isUsedUp = async ({ root, owner }: Place, cwd = 'work'): Promise<boolean> => {
    const standing = await open(owner(cwd), [budget(root)])
    return standing !== undefined && (await take(standing, request(1, 1, model))).kind === 'refused'
  }

  test('in the folder of a budget does not renew it', async () => {
    const here = place()
    await spent(here)
    expect(await isUsedUp(here)).toBe(true)
    git(join(here.root, 'work'), 'init')
    expect(await isUsedUp(here)).toBe(true)
    renameSync(join(here.root, 'work/.git'), join(here.root, 'moved'))
    expect(await isUsedUp(here)).toBe(true)
    writeFileSync(join(here.root, 'work/.git'), `gitdir: ${join(here.root, 'moved')}\n`)
    expect(await isUsedUp(here)).toBe(true)
    rmSync(join(here.root, 'work/.git'))
    renameSync(join(here.root, 'work'), join(here.root, 'other'))
    symlinkSync(join(here.root, 'other'), join(here.root, 'work'))
    expect(await isUsedUp(here)).toBe(true)
    expect(await isUsedUp(here, 'other')).toBe(true)
  })

  test('below it counts too, even if the folder is a repository itself', async () => {
    const here = place()
    git(join(here.root, 'work'), 'init')
    await spent(here)
    mkdirSync(join(here.root, 'work/deep/below'), { recursive: true })
    git(join(here.root, 'work/deep'), 'init')
    git(join(here.root, 'work/deep'), 'commit', '--allow-empty', '-m', 'x')
    git(join(here.root, 'work/deep'), 'worktree', 'add', join(here.root, 'tree'))
    for (const cwd of ['work/deep', 'work/deep/below', 'tree']) expect(await isUsedUp(here, cwd)).toBe(true)
    expect(await isUsedUp(here, 'home')).toBe(false)
  })
})

test('creates nothing if no budget counts', async () => {
  const { root, owner } = place()
  expect(await open(owner(), [])).toBeUndefined()
  expect(await open(owner(), [{ per: 'day', usd: 1, folder: '/nowhere' }])).toBeUndefined()
  expect(await reportBudgets(owner(), [{ per: 'day', usd: 1, from: 'f' }])).toMatchObject({ budgets: [{ leftUsd: 1 }] })
  expect(ledgerTrouble(owner()).trouble).toBeUndefined()
  await expect(correctBudget(owner(), { id: 'x', usd: 1 })).rejects.toThrow(/has no entry x/)
  expect(existsSync(join(root, 'home/.halting'))).toBe(false)
})

describe('a model without a price', () => {
  test('is refused and named if a budget counts it', async () => {
    const { owner } = place()
    const opening = open(owner(), [{ per: 'day', usd: 1 }], { models: [model, 'local/llama'] })
    await expect(opening).rejects.toThrow(ConfigurationError)
    await expect(opening).rejects.toThrow(
      /^The budget \$1 a day counts local\/llama, which has no price.*modelPrices.*--ignore-standing-budgets/,
    )
  })

  test('is accepted if no budget counts it, or if the user ignores budgets', async () => {
    const { owner } = place()
    const models = ['local/llama']
    expect(
      (await open(owner(), [{ per: 'day', usd: 1, model: 'claude-*' }], { models }))?.countsFor('local/llama'),
    ).toBe(false)
    const ignoring = await open(owner(), [{ per: 'day', usd: 1 }], { models, ignored: true })
    expect(ignoring?.countsFor('local/llama')).toBe(false)
  })
})

test('says what to do about a ledger that cannot be used', async () => {
  const { root, owner } = place()
  await open(owner(), [{ per: 'day', usd: 1 }])
  const path = join(root, 'home/.halting/budgets/ledger.json')
  writeFileSync(path, 'damaged')
  await expect(open(owner(), [{ per: 'day', usd: 1 }])).rejects.toThrow(ConfigurationError)
  await expect(open(owner(), [{ per: 'day', usd: 1 }])).rejects.toThrow(
    /is damaged.*--ignore-standing-budgets continues without them/,
  )
  await expect(reportBudgets(owner(), [])).rejects.toThrow(ConfigurationError)
  await expect(correctBudget(owner(), { id: 'x', usd: 1 })).rejects.toThrow(ConfigurationError)
  expect(ledgerTrouble(owner()).trouble).toContain('is damaged')
  expect((await open(owner(), [{ per: 'day', usd: 1 }], { ignored: true }))?.countsFor(model)).toBe(false)
})

describe('a correction', () => {
  const budgets = [{ per: 'day', usd: 10, from: 'settings.json' }] as const

  test('replaces a worst case by the actual cost, even a higher one', async () => {
    const { owner } = place()
    const standing = await open(owner(), budgets)
    taken(take(standing!, request(4, 4, model))).settle(4, false)
    const { correctable, budgets: before } = await reportBudgets(owner(), budgets)
    expect(before).toMatchObject([{ settledUsd: 4, unknownUsd: 4, leftUsd: 6, holders: 0, from: 'settings.json' }])
    expect(correctable).toMatchObject([{ why: 'not reported', usd: 4, model, session: 's' }])
    const id = correctable[0]?.id ?? ''
    expect(await correctBudget(owner(), { id, usd: 0.25 })).toEqual({ id, beforeUsd: 4, usd: 0.25 })
    expect(await reportBudgets(owner(), budgets)).toMatchObject({
      budgets: [{ settledUsd: 0.25, unknownUsd: 0, leftUsd: 9.75 }],
      correctable: [{ id, why: 'corrected', usd: 0.25 }],
    })
    // A mistaken correction can be corrected too.
    await correctBudget(owner(), { id, usd: 25 })
    expect(await reportBudgets(owner(), budgets)).toMatchObject({ budgets: [{ settledUsd: 25, leftUsd: 0 }] })
  })

  test('is refused for a request in flight, an unknown id, and an invalid amount', async () => {
    const { owner } = place()
    const standing = await open(owner(), budgets)
    const under = taken(take(standing!, request(4, 4, model)))
    await expect(correctBudget(owner(), { id: 'none', usd: 0 })).rejects.toThrow(
      /has no entry none that can be corrected/,
    )
    for (const usd of [-1, NaN, Infinity])
      await expect(correctBudget(owner(), { id: 'x', usd })).rejects.toThrow(/from 0 to/)
    under.settle(1, true)
  })

  test('applies to a future period that a wrong clock wrote', async () => {
    const { owner } = place()
    const standing = await open(owner(), budgets)
    taken(take(standing!, request(4, 4, model))).settle(4, true)
    const earlier = new Date(Date.now() - 40 * 86_400_000)
    const report = await reportBudgets(owner(), budgets, earlier)
    expect(report).toMatchObject({ budgets: [{ settledUsd: 4 }], correctable: [{ why: 'later period', usd: 4 }] })
    await correctBudget(owner(), { id: report.correctable[0]?.id ?? '', usd: 0 }, earlier)
    expect(await reportBudgets(owner(), budgets, earlier)).toMatchObject({
      budgets: [{ settledUsd: 0 }],
      correctable: [],
    })
  })
})
