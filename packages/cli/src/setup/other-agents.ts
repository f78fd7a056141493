import { existsSync } from 'node:fs'
import { parse as parseJsonc, type ParseError } from 'jsonc-parser'
import { parse as parseToml } from 'smol-toml'
import { isAbsolute, join } from 'node:path'
import { boundedText } from '@halting/policy/files'
import { configFolder } from '@halting/agent'
import { isJsonObject } from '@halting/core/adapters'
import type { Program } from '../program.ts'
import type { RunSettings } from '../flags/session-ports.ts'

/** Settings of another agent, and which of them can be used here. Keys and logins are not read. */
export interface AgentFinding {
  readonly agent: string
  readonly path: string
  /** Its model, by the name that halting uses. */
  readonly model?: string
  /** Texts that describe which settings are used, and which are ignored and why. */
  readonly says: readonly string[]
}

export interface AgentPlaces extends Pick<Program, 'cwd' | 'env'> {
  readonly home: string
}

const largestBytes = 1024 * 1024

/** Reads the settings of other agents without changing them (spec R-SETUP-4). */
export async function agentFindings(places: AgentPlaces, run: RunSettings): Promise<readonly AgentFinding[]> {
  const found = await Promise.all([codex(places), gemini(places), opencode(places)])
  return [...claudeCode(places, run), ...found.flat()]
}

/** halting reads these files directly; the texts say which settings apply and which are ignored. */
function claudeCode(places: AgentPlaces, { files }: RunSettings): readonly AgentFinding[] {
  const folder = configFolder('claude', places)
  const own = files.filter(({ level, name }) => level === 'user' && name.startsWith(join(folder, '/')))
  const read = own.map(({ name, served, passedOver }) => ({
    agent: 'Claude Code',
    path: name,
    says: [
      served.length === 0 ? 'read directly; nothing in it applies' : `read directly: ${served.join(', ')}`,
      ...(passedOver.length === 0 ? [] : [`ignored: ${passedOver.join(', ')}`]),
    ],
  }))
  const memoryFile = join(folder, 'CLAUDE.md')
  return existsSync(memoryFile)
    ? [...read, { agent: 'Claude Code', path: memoryFile, says: ['read as instructions'] }]
    : read
}

async function codex({ home, env }: AgentPlaces): Promise<readonly AgentFinding[]> {
  const folder = folderFrom(env['CODEX_HOME'], join(home, '.codex'))
  const path = join(folder, 'config.toml')
  const instructions = ownInstructions('Codex', join(folder, 'AGENTS.md'))
  const read = await boundedText(path, largestBytes)
  if (read.kind === 'absent') return instructions
  if (read.kind === 'unfit') return [{ agent: 'Codex', path, says: [read.why] }, ...instructions]
  const config = tomlObject(read.text)
  if (config === undefined) return [{ agent: 'Codex', path, says: ['is not valid TOML'] }, ...instructions]
  const profile = objectIn(config, 'profiles', textIn(config, 'profile') ?? '')
  const service = textIn(profile, 'model_provider') ?? textIn(config, 'model_provider') ?? 'openai'
  const model = textIn(profile, 'model') ?? textIn(config, 'model')
  const here = localModelName(model, service)
  const permissionKeys = ['approval_policy', 'sandbox_mode'].filter((key) => Object.hasOwn(config, key))
  return [
    {
      agent: 'Codex',
      path,
      ...(here !== undefined && { model: here }),
      says: [
        ...modelTexts(model, service, here, customServiceOrigin(objectIn(config, 'model_providers', service))),
        ...(permissionKeys.length === 0
          ? []
          : [`${permissionKeys.join(', ')}: not imported; halting asks unless your rules allow`]),
        ...serverTexts(Object.keys(objectIn(config, 'mcp_servers'))),
      ],
    },
    ...instructions,
  ]
}

/** The parsed file; undefined if it is not valid TOML, or is nested too deeply for the parser. */
export function tomlObject(text: string): JsonSettings | undefined {
  try {
    return parseToml(text)
  } catch {
    return undefined
  }
}

/** The object at a path; empty if there is none. */
function objectIn(settings: JsonSettings, ...path: readonly string[]): JsonSettings {
  const found = path.reduce<unknown>((value, key) => (isJsonObject(value) ? value[key] : undefined), settings)
  return isJsonObject(found) ? found : {}
}

function textIn(settings: JsonSettings, key: string): string | undefined {
  const value = settings[key]
  return typeof value === 'string' ? value : undefined
}

/** The address of a custom model provider. */
function customServiceOrigin(provider: JsonSettings): string | undefined {
  const baseUrl = textIn(provider, 'base_url')
  return baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).origin : undefined
}

