import { isJsonObject } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import { type Behavior, parseRules, PermissionRuleError } from '../permissions/rule.ts'
import { type Fields, limitFieldNames } from './fields.ts'
import type { HookGroup, HookSettings } from './hook-settings.ts'
import { type JsonLines, jsonLines } from './json-lines.ts'
import type { SettingsLevel } from './places.ts'
import { fieldTable, hookGroupSchema, hookKeys, knownHookEvents, sandboxKeys } from './schema.ts'

/** The content of a settings file. */
export interface SettingsText {
  readonly level: SettingsLevel
  readonly name: string
  /** The base folder of `/` in rules of this file. */
  readonly projectDirectory: string
  readonly content: JsonObject
  /** The text of the file. */
  readonly json: string
}

/** With the position of every value. */
interface PlacedText extends SettingsText {
  readonly lines: JsonLines
}

interface Problem {
  /** The field, by its name in the table. */
  readonly field: string
  /** File, line, field, and what is expected. */
  readonly text: string
  readonly stops: boolean
}

export interface CheckedFile {
  readonly fields: Fields
  readonly problems: readonly Problem[]
  /** Warnings about unknown keys. */
  readonly warnings: readonly string[]
}

/** Modes of other agents in the person's own file: the program starts anyway. */
const foreignModes: ReadonlySet<unknown> = new Set(['auto', 'delegate'])
/** Keys that are not settings but are meant for editors. */
const forEditors: ReadonlySet<string> = new Set(['$schema'])
const groups: ReadonlySet<string> = new Set(['permissions', 'hooks'])
const permissionPrefix = 'permissions.'
const topFields = Object.keys(fieldTable).filter((name) => !name.startsWith(permissionPrefix))
const permissionFields = Object.keys(fieldTable)
  .filter((name) => name.startsWith(permissionPrefix))
  .map((name) => name.slice(permissionPrefix.length))

const limitNames: readonly string[] = limitFieldNames

/** Finds the known name that was most likely meant. */
export type Nearest = (given: string, known: readonly string[]) => string | undefined

/** Checks the values of a settings file against the schemas of their fields. */
export function checkFile(text: SettingsText, nearest: Nearest = () => undefined): CheckedFile {
  return new FileCheck({ ...text, lines: jsonLines(text.json) }, nearest).result()
}

class FileCheck {
  readonly #file: PlacedText
  readonly #nearest: Nearest
  readonly #problems: Problem[] = []
  readonly #warnings: string[] = []
  readonly #values: Record<string, unknown> = {}
  /** Unknown keys at the top level. */
  readonly #others: string[] = []
  #unknownKeys = 0

  constructor(file: PlacedText, nearest: Nearest) {
    this.#file = file
    this.#nearest = nearest
  }

