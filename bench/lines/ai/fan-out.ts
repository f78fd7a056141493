import { anthropic } from '@ai-sdk/anthropic'
import { generateText, Output, tool, type LanguageModel, type LanguageModelUsage } from 'ai'
import { z } from 'zod'

const usdOf = ({ inputTokens = 0, outputTokens = 0 }: LanguageModelUsage, input: number, output: number) =>
  (inputTokens * input + outputTokens * output) / 1e6

/** Five reviewers in parallel, and a lead who sums up. Nobody begins after a dollar is spent; all that work then go on. */
export function review(
  diff: string,
  lead: LanguageModel = anthropic('claude-sonnet-5-5'),
  small: LanguageModel = anthropic('claude-haiku-4-5'),
) {
  let usd = 0
  const reviewer = (topic: string) =>
    tool({
      description: `Reviews the diff: ${topic}`,
      inputSchema: z.object({ prompt: z.string() }),
      async execute({ prompt }, { abortSignal }) {
        if (usd >= 1) throw new Error('The budget is spent.')
        const { output, totalUsage } = await generateText({
          model: small,
          instructions: `You review code, only for this topic: ${topic}.\n${diff}`,
          prompt,
          output: Output.object({ schema: z.object({ problems: z.array(z.string()) }) }),
          ...(abortSignal !== undefined && { abortSignal }),
        })
        usd += usdOf(totalUsage, 1, 5)
        return output
      },
    })
  const topics = ['Security', 'Speed', 'Style', 'Tests', 'Docs']
  return generateText({
    model: lead,
    tools: Object.fromEntries(topics.map((topic) => [topic, reviewer(topic)])),
    prompt: `Have all five reviewers review the diff, in one message. Then list what must be fixed.\n${diff}`,
    stopWhen: ({ steps }) => usd + steps.reduce((sum, { usage }) => sum + usdOf(usage, 3, 15), 0) >= 1,
  })
}
