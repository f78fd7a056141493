import { digestOf, hashText } from '../../hash.ts'
import type { Model } from '../../model/model.ts'
import type { RunContext } from '../../run-context.ts'
import type { PromptCount } from '../../state.ts'
import type { Run } from '../run.ts'

/** The provider's last count, where it holds for the next request to this model; undefined where all of it has to be counted anew. */
export function promptCountFor(
  { spent, context, transcript }: Pick<Run, 'spent' | 'context' | 'transcript'>,
  model: Model,
): PromptCount | undefined {
  const { counted } = spent
  if (counted.tokens === 0 || counted.length > transcript.messages().length) return undefined
  return counted.of === promptDigest(context, model) ? counted : undefined
}

/** The digest of the parts of a context that are the same for all models, and of the model that was asked last. */
interface PromptParts {
  readonly fixed: number
  model: string
  digest: string
}

const promptParts = new WeakMap<RunContext, PromptParts>()

/**
 * What a count is of, beside the messages: system prompt, tools, model and thinking (spec R-BUD-13). They change over a resume, with a fallback, and
 * by a person. A service counts old thoughts only while the model may think.
 */
export function promptDigest(context: RunContext, model: Model): string {
  let parts = promptParts.get(context)
  if (parts === undefined) {
    const fixed = fixedDigest(context)
    parts = { fixed, model: model.id, digest: digestOf(model.id, fixed) }
    promptParts.set(context, parts)
  }
  if (parts.model !== model.id) {
    parts.model = model.id
    parts.digest = digestOf(model.id, parts.fixed)
  }
  return parts.digest
}

function fixedDigest({ toolDefinitions, settings: { system, thinking } }: RunContext): number {
  const told = hashText(JSON.stringify(toolDefinitions), hashText(system))
  return thinking === null ? told : hashText(JSON.stringify(thinking), told)
}