  result(): CheckedFile {
    const file = this.#file
    for (const { key, line } of file.lines.repeated) {
      const text = `${place(file, line)}: ${displayValue(key)} appears twice in one object. Remove one.`
      this.#add({ field: 'file', stops: true, text })
    }
    if (file.lines.isTooDeep) {
      const problem = { field: 'file', stops: true, text: `${place(file, 1)}: nested too deeply to read.` }
      return { fields: { others: [] }, problems: [problem], warnings: this.#warnings }
    }
    this.#takeTopFields()
    this.#takePermissions()
    reportUnknownInGroups(file.content, this.#reportUnknown)
    const { hooks } = file.content
    const checkedHooks = hooks === undefined ? undefined : checkHooks(file, hooks, this.#add, this.#reportUnknown)
    this.#summarizeUnknown()
    return { fields: this.#fields(checkedHooks), problems: this.#problems, warnings: this.#warnings }
  }

  readonly #add: AddProblem = (problem) => void this.#problems.push(problem)

  /** Collects unknown keys. A key that is probably a misspelled guard stops the program. Of the other keys, the first `maxUnknown` are reported. */
  readonly #reportUnknown: ReportUnknown = (path, known) => {
    const isReported = ++this.#unknownKeys <= maxUnknown
    const key = String(path.at(-1) ?? '')
    const meant = isReported && key.length <= longestName ? this.#nearest(key, known) : undefined
    const problem = misplacedGuard(this.#file, path, meant)
    if (problem !== undefined) this.#add(problem)
    else if (isReported) this.#warnings.push(unknownKey(this.#file, path, meant))
  }

  #summarizeUnknown(): void {
    const left = this.#unknownKeys - maxUnknown
    if (left <= 0) return
    const subject = left === 1 ? '1 more unknown setting is' : `${left} more unknown settings are`
    this.#warnings.push(`${this.#file.name}: ${subject} ignored.`)
  }

  #takeTopFields(): void {
    for (const [key, value] of Object.entries(this.#file.content)) {
      if (groups.has(key) || forEditors.has(key)) continue
      if (topFields.includes(key)) this.#take(key, [key], value)
      else {
        this.#reportUnknown([key], [...topFields, ...groups])
        this.#others.push(key)
      }
    }
  }

  #takePermissions(): void {
    const { permissions } = this.#file.content
    if (permissions === undefined) return
    if (!isJsonObject(permissions)) {
      const expected = 'an object, such as {"deny": ["Read(./.env)"]}'
      this.#add(wrongValue(this.#file, 'permissions', ['permissions'], expected, permissions, true))
      return
    }
    for (const [key, value] of Object.entries(permissions)) {
      if (permissionFields.includes(key)) this.#take(`${permissionPrefix}${key}`, ['permissions', key], value)
      else this.#reportUnknown(['permissions', key], permissionFields)
    }
  }

  #take(name: string, path: readonly string[], value: unknown): void {
    const field = fieldTable[name]
    if (field === undefined) return
    const file = this.#file
    if (name === 'permissions.defaultMode' && file.level === 'user' && foreignModes.has(value)) {
      this.#add({ ...wrongValue(file, name, path, 'a mode of halting', value, false), stops: false })
      return
    }
    const result = field.schema.safeParse(value)
    // In a list of what may run, one wrong value makes the whole list invalid, because the file was evidently not checked.
    if (result.success) this.#values[path.at(-1) ?? name] = result.data
    else this.#add(problemOf(file, name, path, value, result.error.issues[0], field.whenWrong === 'stop'))
  }

  #validRules(behavior: Behavior): readonly string[] | undefined {
    const list = this.#values[behavior]
    if (!Array.isArray(list)) return undefined
    const file = this.#file
    return list.filter((rule: string, index) => {
      const problem = ruleProblem(rule, file)
      if (problem === undefined) return true
      const where = place(file, file.lines.lineOf(['permissions', behavior, index]))
      const text = `${where}: permissions.${behavior}[${index}] is not a valid rule (${displayValue(rule)}): ${problem}.`
      this.#add({ field: `permissions.${behavior}`, text, stops: behavior !== 'allow' })
      return false
    })
  }

  #fields(hooks: HookSettings | undefined): Fields {
    const [allow, deny, ask] = [this.#validRules('allow'), this.#validRules('deny'), this.#validRules('ask')]
    const { allow: _allow, deny: _deny, ask: _ask, env, disableBypassPermissionsMode, ...single } = this.#values
    return {
      // This cast is safe: every value passed the schema of its field.
      ...(single as Omit<Fields, 'others'>),
      ...(allow && { allow }),
      ...(deny && { deny }),
      ...(ask && { ask }),
      ...(isJsonObject(env) && { env: asTexts(env) }),
      ...(disableBypassPermissionsMode !== undefined && {
        disableBypassPermissionsMode: disableBypassPermissionsMode !== false,
      }),
      ...(hooks && { hooks }),
      others: this.#others,
    }
  }
}

type Path = readonly (string | number)[]
type AddProblem = (problem: Problem) => void
type ReportUnknown = (path: Path, known: readonly string[]) => void

/** An unknown key of a hook may be a misspelled matcher or timeout. */
function reportUnknownInHook(path: Path, group: JsonObject, reportUnknown: ReportUnknown): void {
  const reportIn = (object: JsonObject, at: Path, known: readonly string[]): void => {
    for (const key of Object.keys(object)) if (!known.includes(key)) reportUnknown([...at, key], known)
  }
  reportIn(group, path, hookKeys.group)
  const hooks: readonly unknown[] = Array.isArray(group['hooks']) ? group['hooks'] : []
  for (const [index, hook] of hooks.entries()) {
    const type = isJsonObject(hook) ? hook['type'] : undefined
    if (isJsonObject(hook) && (type === 'command' || type === 'http' || type === 'prompt'))
      reportIn(hook, [...path, 'hooks', index], hookKeys[type])
  }
}

/** A misspelled key here would remove a limit from a run, or the sandbox from commands. */
function reportUnknownInGroups({ sandbox, limits }: JsonObject, reportUnknown: ReportUnknown): void {
  for (const key of isJsonObject(limits) ? Object.keys(limits) : [])
    if (!limitNames.includes(key)) reportUnknown(['limits', key], limitNames)
  if (!isJsonObject(sandbox)) return
  for (const [group, known] of Object.entries(sandboxKeys)) {
    const path = group === 'sandbox' ? [group] : ['sandbox', group]
    const settings = group === 'sandbox' ? sandbox : sandbox[group]
    for (const key of Object.keys(isJsonObject(settings) ? settings : {}))
      if (!known.includes(key)) reportUnknown([...path, key], known)
  }
}