async function gemini({ home }: AgentPlaces): Promise<readonly AgentFinding[]> {
  const folder = join(home, '.gemini')
  const instructions = ownInstructions('Gemini CLI', join(folder, 'GEMINI.md'))
  return [...(await jsonAgent('Gemini CLI', [join(folder, 'settings.json')], geminiModel)), ...instructions]
}

function geminiModel({ model }: JsonSettings): NamedModel {
  const name = isJsonObject(model) ? model['name'] : model
  return { model: typeof name === 'string' ? name : undefined, service: 'google' }
}

async function opencode({ home, env }: AgentPlaces): Promise<readonly AgentFinding[]> {
  const folder = join(folderFrom(env['XDG_CONFIG_HOME'], join(home, '.config')), 'opencode')
  const paths = ['opencode.json', 'opencode.jsonc'].map((name) => join(folder, name))
  return [
    ...(await jsonAgent('opencode', paths, opencodeModel)),
    ...ownInstructions('opencode', join(folder, 'AGENTS.md')),
  ]
}

function opencodeModel({ model }: JsonSettings): NamedModel {
  if (typeof model !== 'string') return { model: undefined, service: '' }
  const slash = model.indexOf('/')
  return { model: model.slice(slash + 1), service: slash < 0 ? '' : model.slice(0, slash) }
}

type JsonSettings = Readonly<Record<string, unknown>>
interface NamedModel {
  readonly model: string | undefined
  readonly service: string
}

async function jsonAgent(
  agent: string,
  paths: readonly string[],
  modelIn: (settings: JsonSettings) => NamedModel,
): Promise<readonly AgentFinding[]> {
  const findings: AgentFinding[] = []
  for (const path of paths) {
    const read = await boundedText(path, largestBytes)
    if (read.kind === 'absent') continue
    const settings = read.kind === 'text' ? jsoncValue(read.text) : undefined
    if (!isJsonObject(settings)) {
      findings.push({ agent, path, says: [read.kind === 'unfit' ? read.why : 'does not contain a JSON object'] })
      continue
    }
    const { model, service } = modelIn(settings)
    const here = localModelName(model, service)
    const servers = isJsonObject(settings['mcpServers']) ? settings['mcpServers'] : settings['mcp']
    findings.push({
      agent,
      path,
      ...(here !== undefined && { model: here }),
      says: [...modelTexts(model, service, here), ...serverTexts(isJsonObject(servers) ? Object.keys(servers) : [])],
    })
  }
  return findings
}

/** Provider names of other agents, and their prefixes here. */
const prefixes: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  openai: 'openai',
  google: 'google',
  gemini: 'google',
  openrouter: 'openrouter',
  groq: 'groq',
  deepseek: 'deepseek',
  mistral: 'mistral',
  xai: 'xai',
  moonshotai: 'moonshotai',
  ollama: 'ollama',
  oss: 'ollama',
  lmstudio: 'lmstudio',
  vllm: 'vllm',
  'llama.cpp': 'llamacpp',
}

function localModelName(model: string | undefined, service: string): string | undefined {
  const prefix = Object.hasOwn(prefixes, service) ? prefixes[service] : undefined
  if (model === undefined || prefix === undefined) return undefined
  return prefix === 'openai' && /^(?:gpt-|o\d)/.test(model) ? model : `${prefix}/${model}`
}

function modelTexts(
  model: string | undefined,
  service: string,
  here: string | undefined,
  origin?: string,
): readonly string[] {
  if (model === undefined) return ['sets no model']
  if (here !== undefined) return [`uses ${here}`]
  const where = origin === undefined ? 'its address' : origin
  return [
    `uses ${model} of ${service}, which halting does not know. Try openai-compatible/${model} with OPENAI_BASE_URL (${where})`,
  ]
}

function ownInstructions(agent: string, path: string): readonly AgentFinding[] {
  if (!existsSync(path)) return []
  return [{ agent, path, says: [`not read; to include it, add the line @${path} to ~/.halting/AGENTS.md`] }]
}

function serverTexts(names: readonly string[]): readonly string[] {
  if (names.length === 0) return []
  const firstNames = names.slice(0, 5).join(', ')
  return [`MCP servers ${firstNames}${names.length > 5 ? ' …' : ''}: not imported; use halting mcp add`]
}

/** The folder in a variable if it is an absolute path, otherwise the default. */
function folderFrom(variable: string | undefined, usual: string): string {
  return variable !== undefined && isAbsolute(variable) ? variable : usual
}

/** Parses JSON with comments and trailing commas; undefined if it is invalid, or nested too deeply for the parser. */
export function jsoncValue(text: string): unknown {
  const errors: ParseError[] = []
  try {
    const value: unknown = parseJsonc(text.replace(/^\uFEFF/, ''), errors, { allowTrailingComma: true })
    return errors.length === 0 ? value : undefined
  } catch {
    return undefined
  }
}
