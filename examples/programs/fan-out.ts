// examples/programs/fan-out.ts
import { agentTool, run, type Model } from '@halting/core'
import { anthropic } from '@halting/models'
import { z } from 'zod'

/** Runs five reviewers in parallel and a lead who summarizes. All six together cost at most a dollar. */
export function review(
  diff: string,
  lead: Model = anthropic('claude-sonnet-5-5'),
  small = anthropic('claude-haiku-4-5'),
) {
  const reviewers = ['Security', 'Speed', 'Style', 'Tests', 'Docs'].map((name) =>
    agentTool({
      name,
      description: `Reviews the diff: ${name}`,
      system: `You review code, only for this topic: ${name}.\n${diff}`,
      model: small,
      output: z.object({ problems: z.array(z.string()) }),
    }),
  )
  const prompt = `Have all five reviewers review the diff, in one message. Then list what must be fixed.\n${diff}`
  return run({ model: lead, tools: reviewers, prompt, maxBudgetUsd: 1 })
}
