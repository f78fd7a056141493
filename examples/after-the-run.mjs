// examples/after-the-run.mjs
import { promptSuggestion } from '@halting/agent/after'
import { QueryEngine } from '@halting/core'
import { afterRun } from '@halting/core/after'
import { scriptedModel } from '@halting/core/testing'

const prices = { cost: () => 0.001, worstCase: () => 0.002 } // An answer costs a tenth of a cent, and never more than two tenths.
const model = scriptedModel(['The bug is fixed.'], { id: 'large' })
const small = scriptedModel(['Run the tests', 'Fixed a bug in sum().'], { id: 'small' })
const engine = new QueryEngine({ model, prices, maxBudgetUsd: 0.01 })

// A custom stage, bounded by its own limits and by the remaining budget of the session.
const title = {
  name: 'title',
  limits: { maxTurns: 1, maxBudgetUsd: 0.005, maxDurationMs: 10_000 },
  async run({ transcript, ask }) {
    if (transcript.length > 10) return { kind: 'skipped', message: 'It has a title.' }
    const { text } = await ask({ system: 'Give a title.', prompt: JSON.stringify(transcript.messages()) })
    return { kind: 'done', message: text, details: { title: text } }
  },
}

for await (const message of engine.submit('sum() is wrong. Fix it.')) {
  if (message.type === 'result') console.log(message.result, message.total_cost_usd)
}
for await (const message of afterRun(engine, [promptSuggestion(), title], { model: small })) {
  if (message.type === 'prompt_suggestion') console.log('next:', message.suggestion)
  if (message.subtype === 'stage_ended')
    console.log(`${message.stage}:`, message.reason, message.message, message.cost_usd)
}
console.log('the session:', engine.totalCostUsd)
