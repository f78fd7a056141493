// examples/programs/budget.ts
import { run, type AnyTool, type Model } from '@halting/core'
import { anthropic } from '@halting/models'

/** Researches a question with the given tools, for at most 50 cents: no request is made that could cost more. */
export const research = (prompt: string, tools: readonly AnyTool[], model: Model = anthropic('claude-sonnet-5-5')) =>
  run({ model, tools, prompt, maxBudgetUsd: 0.5 })
