import { Agent, run, tool, type Model } from '@openai/agents'
import { z } from 'zod'

const weather = tool({
  name: 'weather',
  description: 'Reports the weather of a city',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `Rain in ${city}`,
})

/** What a person should take along. */
export function packingAdvice(city: string, model: Model | string) {
  const agent = new Agent({ name: 'Packing', model, tools: [weather] })
  return run(agent, `What should I pack for ${city}?`, { maxTurns: 5 })
}
