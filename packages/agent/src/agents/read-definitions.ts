import { isAiSdkName } from '@halting/policy/settings'
import type { Dirent } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { headOf, isJsonObject, messageOf } from '@halting/core/adapters'
import { boundedText, bothEnds, isInside, statOf } from '@halting/policy/files'
import { type FrontMatter, listField, parseFrontMatter, textField } from '../instructions/frontmatter.ts'
import type { ReadingRules } from '../instructions/instruction-files.ts'
import { briefingOffer } from '../instructions/briefing-trust.ts'
import {
  type BriefingPlaces,
  foldersOf,
  componentName,
  withPluginRoot,
  type PromptPlace,
} from '../instructions/places.ts'
import { realPath } from '@halting/journal/files'
import { PermissionRuleError, parseRules, type Offer } from '@halting/policy'
import { isFieldName, checkFields } from './agent-fields.ts'
import { type UncalledHooks, uncalledHooks } from './agent-hooks.ts'
import { limitNames } from './agent-limits.ts'
import { definitionOf } from './define-agent.ts'
import { type AgentDefinition, generalAgent } from './definition.ts'

/** Agents read from files, with warnings. */
export interface AgentDefinitions {
  /** The effective definitions, one per name. */
  readonly all: readonly AgentDefinition[]
  /** Notes for the user: broken files and ignored fields. */
  readonly notes: readonly string[]
}

export type AgentReading = BriefingPlaces &
  Pick<ReadingRules, 'mayRead' | 'trust'> & {
    /** Agents of `--agents`, which precede those of files. */
    readonly flagAgents?: readonly AgentDefinition[]
  }

const maxBytes = 64 * 1024
const maxEntries = 1_000
const deepest = 6

// Spec R-AGENT-4.
/**
 * The agents of all folders. Precedence: given agents, the project, the user, built-in agents, other programs,
 * plugins. A project that is not trusted cannot replace agents of the user or built-in ones.
 */
export async function readAgentDefinitions(options: AgentReading): Promise<AgentDefinitions> {
  const { flagAgents = [], trust } = options
  const notes: string[] = []
  const found = new Map(flagAgents.map((definition) => [definition.name, definition]))
  const read: AgentDefinition[] = []
  for (const place of foldersOf('agents', options)) {
    for (const path of await filesIn(place.path, notes)) {
      const definition = await readOne(path, place, options, notes)
      if (definition !== undefined) read.push(definition)
    }
  }
  const own = new Set([generalAgent.name, ...read.filter(({ level }) => level === 'user').map(({ name }) => name)])
  for (const definition of read) {
    const { name, level, path = '' } = definition
    if (found.has(name)) continue
    if (level === 'project' && own.has(name) && !(await trust.lets(nameOffer(definition)))) {
      notes.push(`${path} does not count: its name is that of an agent of your own, and ${untrusted}`)
      continue
    }
    found.set(name, level === 'project' ? await asTrusted(definition, trust, notes) : definition)
  }
  return { all: [...found.values()], notes }
}

const untrusted = 'the folder was not trusted with it. halting trust shows it and has it count.'

/** A project definition's model costs money, and its goal runs commands: both require trust. */
async function asTrusted(
  definition: AgentDefinition,
  trust: AgentReading['trust'],
  notes: string[],
): Promise<AgentDefinition> {
  const { model, until, ...others } = definition
  const isModelLet = model === undefined || (await trust.lets(modelOffer(definition)))
  const isUntilLet = until === undefined || (await trust.lets(untilOffer(definition)))
  if (!isModelLet) notes.push(`model: ${model} in ${definition.path} does not count: ${untrusted}`)
  if (!isUntilLet) notes.push(`until: ${until.join(', ')} in ${definition.path} does not count: ${untrusted}`)
  return {
    ...others,
    ...(model !== undefined && isModelLet && { model }),
    ...(until !== undefined && isUntilLet && { until }),
  }
}

