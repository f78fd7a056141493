import type { Model } from './model.ts'

/** The properties of a model without its request methods. */
export type ModelFacts = Omit<Model, 'call' | 'admit'>

/** Lists all properties: a missing one is a compile error. */
const factNames: Readonly<Record<keyof ModelFacts, true>> = {
  id: true,
  contextWindow: true,
  maxOutputTokens: true,
  defaultOutputTokens: true,
  maxServerToolUses: true,
  webSearch: true,
  extraPasses: true,
  maxImageTokens: true,
  prices: true,
  maxToolNameLength: true,
  lookUpUsage: true,
}

// The keys of a record are those of its type.
const names = Object.keys(factNames) as (keyof ModelFacts)[]

/** The properties of a model, for another model that wraps it. A class may define them as getters, which a spread would lose. */
export function modelFacts(model: Model): ModelFacts {
  const entries = names.flatMap((name) => (model[name] === undefined ? [] : [[name, factOf(model, name)] as const]))
  // Each property has the model's own value, and the required ones exist.
  return Object.fromEntries(entries) as unknown as ModelFacts
}

/** A method stays bound to its model. */
function factOf(model: Model, name: keyof ModelFacts): unknown {
  const fact = model[name]
  return typeof fact === 'function' ? fact.bind(model) : fact
}
