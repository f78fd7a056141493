import { anthropic } from '@ai-sdk/anthropic'
import { generateText, type LanguageModel, type LanguageModelUsage, type ToolSet } from 'ai'

// Dollars per token; tokens of the cache cost less or more, and are not distinguished here.
const usdOf = ({ inputTokens = 0, outputTokens = 0 }: LanguageModelUsage) => (inputTokens * 3 + outputTokens * 15) / 1e6

/** Stops after the step that reached 50 cents: that step and a failed attempt may cost more. */
export const research = (prompt: string, tools: ToolSet, model: LanguageModel = anthropic('claude-sonnet-5-5')) =>
  generateText({
    model,
    tools,
    prompt,
    stopWhen: ({ steps }) => steps.reduce((usd, { usage }) => usd + usdOf(usage), 0) >= 0.5,
  })