/** Trust applies to exactly this definition; a later version of the file requires a new decision. */
function nameOffer(definition: AgentDefinition): Offer {
  const { name, path = '' } = definition
  return briefingOffer('agents', `in place of your agent ${name}: ${path}`, JSON.stringify(definition))
}

function modelOffer({ model = '', path = '' }: AgentDefinition): Offer {
  return { ...briefingOffer('agents', `model: ${model} in ${path}`), needsNaming: isAiSdkName(model) }
}

function untilOffer({ until = [], path = '' }: AgentDefinition): Offer {
  return briefingOffer('agents', `until: ${until.join(', ')} in ${path}`, ...until)
}

/** The definition files of a folder, bounded in number. A plugin may name a single file. */
async function filesIn(folder: string, notes: string[]): Promise<readonly string[]> {
  if (folder.endsWith('.md') && statOf(folder)?.isFile() === true) return [folder]
  const files: string[] = []
  let entries = 0
  const look = async (at: string, depth: number): Promise<void> => {
    for (const entry of await entriesOf(at, maxEntries + 1 - entries)) {
      if (++entries > maxEntries) return
      const path = join(at, entry.name)
      if (entry.isDirectory() && depth < deepest) await look(path, depth + 1)
      if (!entry.isDirectory() && entry.name.endsWith('.md')) files.push(path)
    }
  }
  await look(folder, 1)
  if (entries > maxEntries)
    notes.push(`${folder} has more than ${maxEntries} entries. Some of its agents are not loaded.`)
  return files
}

