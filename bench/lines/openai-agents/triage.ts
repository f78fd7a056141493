import { Agent, run, type Model } from '@openai/agents'
import { z } from 'zod'

const Ticket = z.object({
  severity: z.enum(['low', 'medium', 'high']),
  team: z.enum(['billing', 'product', 'security']),
  summary: z.string().max(120),
})

/** What a ticket is about. An answer that does not match is an error, and nothing bounds the cost. */
export async function triage(prompt: string, model: Model | string = 'gpt-5-mini') {
  const agent = new Agent({ name: 'Triage', instructions: 'You triage support tickets.', model, outputType: Ticket })
  const { finalOutput } = await run(agent, prompt)
  if (finalOutput === undefined) throw new Error('There is no answer.')
  return finalOutput
}
