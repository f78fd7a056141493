import type { Json } from '@halting/core'

/** How hard a model may think, from least to most. Few models take all of these. */
export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

export const reasoningEfforts: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/**
 * The effort nearest to what is wanted that the service did not refuse; undefined where none is left, and then the
 * service's own is taken. Where little is wanted it is the next higher, else the next lower.
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

/** The same for what stands in a field: services have values of their own, which are sent as they are. */
export function supportedEffortValue(wanted: Json | undefined, refused: ReadonlySet<string>): Json | undefined {
  const known = reasoningEfforts.find((one) => one === wanted)
  return known === undefined ? wanted : nearestSupportedEffort(known, refused)
}

/** Whether a model takes a temperature and the like: those of OpenAI that think do not, except where they are to think nothing. */
export function supportsSampling(model: string, effort: Json | undefined): boolean {
  return reasoningSupport(model) !== 'yes' || effort === 'none' || /(^|\/)gpt-oss/.test(model)
}

/**
 * Whether a model thinks before it answers, by its name: `unknown` for one that is not OpenAI's. Each may have a service
 * before it, with a slash.
 */
export function reasoningSupport(model: string): 'yes' | 'no' | 'unknown' {
  const name = model.slice(model.lastIndexOf('/') + 1)
  if (/^(chatgpt-|gpt-(3|4)|gpt-5(\.\d+)?-chat)/.test(name)) return 'no'
  return /^(o\d+(-|$)|gpt-([5-9]|\d\d)|gpt-oss|codex-)/.test(name) ? 'yes' : 'unknown'
}

/** Models of OpenAI that chat completions do not have, by their names. */
export function isResponsesOnlyModel(model: string): boolean {
  return (
    /^(gpt-\d|o\d)[\w.]*(-[\w.]+)*-(pro|codex|deep-research)(-|$)/.test(model) || /^(codex-|computer-use-)/.test(model)
  )
}