async function entriesOf(folder: string, most: number): Promise<readonly Dirent[]> {
  const entries: Dirent[] = []
  try {
    for await (const entry of await opendir(folder)) {
      entries.push(entry)
      if (entries.length >= most) break
    }
  } catch {
    return entries
  }
  return entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

async function readOne(
  path: string,
  place: PromptPlace,
  { cwd, mayRead }: AgentReading,
  notes: string[],
): Promise<AgentDefinition | undefined> {
  const refuse = (why: string): undefined => void notes.push(`${path} is not a valid agent: ${why}.`)
  if (bothEnds(path).some((end) => !mayRead(end))) return refuse('a permission rule denies reading it')
  if (place.root !== undefined && !isInside(realPath(path), realPath(place.root)))
    return refuse(`it is a symbolic link that leaves the ${place.level}`)
  const read = await boundedText(path, maxBytes)
  if (read.kind === 'absent') return undefined
  if (read.kind === 'unfit') return refuse(`it ${read.why}`)
  if (read.isCut) return refuse(`it is longer than ${maxBytes} bytes`)
  const { fields, body, problems } = await parseFrontMatter(withPluginRoot(read.text, place), isFieldName)
  if (problems[0] !== undefined) return refuse(problems[0])
  if (fields.size === 0) return refuse('it has no header above its text (---, name and description, ---)')
  const check = checkFields([...fields.keys()], isSameInFile)
  if (check.kind === 'wrong') return refuse(check.why)
  const definition = definitionOf(
    {
      name: componentName(place, textField(fields, 'name') || basename(path, '.md')),
      description: textField(fields, 'description') || firstLineOf(body),
      prompt: body,
      tools: list(fields, 'tools'),
      disallowedTools: list(fields, 'disallowedtools'),
      model: textField(fields, 'model'),
      permissionMode: textField(fields, 'permissionmode'),
      readonly: textField(fields, 'readonly'),
      background: textField(fields, 'background'),
      until: commandsIn(fields),
      ...(fields.has('hooks') && { hooks: hooksIn(fields) }),
      limits: Object.fromEntries(limitNames.map((limit) => [limit, textField(fields, limit.toLowerCase())])),
    },
    { level: place.level, path },
  )
  if (typeof definition === 'string') return refuse(definition)
  const problem = ruleProblem(definition, cwd)
  if (problem !== undefined) return refuse(problem)
  const { notes: own = [], ...counted } = definition
  const noDescription = 'it has no description. The first line of its text is used.'
  const all = [...check.notes, ...own, ...(textField(fields, 'description') === '' ? [noDescription] : [])]
  notes.push(...all.map((note) => `${path}: ${note}`))
  return counted
}

/** A field without a value has no hooks. */
function hooksIn(fields: FrontMatter): UncalledHooks {
  const hooks = fields.get('hooks') ?? ''
  return uncalledHooks(hooks === '' ? {} : hooks)
}

/** The first line, without heading marks. */
function firstLineOf(body: string): string {
  return headOf(body.split('\n', 1)[0]?.replace(/^#+\s*/, '') ?? '', 200)
}

/** Field names in files are case-insensitive. */
function isSameInFile(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

/** A text is one command, including its commas. */
function commandsIn(fields: FrontMatter): readonly string[] | undefined {
  const value = fields.get('until')
  const commands =
    value === undefined ? undefined : Array.isArray(value) ? value.map(String) : [textField(fields, 'until')]
  return commands?.map((command) => command.trim()).filter((command) => command !== '')
}

/** Returns undefined for an absent field, which means all; an empty list means none. */
function list(fields: FrontMatter, name: string): readonly string[] | undefined {
  return fields.has(name) ? listField(fields, name) : undefined
}

/** Returns the problem of the first rule that cannot be parsed: such a rule would deny nothing. */
function ruleProblem({ disallowedTools }: AgentDefinition, cwd: string): string | undefined {
  try {
    parseRules({ deny: disallowedTools.filter((entry) => entry !== '*') }, cwd)
    return undefined
  } catch (thrown) {
    if (!(thrown instanceof PermissionRuleError)) throw thrown
    return thrown.problems.map(({ rule, problem }) => `${rule} in disallowedTools: ${problem}`).join('; ')
  }
}

/**
 * Parses the agents of `--agents`: `{"name": {"description": "…", "prompt": "…", …}}`.
 * @throws Error that describes the invalid part.
 */
export function agentsOfJson(text: string, cwd: string): readonly AgentDefinition[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (thrown) {
    throw new Error(`is not valid JSON (${messageOf(thrown)})`, { cause: thrown })
  }
  if (!isJsonObject(parsed)) throw new Error('is not an object of agents by name')
  return Object.entries(parsed).map(([name, raw]) => {
    if (!isJsonObject(raw)) throw new Error(`has an agent ${name} that is not an object`)
    const fields = checkFields(Object.keys(raw), (one, other) => one === other)
    if (fields.kind === 'wrong') throw new Error(`has an agent ${name}: ${fields.why}`)
    const { description, prompt, model, permissionMode, readonly, background, until } = raw
    const [tools, disallowedTools] = ['tools', 'disallowedTools'].map((field) => texts(name, field, raw[field]))
    const definition = definitionOf(
      {
        name,
        description,
        prompt,
        tools,
        disallowedTools,
        model,
        permissionMode,
        readonly,
        background,
        until: until === undefined ? undefined : texts(name, 'until', typeof until === 'string' ? [until] : until),
        limits: raw,
        ...(raw['hooks'] !== undefined && { hooks: uncalledHooks(raw['hooks']) }),
      },
      { level: 'flag' },
    )
    const problem = typeof definition === 'string' ? definition : ruleProblem(definition, cwd)
    if (typeof definition === 'string' || problem !== undefined) throw new Error(`has an agent ${name}: ${problem}`)
    const all = [...fields.notes, ...(definition.notes ?? [])]
    return all.length === 0 ? definition : { ...definition, notes: all }
  })
}

function texts(name: string, field: string, value: unknown): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined
  const list: unknown = typeof value === 'string' ? value.split(/,(?![^(]*\))/) : value
  if (!Array.isArray(list) || !list.every((one): one is string => typeof one === 'string'))
    throw new Error(`has an agent ${name} whose ${field} is not a list of names`)
  return list.map((one) => one.trim()).filter((one) => one !== '')
}
