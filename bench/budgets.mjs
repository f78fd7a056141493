// How long a reservation in the ledger of standing budgets takes: `take` and `settle` of one request, without contention, with a new ledger and with one
// after two months (62 days of three budgets, 100 entries that can be corrected). For comparison, the file system alone: a file of the same
// size that is written and renamed. Needs a build. `--requests=N`, `--rounds=N`.
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStandingBudgets } from '@halting/agent/budgets'
import { createPrices } from '@halting/models'
import { heading, median, numberOf, table } from './lib/measure.mjs'

const requests = numberOf('requests', 2_000)
const rounds = numberOf('rounds', 7)
const model = 'claude-sonnet-5-5'
const home = mkdtempSync(join(tmpdir(), 'halting-bench-'))
const ledger = join(home, '.halting/budgets/ledger.json')
const budgets = [
  { per: 'day', usd: 100_000 },
  { per: 'month', usd: 100_000 },
  { per: 'day', usd: 100_000, model: 'claude-*' },
]
const signal = new AbortController().signal
const onWait = () => {}

async function opened() {
  const owner = { cwd: home, env: { HOME: home } }
  const options = { sessionId: 'bench', models: [model], prices: createPrices(), ignored: false, nameOfIgnoring: '', onUncounted() {} }
  return openStandingBudgets({ owner, budgets, ...options })
}

/** A ledger of the maximum size. */
function grown() {
  const state = JSON.parse(readFileSync(ledger, 'utf8'))
  const spent = { limitNanos: null, leasedNanos: 1e9, spentNanos: 1e9, unknownNanos: 0, holders: 0 }
  for (const [scope, periods] of Object.entries(state.scopes)) {
    const count = scope.startsWith('month') ? 23 : 61
    for (let nth = 0; nth < count; nth++) periods[scope.startsWith('month') ? `2020-${String(nth).padStart(2, '0')}` : `2020-01-${String(nth).padStart(2, '0')}`] = spent
  }
  const places = Object.keys(state.scopes).map((scope) => ({ scope, period: '2020-01-01' }))
  state.correctable = Array.from({ length: 100 }, (_, nth) => ({
    id: `bench-${nth}`,
    session: '11111111-2222-4333-8444-555555555555',
    model,
    repository: '/home/somebody/work/project/.git',
    nanos: 1e6,
    places,
    since: 1_700_000_000_000,
    why: 'not reported',
  }))
  writeFileSync(ledger, JSON.stringify(state), { mode: 0o600 })
}

/** Milliseconds for one request, by the clock and of CPU. */
function requestMs(standing) {
  const [began, cpu] = [performance.now(), process.cpuUsage()]
  for (let nth = 0; nth < requests; nth++) {
    const taken = standing.take({ model, usd: 0.5, leastUsd: 0.1, mayWait: true }, { signal, onWait })
    if (taken.kind !== 'taken') throw new Error(`not taken: ${JSON.stringify(taken)}`)
    taken.settle(0.01, true)
  }
  const { user, system } = process.cpuUsage(cpu)
  return { ms: (performance.now() - began) / requests, cpuMs: (user + system) / 1000 / requests }
}

/** The same for two files of this size that are written and renamed, as a reservation and its settlement do. */
function fileMs(bytes) {
  const part = join(home, 'part')
  const [began, cpu] = [performance.now(), process.cpuUsage()]
  for (let nth = 0; nth < 2 * requests; nth++) {
    writeFileSync(part, bytes)
    renameSync(part, join(home, 'whole'))
  }
  const { user, system } = process.cpuUsage(cpu)
  return { ms: (performance.now() - began) / requests, cpuMs: (user + system) / 1000 / requests }
}

const rows = []
try {
  for (const [name, prepare] of [['a new ledger', () => {}], ['after two months', grown]]) {
    const first = await opened()
    requestMs(first)
    prepare()
    const standing = await opened()
    const bytes = readFileSync(ledger)
    const [own, files] = [[], []]
    for (let round = 0; round < rounds; round++) {
      own.push(requestMs(standing))
      files.push(fileMs(bytes))
    }
    const half = (samples, name) => (median(samples.map((sample) => sample[name])) / 2).toFixed(3)
    const size = `${(bytes.length / 1024).toFixed(1)} kB`
    rows.push([name, size, half(own, 'ms'), half(own, 'cpuMs'), half(files, 'ms'), half(files, 'cpuMs')])
  }
} finally {
  rmSync(home, { recursive: true, force: true })
}
heading('Standing budgets: one reservation, or one settlement')
console.log(table(['', 'file', 'ms', 'ms of CPU', 'a bare file written and renamed, ms', 'ms of CPU'], rows))
