import type { Json } from '@halting/core'

/** Reasoning effort, from lowest to highest. Few models support all values. */
export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

export const reasoningEfforts: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/**
 * Returns the supported effort that is nearest to the wanted one; undefined if none is left, so that the service's
 * default applies. For a low effort it prefers the next higher value, otherwise the next lower.
 */
export function nearestSupportedEffort(
  wanted: ReasoningEffort,
  refused: ReadonlySet<string>,
): ReasoningEffort | undefined {
  const place = reasoningEfforts.indexOf(wanted)
  const candidates =
    wanted === 'none' || wanted === 'minimal'
      ? reasoningEfforts.slice(place)
      : reasoningEfforts.slice(0, place + 1).toReversed()
  return candidates.find((effort) => !refused.has(effort))
}

/** Returns the supported value for a field. Values that only the service knows are unchanged. */
export function supportedEffortValue(wanted: Json | undefined, refused: ReadonlySet<string>): Json | undefined {
  const known = reasoningEfforts.find((one) => one === wanted)
  return known === undefined ? wanted : nearestSupportedEffort(known, refused)
}

/**
 * Whether a model supports temperature and similar settings: OpenAI's reasoning models do not, unless reasoning is off.
 */
export function supportsSampling(model: string, effort: Json | undefined): boolean {
  return reasoningSupport(model) !== 'yes' || effort === 'none' || /(^|\/)gpt-oss/.test(model)
}

/**
 * Whether a model reasons, by its name: `unknown` for models that are not OpenAI's. A service prefix with a slash is
 * ignored.
 */
export function reasoningSupport(model: string): 'yes' | 'no' | 'unknown' {
  const name = model.slice(model.lastIndexOf('/') + 1)
  if (/^(chatgpt-|gpt-(3|4)|gpt-5(\.\d+)?-chat)/.test(name)) return 'no'
  return /^(o\d+(-|$)|gpt-([5-9]|\d\d)|gpt-oss|codex-)/.test(name) ? 'yes' : 'unknown'
}

/** Whether OpenAI serves a model only through the Responses API, by its name. */
export function isResponsesOnlyModel(model: string): boolean {
  return (
    /^(gpt-\d|o\d)[\w.]*(-[\w.]+)*-(pro|codex|deep-research)(-|$)/.test(model) || /^(codex-|computer-use-)/.test(model)
  )
}
