import { Agent, run, RunState, tool, type Model } from '@openai/agents'
import { readFile, writeFile } from 'node:fs/promises'
import { z } from 'zod'

const refund = tool({
  name: 'refund',
  description: 'Refunds an order',
  parameters: z.object({ order: z.string(), usd: z.number() }),
  needsApproval: async (_context, { usd }) => usd > 50,
  execute: ({ order, usd }) => `Refunded $${usd} for ${order}.`,
})
const agentOf = (model: Model | string) => new Agent({ name: 'Support', model, tools: [refund] })

/** Answers a customer. Where a person has to approve something, that is stored under the id. */
export async function answer(id: string, prompt: string, model: Model | string = 'gpt-5-mini') {
  const result = await run(agentOf(model), prompt)
  await writeFile(id, result.state.toString())
  return { text: result.finalOutput, pending: result.interruptions }
}

/** A person decides, in another request or process: the run continues from there. */
export async function decide(id: string, isApproved: boolean, model: Model | string = 'gpt-5-mini') {
  const agent = agentOf(model)
  const state = await RunState.fromString(agent, await readFile(id, 'utf8'))
  for (const interruption of state.getInterruptions())
    if (isApproved) state.approve(interruption)
    else state.reject(interruption)
  return run(agent, state)
}
