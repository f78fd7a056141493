// examples/programs/weather-agent.ts
import { run, tool, type Model, type RunOutcome } from '@halting/core'
import { z } from 'zod'

const weather = tool({
  name: 'Weather',
  description: 'Returns the weather of a city',
  inputSchema: z.object({ city: z.string() }),
  readOnly: true,
  execute: ({ city }) => `Rain in ${city}`,
})

/** Advises a person what to take along. */
export function packingAdvice(city: string, model: Model): Promise<RunOutcome<string>> {
  return run({ model, tools: [weather], prompt: `What should I pack for ${city}?`, maxTurns: 5 })
}
