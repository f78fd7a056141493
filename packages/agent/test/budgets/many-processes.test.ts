// Holds rules of docs/spec: R-STAND-10, R-STAND-13, R-STAND-16: real processes that are killed at random overshoot no budget, and leave nothing in the way.
import { spawn, type ChildProcess } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as wait } from 'node:timers/promises'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { isWhole } from '../../../core/test/support/deep.ts'
import { sources } from '../../../../vitest.build.ts'
import { budgetRule } from '../../src/budgets/budget-rule.ts'
import { periodOf } from '../../src/budgets/calendar.ts'
import { LedgerFile } from '../../src/budgets/ledger-file.ts'
import { areReservationsConsistent, correct, totalSince, type LedgerState } from '../../src/budgets/ledger-state.ts'
import { StandingLedger } from '../../src/budgets/standing-ledger.ts'
import { request, take, taken, tempFolder } from './support.ts'

const most = Number(process.env['HALTING_PROCESSES'] ?? (isWhole ? 20 : 6))
const wanted = Number(process.env['HALTING_REQUESTS'] ?? (isWhole ? 1_500 : 150))
const seed = Number(process.env['HALTING_SEED'] ?? 20_261_129)
/** Close to what all of them reserve at once and spend in all: they wait for each other, and some are refused. */
const requestsPerKill = 8
const dayUsd = most * 0.25 + wanted * 0.1
const modelUsd = most * 0.1 + wanted * 0.032

interface Reported {
  taken: number
  settled: number
  spentUsd: number
  dearUsd: number
  waits: number
}

function hear(child: ChildProcess, reported: Reported): void {
  let rest = ''
  child.stdout?.on('data', (bytes: Buffer) => {
    const lines = `${rest}${bytes.toString()}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const [what, model, usd] = line.split(' ')
      if (what === 'T') reported.taken += 1
      if (what === 'W') reported.waits += 1
      if (what !== 'S') continue
      reported.settled += 1
      reported.spentUsd += Number(usd)
      if (model === 'dear-1') reported.dearUsd += Number(usd)
    }
  })
}

const places = () =>
  [
    { scope: 'day', period: periodOf('day', new Date(0)), limit: dayUsd },
    { scope: 'month model=dear-*', period: periodOf('month', new Date(0)), limit: modelUsd },
  ] as const

function checkLimits(state: LedgerState): void {
  for (const { limit, ...place } of places())
    expect(totalSince(state, place).leasedNanos).toBeLessThanOrEqual(Math.round(limit * 1e9))
  expect(areReservationsConsistent(state)).toBe(true)
}

test(`${most} processes that are killed at random`, { timeout: 600_000 }, async () => {
  const folder = tempFolder()
  const outfile = join(folder, 'spender.mjs')
  const entry = fileURLToPath(new URL('spender.ts', import.meta.url))
  const target = 'node20.19'
  const banner = { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)" }
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target,
    banner,
    alias: sources,
    logLevel: 'warning',
  })
  const budgets = join(folder, 'budgets')
  const reported: Reported = { taken: 0, settled: 0, spentUsd: 0, dearUsd: 0, waits: 0 }
  const running = new Set<ChildProcess>()
  const errors: string[] = []
  let [started, killed, looks] = [0, 0, 0]
  const start = (): void => {
    started += 1
    const args = [outfile, budgets, `${dayUsd},${modelUsd}`, String(seed + started), String(wanted)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    running.add(child)
    hear(child, reported)
    child.stderr.on('data', (bytes: Buffer) => errors.push(bytes.toString()))
    child.on('close', () => running.delete(child))
  }
  const file = new LedgerFile(budgets)
  for (let nth = 0; nth < most; nth++) start()
  const until = performance.now() + 400_000
  let isRefused = false
  while (reported.taken < wanted && !isRefused && performance.now() < until) {
    await wait(5)
    looks += 1
    checkLimits(file.read())
    // One that ends by itself was refused: nothing is left.
    isRefused = started - killed > most && running.size < most
    while (running.size < most) start()
    if (reported.taken < killed * requestsPerKill) continue
    const [victim] = [...running].slice(looks % running.size)
    if (victim?.kill('SIGKILL') === true) killed += 1
  }
  for (const child of running) if (child.kill('SIGKILL')) killed += 1
  while (running.size > 0) await wait(5)
  expect(errors.join('')).toBe('')
  expect(killed).toBeGreaterThan(0)
  checkLimits(file.read())

  // The next process is not blocked, and finds everything that was spent on the ledger.
  const rule = budgetRule({ per: 'day', usd: dayUsd }, undefined)
  const standing = new StandingLedger({ file, rules: [rule], session: 'last', repository: '' })
  await standing.open()
  const state = file.read()
  expect(state).toMatchObject({ reservations: [], waiters: [] })
  expect(readdirSync(budgets).filter((name) => name !== 'ledger.json' && name !== 'ledger.json.part')).toEqual([])
  const [day, dear] = places().map((place) => totalSince(state, place))
  expect(day?.spentNanos).toBeGreaterThanOrEqual(Math.round(reported.spentUsd * 1e9) - 1)
  expect(dear?.spentNanos).toBeGreaterThanOrEqual(Math.round(reported.dearUsd * 1e9) - 1)

  // After correcting unknown charges to nothing, the known ones remain.
  const unknown = state.correctable.reduce(
    (sum, { nanos, places: counted }) => sum + (counted.some(({ scope }) => scope === 'day') ? nanos : 0),
    0,
  )
  await file.change((before) => ({
    state: before.correctable.reduce((each, { id }) => correct(each, id, 0), before),
    result: undefined,
  }))
  const corrected = totalSince(file.read(), { scope: 'day', period: '1970' })
  expect(corrected.spentNanos).toBe((day?.spentNanos ?? 0) - unknown)
  const left = (Math.round(dayUsd * 1e9) - corrected.spentNanos) / 1e9
  expect(taken(take(standing, request(left, left, 'cheap-1'))).usd).toBeCloseTo(left, 9)
  if (isWhole)
    console.info(
      `${reported.taken} requests, ${reported.waits} waits, ${started} processes, ${killed} killed, ${looks} looks`,
    )
})
