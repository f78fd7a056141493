import type { Model } from './model.ts'

/** What a model says of itself: everything but the requests that it makes. */
export type ModelFacts = Omit<Model, 'call' | 'admit'>

/** All of them: a fact without its row does not compile. */
const rows: Readonly<Record<keyof ModelFacts, true>> = {
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

// True: keys of a record are those of its type.
const names = Object.keys(rows) as (keyof ModelFacts)[]

/**
 * The facts of a model, for another model that is made of it: whoever wraps one says all that it says. A class may have them as
 * getters, which a spread of the model would lose.
 */
export function modelFacts(model: Model): ModelFacts {
  const said = names.flatMap((name) => (model[name] === undefined ? [] : [[name, factOf(model, name)] as const]))
  // True: each has the value that the model has for it, and those that a model must have are there.
  return Object.fromEntries(said) as unknown as ModelFacts
}

/** A method stays that of its model. */
function factOf(model: Model, name: keyof ModelFacts): unknown {
  const fact = model[name]
  return typeof fact === 'function' ? fact.bind(model) : fact
}
