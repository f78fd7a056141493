import { ConfigurationError } from '../values/errors.ts'
import {
  checkField,
  fieldsOf,
  isEither,
  isFunction,
  isName,
  isNumber,
  isObject,
  isPositive,
  isText,
  isYesOrNo,
  optional,
  throwInvalidOption,
  describeValue,
  type Validator,
} from '../values/validators.ts'
import { isStandardSchema } from './standard-schema.ts'
import { Transcript } from '../conversation/transcript.ts'

export const isPrices: Validator = isObject('an object with cost and worstCase, such as createPrices() returns', {
  cost: isFunction,
  worstCase: isFunction,
  leastPerToken: optional(isFunction),
})

const mustBeModel = 'an object with id, contextWindow, maxOutputTokens and call'
const hasModel = isObject(mustBeModel, {
  id: isText,
  contextWindow: isPositive,
  maxOutputTokens: isPositive,
  defaultOutputTokens: optional(isPositive),
  maxServerToolUses: optional(isNumber),
  webSearch: optional(
    isObject('an object with domains', { domains: isEither('allowed and blocked', 'allowed', 'none') }),
  ),
  maxImageTokens: optional(isNumber),
  prices: optional(isPrices),
  maxToolNameLength: optional(isNumber),
  admit: optional(isFunction),
  call: isFunction,
})
/** A valid model. Common mistakes are the name of a model, a function that creates models, and a model of the AI SDK. */
export const isModel: Validator = (name, value) => {
  if (typeof value === 'string' || typeof value === 'function')
    throwInvalidOption(
      name,
      mustBeModel,
      value,
      'Make it with a function of @halting/models, such as anthropic("claude-…").',
    )
  checkField(name, fieldsOf(value) ?? {}, 'specificationVersion', (_name, version) => {
    if (version !== undefined)
      throw new ConfigurationError(
        `${name} is a model of the AI SDK. Adapt it: fromAiSdk(model), of @halting/models/ai-sdk.`,
      )
  })
  hasModel(name, value)
}

/** The methods of a step engine that the loop calls in every run. */
export const isDriver: Validator = isObject('a driver, such as createMemorySteps()', {
  run: isFunction,
  begin: isFunction,
  scope: isFunction,
  lap: isFunction,
  control: isFunction,
  end: isFunction,
})

export const isContext: Validator = isObject('an object with beforeRequest, drain, compact and blockingLimit', {
  beforeRequest: isFunction,
  drain: isFunction,
  compact: isFunction,
  blockingLimit: isFunction,
})

export const isSignal: Validator = (name, value) => {
  const isOne = typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value
  if (!isOne) throwInvalidOption(name, 'an AbortSignal, such as controller.signal', value)
}

const hasCheck = isObject('an object with check, such as outputSchema(z.object({ … }))', {
  check: isFunction,
  instruction: optional(isText),
})
/** Distinguishes an `OutputSchema` from a zod schema, which has a different method named `check`. */
export const isOutput: Validator = (name, value) => {
  if (isStandardSchema(value)) throwInvalidOption(name, 'built from the schema: outputSchema(schema)', value)
  checkField(name, fieldsOf(value) ?? {}, 'check', (_name, check) => {
    if (check === undefined)
      throwInvalidOption(
        name,
        'built from the schema: outputSchema(z.object({ … })), or jsonSchemaOutput(schema) of @halting/agent/json-schema for a JSON Schema',
        value,
      )
  })
  hasCheck(name, value)
}
export const isPermissions: Validator = isObject('an object with denies and decide', {
  denies: isFunction,
  decide: isFunction,
})
export const isStopHook: Validator = isObject('an object with id and handle', { id: isText, handle: isFunction })
export const isTask: Validator = isObject('an object with name and start', { name: isText, start: isFunction })
export const isSource: Validator = isObject('an object with cancellationSignal', { cancellationSignal: isFunction })
export const isTokens: Validator = isObject('an object with estimate', { estimate: isFunction })
export const isClock: Validator = isObject('an object with now and after', {
  now: isFunction,
  wallTime: optional(isFunction),
  after: isFunction,
})

export const isTranscript: Validator = (name, value) => {
  if (!(value instanceof Transcript))
    throwInvalidOption(name, 'a Transcript', value, 'Create one with Transcript.of(entries).')
}

/** The validators by option name. */
export type OptionChecks = { readonly [option: string]: Validator }

/** Options that only an engine has. The loop and the certificate may receive the options of an engine, and ignore these. */
export const engineOptionChecks: OptionChecks = {
  sessionId: isName,
  transcript: isTranscript,
  runsBefore: isNumber,
  session: isObject('a stored session, such as openJournal returns', {
    transcript: isTranscript,
    log: isObject('a log'),
  }),
  includePartialMessages: isYesOrNo,
  includeHookEvents: isYesOrNo,
  init: isObject('an object'),
  stepsFor: isFunction,
  onEvent: isFunction,
  prepareContent: isFunction,
}

/** Option names in other libraries, with our names. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ['maxsteps', 'maxTurns'],
  ['maxiterations', 'maxTurns'],
  ['guards', 'stopWhen'],
  ['stopconditions', 'stopWhen'],
  ['systemprompt', 'system'],
  ['instructions', 'system'],
  ['abortsignal', 'signal'],
  ['timeoutms', 'maxDurationMs'],
  ['onterminal', 'onResult'],
  ['maxtokens', 'maxTotalTokens for the whole run, or maxOutputTokens for one reply'],
])

/** Validates every option. @throws ConfigurationError for a value of the wrong type, and for an unknown name, so that no limit is silently ignored. */
export function checkOptions(options: unknown, checks: OptionChecks): void {
  const fields = fieldsOf(options)
  if (fields === undefined)
    throw new ConfigurationError(`The options must be an object with a model; received ${describeValue(options)}.`)
  if (fields['model'] === undefined)
    throw new ConfigurationError(
      'The option model is missing. Pass { model }; @halting/models provides models of many services.',
    )
  for (const name in fields) {
    const value = fields[name]
    if (value === undefined) continue
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined
    if (check === undefined) throw new ConfigurationError(`Unknown option ${name}. ${suggestionFor(name, checks)}`)
    check(name, value)
  }
}

function suggestionFor(name: string, checks: OptionChecks): string {
  const small = name.toLowerCase()
  const suggestion =
    otherNames.get(small) ??
    Object.keys(checks).find(
      (knownOption) => knownOption.toLowerCase().startsWith(small) || small.startsWith(knownOption.toLowerCase()),
    )
  return suggestion === undefined ? 'Remove it.' : `Use ${suggestion}.`
}