function checkHooks(
  file: PlacedText,
  hooks: unknown,
  add: AddProblem,
  reportUnknown: ReportUnknown,
): HookSettings | undefined {
  if (!isJsonObject(hooks)) {
    add(wrongValue(file, 'hooks', ['hooks'], 'an object of lists by event, such as {"PreToolUse": [...]}', hooks, true))
    return undefined
  }
  const checked: [string, readonly HookGroup[]][] = []
  for (const [event, list] of Object.entries(hooks)) {
    if (!knownHookEvents.includes(event)) {
      reportUnknown(['hooks', event], knownHookEvents)
      continue
    }
    if (!Array.isArray(list)) {
      add(wrongValue(file, 'hooks', ['hooks', event], 'a list, such as [{"hooks": [...]}]', list, true))
      continue
    }
    const good: HookGroup[] = []
    for (const [index, group] of list.entries()) {
      if (isJsonObject(group)) reportUnknownInHook(['hooks', event, index], group, reportUnknown)
      const result = hookGroupSchema.safeParse(withoutForeignTypes(file, event, index, group, add))
      if (result.success) {
        // This cast is safe: the schema is that of a group.
        good.push(result.data as HookGroup)
        continue
      }
      const [issue] = result.error.issues
      const inner = (issue?.path ?? []).filter((part) => typeof part !== 'symbol')
      const path = ['hooks', event, index, ...inner]
      add(wrongValue(file, 'hooks', path, issue?.message ?? 'another value', valueAt(group, inner), true))
    }
    checked.push([event, good])
  }
  return checked.length === 0 ? undefined : Object.fromEntries(checked)
}

/** Events whose hooks can prevent an action; without the hook, the action would happen. */
const guardedEvents: ReadonlySet<string> = new Set([
  'PreToolUse',
  'PermissionRequest',
  'PreSkillShellCommand',
  'UserPromptSubmit',
])

/** Any other name is a misspelling. */
const foreignTypes: ReadonlySet<string> = new Set(['agent', 'mcp_tool'])

/** Reports and removes hooks of types that only other programs have. One that may be a guard stops the program. */
function withoutForeignTypes(file: PlacedText, event: string, index: number, group: unknown, add: AddProblem): unknown {
  if (!isJsonObject(group) || !Array.isArray(group['hooks'])) return group
  const hooks = group['hooks'].filter((hook: unknown, at) => {
    const type = isJsonObject(hook) ? hook['type'] : undefined
    if (typeof type !== 'string' || !foreignTypes.has(type)) return true
    const path = ['hooks', event, index, 'hooks', at]
    const text = `${place(file, file.lines.lineOf(path))}: hooks.${event}[${index}].hooks[${at}] has the type ${displayValue(type)}. Supported types: command, http, prompt.`
    add({ field: 'hooks', text, stops: guardedEvents.has(event) })
    return false
  })
  return { ...group, hooks }
}

function asTexts(env: JsonObject): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
}

function ruleProblem(rule: string, { projectDirectory }: SettingsText): string | undefined {
  try {
    parseRules({ deny: [rule] }, projectDirectory)
    return undefined
  } catch (thrown) {
    if (thrown instanceof PermissionRuleError) return thrown.problems[0]?.problem ?? thrown.message
    throw thrown
  }
}

/** The first problem that a schema found in a value. */
function problemOf(
  file: PlacedText,
  field: string,
  path: readonly string[],
  value: unknown,
  issue: SchemaIssue | undefined,
  stops: boolean,
): Problem {
  const inner = (issue?.path ?? []).filter((part) => typeof part !== 'symbol')
  const expected = issue?.message ?? 'another value'
  const at = [...path, ...inner]
  const [stray] = issue?.keys ?? []
  return stray === undefined
    ? wrongValue(file, field, at, expected, valueAt(value, inner), stops)
    : wrongKey(file, field, [...at, stray], expected, stops)
}

interface SchemaIssue {
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** Keys that the object must not contain. */
  readonly keys?: readonly string[]
}

function wrongValue(
  file: PlacedText,
  field: string,
  path: readonly (string | number)[],
  expected: string,
  value: unknown,
  stops: boolean,
): Problem {
  const name = pathText(path)
  const is = mayHoldSecrets(path, value) ? kindOf(value) : displayValue(value)
  const text = `${place(file, file.lines.lineOf(path))}: ${name} must be ${expected} (${is === 'missing' ? 'it is missing' : `received ${is}`}).`
  return { field, text, stops }
}

