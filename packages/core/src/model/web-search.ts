import type { Model, WebSearchUse } from './model.ts'
import { modelFacts } from './model-facts.ts'

/** Maximum searches of one request: each is reserved with its fee and all the input that it reads again. */
const maxWebSearches = 100

/** A copy of a web search option without unknown fields. @throws TypeError that says what is valid. */
export function webSearchOf(value: WebSearchUse): WebSearchUse {
  const { maxUses, allowedDomains, blockedDomains } = value
  if (!Number.isInteger(maxUses) || maxUses < 1 || maxUses > maxWebSearches)
    throw new TypeError(`maxUses of webSearch must be a whole number from 1 to ${maxWebSearches}.`)
  if (allowedDomains !== undefined && blockedDomains !== undefined)
    throw new TypeError('webSearch takes either allowedDomains or blockedDomains, not both.')
  return {
    maxUses,
    ...(allowedDomains !== undefined && { allowedDomains: domainsOf('allowedDomains', allowedDomains) }),
    ...(blockedDomains !== undefined && { blockedDomains: domainsOf('blockedDomains', blockedDomains) }),
  }
}

function domainsOf(field: string, value: readonly string[]): readonly string[] {
  const isList = Array.isArray(value) && value.every((each) => typeof each === 'string' && each !== '')
  if (!isList || value.length === 0)
    throw new TypeError(`${field} of webSearch must be a list of domains that is not empty.`)
  return [...value]
}

/** Why a model cannot make such a search; undefined if it can. */
export function problemOfWebSearch({ id, webSearch }: Model, use: WebSearchUse): string | undefined {
  if (webSearch === undefined) return `${id} cannot search the web.`
  const { domains } = webSearch
  const value = use.allowedDomains ?? use.blockedDomains
  if (value === undefined || domains === 'allowed and blocked') return undefined
  if (domains === 'allowed' && use.blockedDomains === undefined) return undefined
  const list = use.blockedDomains === undefined ? 'a list of allowed domains' : 'a list of blocked domains'
  return `The web search of ${id} cannot keep to ${list}.`
}

/**
 * The model with the bounds of a request that searches the web: each search is one more use of the service's own tools,
 * and a pass triggered by a long request may be made again after each. For bounds only.
 */
export function withWebSearches(model: Model, use: WebSearchUse | undefined): Model {
  if (use === undefined) return model
  const { maxServerToolUses = 0, extraPasses } = model
  const { maxUses } = use
  return {
    ...modelFacts(model),
    maxServerToolUses: maxServerToolUses + maxUses,
    ...(extraPasses !== undefined && {
      extraPasses: extraPasses.map((pass) =>
        pass.fromInputTokens === undefined ? pass : { ...pass, uses: pass.uses + maxUses },
      ),
    }),
    call: (request, options) => model.call(request, options),
  }
}
