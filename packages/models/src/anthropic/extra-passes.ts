import type { JsonObject, Model } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { ExtraPass } from '@halting/core/adapters'
import { listOf, stringOf } from '../json-fields.ts'
import { sizesOf } from '../model-sizes.ts'
import type { RequestBodyOptions } from './request-body.ts'

/** Sizes of unknown models of this protocol. */
export const usualSizes = { contextWindow: 200_000, maxOutputTokens: 64_000 } as const

/** Default threshold at which the service compacts. */
const usualTrigger = 150_000

type PassOptions = Pick<RequestBodyOptions, 'serverTools' | 'contextManagement'> &
  Pick<Model, 'id' | 'contextWindow' | 'maxOutputTokens'> & { readonly maxServerToolUses: number }

/** Returns the extra model passes that the options allow: advisor questions and compactions. */
export function extraPassesOf(asked: PassOptions): readonly ExtraPass[] {
  const { serverTools = [], contextManagement = {} } = asked
  const advisors = serverTools.filter(isAdvisor).map((tool) => advisorPass(tool, asked.id))
  const questions = advisors.reduce((sum, { uses }) => sum + uses, 0)
  const compactions = listOf(contextManagement.edits)
    .filter((edit) => isJsonObject(edit) && stringOf(edit.type).startsWith('compact_'))
    .map((edit) => compactionPass(isJsonObject(edit) ? edit : {}, asked, questions))
  return [...advisors, ...compactions]
}

/** Whether a server tool asks another model. */
export function isAdvisor({ type }: JsonObject): boolean {
  return stringOf(type).startsWith('advisor_')
}

/**
 * Returns how often the service may use these tools in one request; Infinity if one has no limit. `ofOthers` is the
 * total for tools without a number, such as code execution.
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

/** An advisor reads the whole conversation, and has its own output cap instead of that of the reply. */
function advisorPass(tool: JsonObject, asked: string): ExtraPass {
  const model = stringOf(tool.model) || asked
  const { contextWindow, maxOutputTokens } = sizesOf(model, {}, usualSizes)
  const cap = typeof tool.max_tokens === 'number' && tool.max_tokens > 0 ? tool.max_tokens : Infinity
  return { model, uses: usesOf([tool]), inputTokens: contextWindow, outputTokens: Math.min(cap, maxOutputTokens) }
}

/** A compaction may happen once at first, and again whenever the service continues by itself. */
function compactionPass({ trigger }: JsonObject, asked: PassOptions, questions: number): ExtraPass {
  const { id, contextWindow, maxOutputTokens, maxServerToolUses } = asked
  const triggerTokens = isJsonObject(trigger) ? (trigger.type === 'input_tokens' ? trigger.value : 0) : usualTrigger
  return {
    model: id,
    uses: 1 + maxServerToolUses + questions,
    inputTokens: contextWindow,
    outputTokens: maxOutputTokens,
    fromInputTokens: typeof triggerTokens === 'number' ? triggerTokens : 0,
  }
}
