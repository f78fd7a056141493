// examples/shared-budget.mjs
import { sharedBudget, startRun, streamRun } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { createPrices } from '@halting/models'

const prices = createPrices({ scripted: { input: 3, output: 15 } })
const budget = sharedBudget({ usd: 0.1 })

// Five runs in parallel; each reply costs 3 cents.
async function check(file) {
  const model = scriptedModel([{ text: 'Looks fine.', usage: { input_tokens: 5_000, output_tokens: 1_000 } }])
  const { reason } = await streamRun(startRun({ prompt: `Check ${file}.` }), { model, prices, budget }).result
  return `${file}: ${reason}`
}

for (const line of await Promise.all(['a.ts', 'b.ts', 'c.ts', 'd.ts', 'e.ts'].map(check))) console.log(line)
console.log(`spent $${budget.spentUsd.toFixed(2)}, left $${budget.leftUsd.toFixed(2)}`)
