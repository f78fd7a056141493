// A process that spends from standing budgets until it is killed or nothing is left. It prints what it does before
// doing it.
import { writeSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { budgetRule } from '../../src/budgets/budget-rule.ts'
import { LedgerFile } from '../../src/budgets/ledger-file.ts'
import { StandingLedger } from '../../src/budgets/standing-ledger.ts'

const [folder = '', limits = '', seed = '0', count = '0'] = process.argv.slice(2)
const [dayUsd = 0, modelUsd = 0] = limits.split(',').map(Number)

let state = Number(seed) * 2_654_435_761 + 1
function random(): number {
  state = (Math.imul(state ^ (state >>> 15), 2_246_822_507) + 0x9e3779b9) >>> 0
  return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32
}

const say = (line: string): unknown => writeSync(1, `${line}\n`)
const cents = (most: number): number => Math.ceil(random() * most * 100) / 100

const standing = new StandingLedger({
  file: new LedgerFile(folder),
  rules: [
    budgetRule({ per: 'day', usd: dayUsd }, undefined),
    budgetRule({ per: 'month', usd: modelUsd, model: 'dear-*' }, undefined),
  ],
  session: `spender-${process.pid}`,
  repository: '',
})
await standing.open()

async function spend(): Promise<'went on' | 'refused'> {
  const model = random() < 0.3 ? 'dear-1' : 'cheap-1'
  const usd = 0.2 + cents(1)
  const options = { signal: new AbortController().signal, onWait: () => say('W') }
  const answer = await standing.take({ model, usd, leastUsd: usd / 2, mayWait: true }, options)
  if (answer.kind === 'refused') return 'refused'
  say(`T ${model} ${answer.usd}`)
  await wait(random() * 8)
  const isKnown = random() < 0.98
  const spent = isKnown ? Math.min(cents(0.08), answer.usd) : answer.usd
  say(`S ${model} ${spent}`)
  answer.settle(spent, isKnown)
  return 'went on'
}

for (let left = Number(count); left > 0; left -= 2) {
  const outcomes = await Promise.all([spend(), spend()])
  if (outcomes.every((outcome) => outcome === 'refused')) break
}
say('done')
