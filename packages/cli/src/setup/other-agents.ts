import { existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { boundedText } from '@halting/policy/files'
import { configFolder } from '@halting/agent'
import { isJsonObject } from '@halting/core/adapters'
import type { Program } from '../program.ts'
import type { RunSettings } from '../flags/session-ports.ts'
import { readTomlTexts, type TomlTexts } from './toml-texts.ts'

/** Settings of another agent, and which of them can be used here. Keys and logins are not read. */
export interface AgentFinding {
  readonly agent: string
  readonly path: string
  /** Its model, by the name that halting uses. */
  readonly model?: string
  /** Texts that say what is used, and what is ignored and why. */
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
  const toml = readTomlTexts(read.text)
  const { texts } = toml
  const profile = texts.get('profile')
  const setting = (key: string): string | undefined => texts.get(`profiles.${profile}.${key}`) ?? texts.get(key)
  const service = setting('model_provider') ?? 'openai'
  const model = setting('model')
  const here = localModelName(model, service)
  const asked = [...texts.keys()].filter((key) => /^(?:approval_policy|sandbox_mode)$/.test(key))
  return [
    {
      agent: 'Codex',
      path,
      ...(here !== undefined && { model: here }),
      says: [
        ...modelTexts(model, service, here, ownService(texts, service)),
        ...(asked.length === 0 ? [] : [`${asked.join(', ')}: not imported; halting asks unless your rules allow`]),
        ...serverTexts(namesBelow(toml, 'mcp_servers')),
      ],
    },
    ...instructions,
  ]
}

/** The address of a custom model provider. */
function ownService(texts: TomlTexts['texts'], service: string): string | undefined {
  const baseUrl = texts.get(`model_providers.${service}.base_url`)
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
    const settings = read.kind === 'text' ? parseJsonc(read.text) : undefined
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

function namesBelow({ tables }: TomlTexts, table: string): readonly string[] {
  const names = tables.flatMap((name) =>
    name.startsWith(`${table}.`) ? [name.slice(table.length + 1).split('.')[0] ?? ''] : [],
  )
  return [...new Set(names)]
}

/** The folder in a variable if it is an absolute path, otherwise the default. */
function folderFrom(variable: string | undefined, usual: string): string {
  return variable !== undefined && isAbsolute(variable) ? variable : usual
}

/** Parses JSON with comments and trailing commas in one pass; undefined if it is invalid. */
export function parseJsonc(text: string): unknown {
  const pieces: string[] = []
  let at = 0
  while (at < text.length) {
    const from = at
    at = endOfToken(text, at)
    const piece = text.slice(from, at)
    const isComment = piece.startsWith('//') || piece.startsWith('/*')
    const last = pieces.length - 1
    // Drops a trailing comma.
    if (piece === '}' || piece === ']') pieces[last] = withoutLastComma(pieces[last] ?? '')
    if (!isComment && piece.trim() !== '') pieces.push(piece)
  }
  try {
    return JSON.parse(pieces.join('').replace(/^\uFEFF/, '')) as unknown
  } catch {
    return undefined
  }
}

/** The end of the string, comment, bracket or other run of characters that starts here. */
function endOfToken(text: string, start: number): number {
  const first = text[start]
  if (first === '"') return endOfText(text, start)
  if (text.startsWith('//', start)) return endAt(text.indexOf('\n', start), text)
  if (text.startsWith('/*', start)) return endAt(text.indexOf('*/', start + 2), text, 2)
  if (first === '}' || first === ']' || first === '/') return start + 1
  let end = start + 1
  while (end < text.length && !'"}]/'.includes(text.charAt(end))) end++
  return end
}

function withoutLastComma(piece: string): string {
  const trimmed = piece.trimEnd()
  return trimmed.endsWith(',') && !trimmed.startsWith('"') ? trimmed.slice(0, -1) : piece
}

function endOfText(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function endAt(found: number, text: string, more = 0): number {
  return found < 0 ? text.length : found + more
}
