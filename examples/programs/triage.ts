// examples/programs/triage.ts
import { outputSchema, run, type Model } from '@halting/core'
import { anthropic } from '@halting/models'
import { z } from 'zod'

const Ticket = z.object({
  severity: z.enum(['low', 'medium', 'high']),
  team: z.enum(['billing', 'product', 'security']),
  summary: z.string().max(120),
})

/** Classifies a ticket. Costs at most five cents. */
export async function triage(prompt: string, model: Model = anthropic('claude-haiku-4-5')) {
  const system = 'You triage support tickets.'
  const ticket = await run({ model, system, prompt, output: outputSchema(Ticket), maxBudgetUsd: 0.05 })
  if (ticket.output === undefined) throw new Error(`${ticket.reason}: ${ticket.message}`)
  return ticket.output
}
