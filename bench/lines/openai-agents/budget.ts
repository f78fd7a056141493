import { Agent, run, type Model, type Tool, type Usage } from '@openai/agents'

// Dollars per token; tokens of the cache cost less, and are not distinguished here.
const usdOf = ({ inputTokens, outputTokens }: Usage) => (inputTokens * 1.25 + outputTokens * 10) / 1e6

/** Aborts after the reply that reached 50 cents: that reply may cost more. */
export async function research(prompt: string, tools: Tool[], model: Model | string = 'gpt-5') {
  const agent = new Agent({ name: 'Research', model, tools })
  const budget = new AbortController()
  const result = await run(agent, prompt, { stream: true, signal: budget.signal, maxTurns: 1_000 })
  for await (const _event of result) if (usdOf(result.state.usage) >= 0.5) budget.abort()
  return result.finalOutput
}
