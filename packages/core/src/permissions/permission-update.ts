import { fieldsOf } from '../values/validators.ts'

/** Where a permission change is stored: in the session, or in a settings file. */
export type PermissionDestination = 'session' | 'localSettings' | 'userSettings' | 'projectSettings'

/** A permission change from an answer to a permission request (same shape as in Claude Code). JSON. */
export type PermissionUpdate =
  | {
      /** The operation on the rules. */
      readonly type: 'addRules' | 'replaceRules' | 'removeRules'
      /** The rules. */
      readonly rules: readonly {
        /** Name of the tool. */
        readonly toolName: string
        /** The text in parentheses of the rule; absent for all calls of the tool. */
        readonly ruleContent?: string
      }[]
      /** The effect of the rules. */
      readonly behavior: 'allow' | 'deny' | 'ask'
      /** Where the change is stored. */
      readonly destination: PermissionDestination
    }
  | {
      readonly type: 'setMode'
      /** Name of the mode. */
      readonly mode: string
      /** Where the change is stored. */
      readonly destination: PermissionDestination
    }
  | {
      /** The operation on the directories. */
      readonly type: 'addDirectories' | 'removeDirectories'
      /** Paths of the directories. */
      readonly directories: readonly string[]
      /** Where the change is stored. */
      readonly destination: PermissionDestination
    }

/** Copies permission changes without unknown fields. Returns a description of the problem if they are invalid. */
export function permissionUpdatesOf(candidate: unknown): readonly PermissionUpdate[] | string {
  if (!Array.isArray(candidate)) return 'a list is needed'
  const entries = (candidate as readonly unknown[]).map(updateOf)
  return entries.find((update) => typeof update === 'string') ?? entries.filter((update) => typeof update !== 'string')
}

function updateOf(candidate: unknown, index: number): PermissionUpdate | string {
  const { type, rules, behavior, mode, directories, destination } = fieldsOf(candidate) ?? {}
  const problem = (what: string): string => `[${index}]${what}`
  if (!isOneOf(destination, destinations)) return problem(`.destination is one of ${destinations.join(', ')}`)
  switch (type) {
    case 'addRules':
    case 'replaceRules':
    case 'removeRules': {
      if (!isOneOf(behavior, behaviors)) return problem(`.behavior is one of ${behaviors.join(', ')}`)
      if (!Array.isArray(rules)) return problem('.rules takes a list of { toolName, ruleContent }')
      const entries = (rules as readonly unknown[]).map(ruleOf)
      const validRules = entries.filter((rule) => rule !== undefined)
      if (validRules.length < entries.length) return problem('.rules takes a list of { toolName, ruleContent }')
      return { type, rules: validRules, behavior, destination }
    }
    case 'setMode':
      return typeof mode === 'string' ? { type, mode, destination } : problem('.mode takes the name of a mode')
    case 'addDirectories':
    case 'removeDirectories':
      return isTexts(directories)
        ? { type, directories: [...directories], destination }
        : problem('.directories takes a list of paths')
    default:
      return problem('.type is one of addRules, replaceRules, removeRules, setMode, addDirectories, removeDirectories')
  }
}

const destinations = ['session', 'localSettings', 'userSettings', 'projectSettings'] as const
const behaviors = ['allow', 'deny', 'ask'] as const

function isOneOf<T extends string>(value: unknown, allowed: readonly T[]): value is T {
  return allowed.some((one) => one === value)
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

function ruleOf(candidate: unknown): { readonly toolName: string; readonly ruleContent?: string } | undefined {
  const { toolName, ruleContent } = fieldsOf(candidate) ?? {}
  if (typeof toolName !== 'string' || toolName === '') return undefined
  if (ruleContent === undefined || ruleContent === null) return { toolName }
  return typeof ruleContent === 'string' ? { toolName, ruleContent } : undefined
}

/** Whether two changes are equal. Both are JSON with the same shape and key order. */
export function isSameUpdate(left: PermissionUpdate, right: PermissionUpdate): boolean {
  return JSON.stringify(left) === JSON.stringify(right)
}
