import { plainTextOf } from '../model/content.ts'
import { ConfigurationError } from '../values/errors.ts'
import {
  fieldsOf,
  isFunction,
  isListOf,
  isName,
  isObject,
  isPositive,
  isYesOrNo,
  listOf,
  optional,
  throwInvalidOption,
  describeValue,
  type Validator,
} from '../values/validators.ts'
import type { Goal, GoalFiles } from './goal.ts'
import type { GoalSpec } from '../verification/goal-record.ts'
import { maxGoalTriesAllowed } from '../limits/transition-rules.ts'

/** The goals of a run, and how it handles them. */
export interface RunGoals {
  /** Goals of the options. The progress of the run determines which of them apply. */
  readonly configured: readonly Goal[]
  /** Recreates a goal from its recorded name; undefined for an unknown goal. */
  readonly named: (spec: GoalSpec) => Goal | undefined
  /** Monitors the files that the checks depend on; null for no monitoring. */
  readonly files: GoalFiles | null
  /** Ends immediately, without a request, if the goals are met at the start. */
  readonly skipIfMet: boolean
  /** Checks after each turn with changes, and ends immediately if the goals are met. */
  readonly stopWhenMet: boolean
  /** Whether an answer without any tool call since the last message or try is sent back, or left to the person. */
  readonly withoutWork: 'send_back' | 'end'
}

/** Default number of times that an answer is sent back. */
export const defaultGoalTries = 10
/** Default time limit of one check. */
export const defaultCheckMs = 600_000
/** Maximum number of required passes in a row. */
export const maxStablePasses = 100

// Marked as pure for bundlers: a page that needs only the constants of this file omits its checks.
const hasGoalFields = /* @__PURE__ */ isObject('an object with name and check, such as commandGoal(command)', {
  name: isName,
  check: isFunction,
  judged: /* @__PURE__ */ optional(isYesOrNo),
  timeoutMs: /* @__PURE__ */ optional(isPositive),
  stable: /* @__PURE__ */ optional(isPositive),
})

const isGoal: Validator = (name, value) => {
  hasGoalFields(name, value)
  const stable = fieldsOf(value)?.['stable']
  if (typeof stable === 'number' && !(Number.isInteger(stable) && stable <= maxStablePasses))
    throwInvalidOption(`${name}.stable`, `a whole number from 1 to ${maxStablePasses}`, stable)
}

const isListOfGoals = /* @__PURE__ */ isListOf(isGoal)

/** Validates the goals of the options. Names must be unique, because the record identifies goals by name. */
export const isGoals: Validator = (name, value) => {
  if (typeof value === 'string')
    throwInvalidOption(name, 'a list of goals, such as [commandGoal(command)] with the one of @halting/agent', value)
  const all: readonly unknown[] = Array.isArray(value) ? value : []
  for (const [index, each] of all.entries())
    if (typeof each === 'string')
      throwInvalidOption(
        `${name}[${index}]`,
        'a goal, such as commandGoal(command) with the one of @halting/agent',
        each,
      )
  isListOfGoals(name, value)
  // Validated above.
  checkUniqueNames((value as readonly Goal[]).map(specOf))
}

export const isGoalFiles: Validator = /* @__PURE__ */ isObject('an object with begin, such as goalFiles gives', {
  begin: isFunction,
})

/** @throws ConfigurationError for an invalid or infinite number of tries. */
export function checkGoalTries(tries: number): void {
  if (Number.isInteger(tries) && tries >= 1 && tries <= maxGoalTriesAllowed) return
  throw new ConfigurationError(
    `maxGoalTries must be a whole number from 1 to ${maxGoalTriesAllowed}, but it is ${plainTextOf(tries)}. Unlimited tries are no bound.`,
  )
}

export function specOf({ name, judged }: Pick<Goal, 'name' | 'judged'>): GoalSpec {
  return judged === true ? { name, judged } : { name }
}

function nameOf({ name, judged }: GoalSpec): string {
  return judged === true ? `judged: ${name}` : name
}

/** @throws ConfigurationError for two goals with the same name. */
function checkUniqueNames(specs: readonly GoalSpec[]): void {
  const names = specs.map(nameOf)
  const duplicate = names.find((each, index) => names.indexOf(each) !== index)
  if (duplicate !== undefined) throw new ConfigurationError(`Two goals have the name ${duplicate}. Give each once.`)
}

/** @throws ConfigurationError for an invalid goal name. A name may come from a host, a person or a record. */
export function checkedSpecs(value: unknown): readonly GoalSpec[] {
  if (!Array.isArray(value)) throwInvalidOption('until', 'a list of goals by their names', value)
  const specs = (value as readonly unknown[]).map((each): GoalSpec => {
    const { name, judged, set } = fieldsOf(each) ?? {}
    if (typeof name !== 'string' || name.trim() === '')
      throwInvalidOption('The name of a goal', 'a text', describeValue(each))
    return { ...specOf({ name, judged: judged === true }), ...(typeof set === 'number' && { set }) }
  })
  checkUniqueNames(specs)
  return specs
}

/** The goal with this name, from the options or recreated; undefined for one that this program does not know. */
export function goalOf({ configured: given, named }: RunGoals, spec: GoalSpec): Goal | undefined {
  return (
    given.find((goal) => goal.name === spec.name && (goal.judged === true) === (spec.judged === true)) ?? named(spec)
  )
}

/** @throws ConfigurationError if a recorded goal is unknown to this program, which then could not check it. */
export function checkKnown(goals: RunGoals, specs: readonly GoalSpec[]): void {
  const unknown = specs.filter((spec) => goalOf(goals, spec) === undefined).map(nameOf)
  if (unknown.length === 0) return
  throw new ConfigurationError(
    `The goal ${listOf(unknown)} cannot be checked by this program. Pass it in the option until, or pass other goals.`,
  )
}
