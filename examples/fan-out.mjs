// examples/fan-out.mjs
import { agentTool, run } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { createPrices } from '@halting/models'

const topics = ['Security', 'Speed', 'Style', 'Tests', 'Docs']
const reviewer = scriptedModel(() => '{ "problems": 1 }', { id: 'small' })
const reviewers = topics.map((name) =>
  agentTool({
    name,
    description: `Reviews a diff: ${name}`,
    system: `You review code, only for this topic: ${name}.`,
    model: reviewer,
    output: { type: 'object', properties: { problems: { type: 'integer' } }, required: ['problems'] },
  }),
)

const all = { toolCalls: topics.map((name) => ({ name, input: { prompt: 'The diff: …' } })) }
const model = scriptedModel([all, 'Five problems.'], { id: 'large' })
const prices = createPrices({ small: { input: 1, output: 5 }, large: { input: 3, output: 15 } })
const { output, costUsd } = await run({ model, tools: reviewers, prompt: 'Review it.', prices, maxBudgetUsd: 5 })
console.log(output, `${reviewer.requests.length} reviews, $${costUsd.toFixed(5)} of $5`)
