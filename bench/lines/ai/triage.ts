import { anthropic } from '@ai-sdk/anthropic'
import { generateText, Output, type LanguageModel } from 'ai'
import { z } from 'zod'

const Ticket = z.object({
  severity: z.enum(['low', 'medium', 'high']),
  team: z.enum(['billing', 'product', 'security']),
  summary: z.string().max(120),
})

/** What a ticket is about. An answer that does not match is an error, and nothing bounds the cost. */
export async function triage(prompt: string, model: LanguageModel = anthropic('claude-haiku-4-5')) {
  const instructions = 'You triage support tickets.'
  const { output } = await generateText({ model, instructions, prompt, output: Output.object({ schema: Ticket }) })
  return output
}
