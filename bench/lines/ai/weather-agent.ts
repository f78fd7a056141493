import { generateText, isStepCount, tool, type LanguageModel } from 'ai'
import { z } from 'zod'

const weather = tool({
  description: 'Reports the weather of a city',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `Rain in ${city}`,
})

/** What a person should take along. */
export const packingAdvice = (city: string, model: LanguageModel) =>
  generateText({
    model,
    tools: { weather },
    prompt: `What should I pack for ${city}?`,
    stopWhen: isStepCount(5),
  })
