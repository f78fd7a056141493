import type { JsonObject, Model } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { ExtraPass } from '@halting/core/adapters'
import { listOf, stringOf } from '../json-fields.ts'
import { sizesOf } from '../model-sizes.ts'
import type { RequestBodyOptions } from './request-body.ts'

/** What the models of this protocol have that nobody knows. */
export const usualSizes = { contextWindow: 200_000, maxOutputTokens: 64_000 } as const

/** Where the service compacts by itself when nobody says. */
const usualTrigger = 150_000

type PassOptions = Pick<RequestBodyOptions, 'serverTools' | 'contextManagement'> &
  Pick<Model, 'id' | 'contextWindow' | 'maxOutputTokens'> & { readonly maxServerToolUses: number }

/** What these options let the service do beside the reply: questions to an adviser, compactions. */
export function extraPassesOf(asked: PassOptions): readonly ExtraPass[] {
  const { serverTools = [], contextManagement = {} } = asked
  const advisors = serverTools.filter(isAdvisor).map((tool) => advisorPass(tool, asked.id))
  const questions = advisors.reduce((sum, { uses }) => sum + uses, 0)
  const compactions = listOf(contextManagement.edits)
    .filter((edit) => isJsonObject(edit) && stringOf(edit.type).startsWith('compact_'))
    .map((edit) => compactionPass(isJsonObject(edit) ? edit : {}, asked, questions))
  return [...advisors, ...compactions]
}

/** A tool of the service's own that asks another model. */
export function isAdvisor({ type }: JsonObject): boolean {
  return stringOf(type).startsWith('advisor_')
}

/**
 * How often the service may use these tools in one request; Infinity where one of them may without end. `ofOthers`: those
 * together that say no number, such as code, which takes none.
 */
export function usesOf(serverTools: readonly JsonObject[], ofOthers: number = Infinity): number {
  let uses = 0
  let hasOthers = false
  for (const { max_uses } of serverTools) {
    if (typeof max_uses === 'number' && max_uses >= 0) uses += max_uses
    else hasOthers = true
  }
  return hasOthers ? uses + ofOthers : uses
}

/** It reads the whole conversation, and its own cap holds for what it writes: that of the reply does not. */
function advisorPass(tool: JsonObject, asked: string): ExtraPass {
  const model = stringOf(tool.model) || asked
  const { contextWindow, maxOutputTokens } = sizesOf(model, {}, usualSizes)
  const cap = typeof tool.max_tokens === 'number' && tool.max_tokens > 0 ? tool.max_tokens : Infinity
  return { model, uses: usesOf([tool]), inputTokens: contextWindow, outputTokens: Math.min(cap, maxOutputTokens) }
}

/** Once at first, and again after each time that the service went on by itself. */
function compactionPass({ trigger }: JsonObject, asked: PassOptions, questions: number): ExtraPass {
  const { id, contextWindow, maxOutputTokens, maxServerToolUses } = asked
  const given = isJsonObject(trigger) ? (trigger.type === 'input_tokens' ? trigger.value : 0) : usualTrigger
  return {
    model: id,
    uses: 1 + maxServerToolUses + questions,
    inputTokens: contextWindow,
    outputTokens: maxOutputTokens,
    fromInputTokens: typeof given === 'number' ? given : 0,
  }
}
