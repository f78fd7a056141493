import { digestOf, hashText } from '../../hash.ts'
import type { Model } from '../../model/model.ts'
import type { RunContext } from '../../run-context.ts'
import type { PromptCount } from '../../state.ts'
import type { Run } from '../run.ts'

/** The provider's last count, where it holds for the next request to this model; undefined where all of it has to be counted anew. */
export function promptCountFor({ spent, context, transcript }: Run, model: Model): PromptCount | undefined {
  const { counted } = spent
  if (counted.tokens === 0 || counted.length > transcript.messages().length) return undefined
  return counted.of === promptDigest(context, model) ? counted : undefined
}

const fixedParts = new WeakMap<RunContext, number>()

/** What a count is of, beside the messages: system prompt, tools and model (spec R-BUD-13). They change over a resume, and with a fallback. */
export function promptDigest(context: RunContext, model: Model): string {
  let fixed = fixedParts.get(context)
  if (fixed === undefined) {
    fixed = hashText(JSON.stringify(context.toolDefinitions), hashText(context.settings.system))
    fixedParts.set(context, fixed)
  }
  return digestOf(model.id, fixed)
}
