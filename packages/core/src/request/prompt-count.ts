import { digestOf, hashText } from '../values/hash.ts'
import type { Model } from '../model/model.ts'
import type { RunContext } from '../run/run-context.ts'
import type { PromptCount } from '../state/state.ts'
import type { Run } from '../run/run.ts'
import { toolChoiceNow } from './current-model.ts'

/** The provider's last count if it applies to the next request to this model; undefined if the whole prompt must be counted again. */
export function promptCountFor(
  { spent, context, transcript }: Pick<Run, 'spent' | 'context' | 'transcript'>,
  model: Model,
): PromptCount | undefined {
  const { counted } = spent
  if (counted.tokens === 0 || counted.length > transcript.messages().length) return undefined
  return counted.of === promptDigest({ context, spent }, model) ? counted : undefined
}

// Spec R-BUD-13b.
/**
 * The count after a new reply. A conversation that only grew cannot have fewer tokens than before: if a service reports
 * fewer, the higher count bounds the bill. If results were replaced with notes since the last count, the conversation
 * may really have fewer.
 */
export function nextCount(before: PromptCount, { tokens, length, of }: PromptCount): PromptCount {
  const counted = { tokens, length, of, prompt: tokens }
  const hasOnlyGrown = before.of === of && before.length <= length && before.freed === undefined
  if (!hasOnlyGrown || before.prompt === undefined) return counted
  const highest = before.highest ?? { prompt: before.prompt, tokens: before.tokens, length: before.length }
  return tokens < highest.prompt ? { ...counted, highest } : counted
}

/** The bound of a request from a count plus `since`, the maximum tokens of the messages from an index on. */
export function boundByCount(
  { tokens, length, added = 0, highest }: PromptCount,
  since: (from: number) => number,
): number {
  const last = tokens + added + since(length)
  return highest === undefined ? last : Math.max(last, highest.tokens + added + since(highest.length))
}

/** A digest of the parts of a context that do not depend on the model, and the digest for the last model. */
interface PromptParts {
  readonly fixed: number
  model: string
  digest: string
}

const partsCache = new WeakMap<RunContext, PromptParts>()

// Spec R-BUD-13.
/**
 * Identifies what a count applies to in addition to the messages: system prompt, tools, model and thinking. These change
 * on a resume, with a fallback, and when a person changes settings. A service counts old thinking blocks only while
 * thinking is enabled.
 */
export function promptDigest({ context, spent }: Pick<Run, 'context' | 'spent'>, model: Model): string {
  let parts = partsCache.get(context)
  if (parts === undefined) {
    const fixed = fixedDigest(context)
    parts = { fixed, model: model.id, digest: digestOf(model.id, fixed) }
    partsCache.set(context, parts)
  }
  if (parts.model !== model.id) {
    parts.model = model.id
    parts.digest = digestOf(model.id, parts.fixed)
  }
  const choice = toolChoiceNow({ context, spent })
  // A service adds instructions for the model if a call is required.
  if (choice === undefined || choice === 'auto' || choice === 'none') return parts.digest
  return digestOf(model.id, hashText(JSON.stringify(choice), parts.fixed))
}

function fixedDigest({ toolDefinitions, settings: { system, thinking } }: RunContext): number {
  const digest = hashText(JSON.stringify(toolDefinitions), hashText(system))
  return thinking === null ? digest : hashText(JSON.stringify(thinking), digest)
}
