import { Agent, run, type Model, type Usage } from '@openai/agents'
import { z } from 'zod'

const usdOf = ({ inputTokens, outputTokens }: Usage) => (inputTokens * 1.25 + outputTokens * 10) / 1e6

/** Five reviewers in parallel, and a lead who sums up. Aborted after the reply that reached a dollar; all that work then may cost more. */
export async function review(diff: string, lead: Model | string = 'gpt-5', small: Model | string = 'gpt-5-mini') {
  const reviewers = ['Security', 'Speed', 'Style', 'Tests', 'Docs'].map((name) =>
    new Agent({
      name,
      instructions: `You review code, only for this topic: ${name}.\n${diff}`,
      model: small,
      outputType: z.object({ problems: z.array(z.string()) }),
    }).asTool({ toolName: name, toolDescription: `Reviews the diff: ${name}` }),
  )
  const agent = new Agent({ name: 'Lead', model: lead, tools: reviewers })
  const prompt = `Have all five reviewers review the diff, in one message. Then list what must be fixed.\n${diff}`
  const budget = new AbortController()
  const result = await run(agent, prompt, { stream: true, signal: budget.signal })
  for await (const _event of result) if (usdOf(result.state.usage) >= 1) budget.abort()
  return result.finalOutput
}