/** An unexpected key. The other keys of the object are not shown. */
function wrongKey(
  file: PlacedText,
  field: string,
  path: readonly (string | number)[],
  expected: string,
  stops: boolean,
): Problem {
  const name = pathText(path.slice(0, -1))
  const text = `${place(file, file.lines.lineOf(path))}: ${name} must be ${expected}. Remove ${displayValue(path.at(-1))}.`
  return { field, text, stops }
}

function pathText(path: readonly (string | number)[]): string {
  return path.map((part, at) => (typeof part === 'number' ? `[${part}]` : at === 0 ? part : `.${part}`)).join('')
}

/** Values of variables, options of provider packages, and URLs with passwords. */
function mayHoldSecrets([group, ...inner]: readonly (string | number)[], value: unknown): boolean {
  if (group === 'env' || group === 'sessionStore') return true
  const isOption = inner.includes('options') || inner.includes('providerOptions')
  return group === 'aiSdk' && value !== undefined && (isOption || typeof value === 'object')
}

/** File and line, in the form that editors open. */
function place({ name, level }: PlacedText, line: number): string {
  return level === 'flag' && name.startsWith('--') ? name : `${name}:${line}`
}

const maxUnknown = 10
/** A longer name is not a misspelling, and comparing it costs time. */
const longestName = 60
const guards: ReadonlySet<string> = new Set(['deny', 'ask', 'disableBypassPermissionsMode'])
const guardsOfSandbox: ReadonlySet<string> = new Set(
  'enabled network filesystem deniedDomains denyRead denyWrite allowManagedDomainsOnly allowManagedReadPathsOnly'.split(
    ' ',
  ),
)
const guardingGroups: ReadonlySet<string> = new Set(['permissions', 'sandbox', 'hooks', 'limits', 'budgets'])

/** A misplaced or misspelled setting that forbids or restricts something: if it were ignored, people would believe that it applies. */
function misplacedGuard(file: PlacedText, path: Path, near: string | undefined): Problem | undefined {
  const [group, inner] = path
  const key = String(path.at(-1) ?? '')
  if (group === 'hooks' && inner !== undefined) return undefined
  const name = nameOf(path)
  const problem = (would: string): Problem => ({
    field: group === 'limits' || limitNames.includes(key) ? 'limits' : 'permissions',
    stops: true,
    text: `${place(file, file.lines.lineOf(path))}: unknown setting ${name}. ${would}.`,
  })
  const meant = inner === undefined && key.startsWith(permissionPrefix) ? key.slice(permissionPrefix.length) : key
  if (inner === undefined && guards.has(meant))
    return problem(`Move ${meant} into permissions: {"permissions": {"${meant}": …}}`)
  const home = group === 'sandbox' && guardsOfSandbox.has(key) ? groupOfSandbox(key) : undefined
  if (home !== undefined) return problem(`Did you mean sandbox.${home}.${key}? Fix or remove it`)
  if (inner === undefined && limitNames.includes(key))
    return problem(`Move ${key} into limits: {"limits": {"${key}": …}}`)
  if (group === 'limits' && inner !== undefined)
    return problem(
      near === undefined ? `Limits: ${limitNames.join(', ')}` : `Did you mean limits.${near}? Fix or remove it`,
    )
  const guarding = inner === undefined ? guardingGroups : group === 'sandbox' ? guardsOfSandbox : guards
  const isGuard = guarding.has(near ?? '')
  return isGuard ? problem(`Did you mean ${near}? Fix or remove it`) : undefined
}

function groupOfSandbox(key: string): string | undefined {
  return Object.entries(sandboxKeys).find(([group, names]) => group !== 'sandbox' && names.includes(key))?.[0]
}

/** `hooks.Stop[0].hooks`, safe for display. */
function nameOf(path: Path): string {
  const part = (one: string | number): string =>
    typeof one === 'number' ? `[${one}]` : `.${displayValue(one).slice(1, -1)}`
  return path.map(part).join('').slice(1)
}

function unknownKey(file: PlacedText, path: Path, meant: string | undefined): string {
  return `${place(file, file.lines.lineOf(path))}: unknown setting ${nameOf(path)}, ignored.${meant === undefined ? '' : ` Did you mean ${meant}?`}`
}

const longest = 60

/** A value in a message: short, on one line, and without control characters. */
function displayValue(value: unknown): string {
  // `JSON.parse` reads a number that is too large as infinity.
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  const json = (JSON.stringify(value) ?? 'missing').replace(
    /[\u007F-\u009F\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF]/g,
    '?',
  )
  return json.length > longest ? `${json.slice(0, longest)}…` : json
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (at, part) =>
      typeof at === 'object' && at !== null ? Object.entries(at).find(([key]) => key === String(part))?.[1] : undefined,
    value,
  )
}
