import { homeFolder } from '@halting/policy/files'
import { changeMcpServers, mcpFile, type McpScope, mcpScopes, mcpServersOf, validServerName } from '@halting/policy'
import { type McpServerEntry, type McpServerStatus, readMcpServer } from '@halting/agent/mcp'
import { isJsonObject } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import { many, oneLine, programMessage } from '../io/figures.ts'
import { pageFor } from '../io/page.ts'
import { styleFor } from '../io/style.ts'
import type { Program } from '../program.ts'
import { confineCommands, openToolbox } from '@halting/agent/open-session'
import { openSessionServers, serverEntries } from '@halting/agent/mcp'
import { type SessionPorts } from '@halting/agent/session-settings'
import { sessionPorts, type RunSettings, settingsFor } from '../flags/session-ports.ts'
import { UsageError } from '../usage-error.ts'
import { isAddress, type McpArguments, readMcpArguments } from './arguments.ts'

/** `halting mcp`: manages the MCP servers of sessions in this folder. */
export async function mcp(argv: readonly string[], program: Program): Promise<number> {
  const parsed = readMcpArguments(argv)
  if (argv.length === 0 || parsed.help) {
    const { pageForCall } = await import('../flags/help-page.ts')
    const { helpText } = await import('../flags/help.ts')
    program.output.out(helpText(pageForCall('mcp', {}, parsed.words), program.output.width))
    return argv.length === 0 ? 2 : 0
  }
  const [what, ...words] = parsed.words
  switch (what) {
    case 'list':
      if (words.length > 0)
        throw new UsageError('halting mcp list takes no arguments. For one server, use halting mcp get NAME.')
      return list(parsed, program)
    case 'get':
      return get(parsed, nameIn(words, 1, 'get NAME'), program)
    case 'add':
      return add(parsed, words, program)
    case 'add-json':
      return addJson(parsed, words, program)
    case 'login':
    case 'logout': {
      const entry = await entryNamed(parsed, nameIn(words, 1, `${what} NAME`), program)
      const { login, logout } = await import('./login.ts')
      return what === 'login' ? login(parsed, entry, program) : logout(entry, program)
    }
    case 'remove':
      return remove(parsed, nameIn(words, 1, 'remove NAME'), program)
    default:
      throw new UsageError(
        `Use halting mcp list, get, add, add-json, remove, login or logout (see halting mcp --help).`,
      )
  }
}

const listHint = ' halting mcp list shows the servers.'

function nameIn(words: readonly string[], most: number, form: string): string {
  const [name] = words
  if (name === undefined || words.length > most) throw new UsageError(`Usage: halting mcp ${form}.`)
  return name
}

interface ServerRow {
  readonly name: string
  readonly server: JsonObject
  readonly from: string
  readonly status: McpServerStatus | undefined
}

async function list({ json, trust }: McpArguments, program: Program): Promise<number> {
  const { output, env } = program
  const run = await settingsFor({ ...(trust && { trust }) }, program)
  for (const warning of run.warnings) output.err(programMessage(oneLine(warning, Infinity)))
  const rows = await connectServers(run, program)
  if (json) output.out(`${JSON.stringify({ servers: rows.map(displayRow) })}\n`)
  else if (rows.length === 0) output.out('No MCP servers. Add one with halting mcp add NAME COMMAND.\n')
  else {
    const style = styleFor(output.isTerminal.stdout, env)
    for (const { name, server, from, status } of rows)
      output.out(
        pageFor(
          output,
          `${style.bold(oneLine(name, 60))}: ${oneLine(serverTarget(server), 200)}  ${statusText(status)}  ${style.dim(oneLine(from, 200))}\n`,
        ),
      )
  }
  return 0
}

async function get({ json, trust }: McpArguments, name: string, program: Program): Promise<number> {
  const { output } = program
  const run = await settingsFor({ ...(trust && { trust }) }, program)
  const [row] = await connectServers(run, program, name)
  if (row === undefined) throw new UsageError(unknownServerText(name, run))
  if (json) output.out(`${JSON.stringify(displayRow(row))}\n`)
  else {
    const { server, from, status } = row
    const values = Object.entries(displayServer(server)).map(
      ([field, value]) => `  ${field}: ${oneLine(typeof value === 'string' ? value : JSON.stringify(value), 300)}\n`,
    )
    const leftOut = (status?.leftOut ?? []).map((part) => `  ${oneLine(part, 300)}\n`)
    output.out(
      `${oneLine(name, 60)}  ${statusText(status)}\n${values.join('')}  from: ${oneLine(from, 300)}\n${leftOut.join('')}`,
    )
  }
  return row.status?.status === 'connected' ? 0 : 1
}

/** The server as a session would use it. Servers of an untrusted project are not included. */
async function entryNamed({ trust }: McpArguments, name: string, program: Program): Promise<McpServerEntry> {
  const run = await settingsFor({ ...(trust && { trust }) }, program)
  const { settings } = run
  const ports = portsForRun(run, program)
  const wanted = (settings.mcpServers ?? []).filter((server) => server.name === name)
  const toolbox = openToolbox(run, ports)
  const [entry] = await serverEntries({}, { mcpServers: wanted }, ports, toolbox.workspace.env)
  await toolbox.workspace.dispose()
  if (entry === undefined) throw new UsageError(unknownServerText(name, run))
  return entry
}

/** Session ports with the environment that results from the settings. */
function portsForRun({ choices, env }: RunSettings, program: Program): SessionPorts {
  return sessionPorts({ ...program, env }, choices)
}

function unknownServerText(name: string, { ignored }: RunSettings): string {
  const waiting = ignored.find(({ setting, text }) => setting === 'mcpServers' && text.startsWith(`${name}: `))
  const why =
    waiting === undefined
      ? listHint
      : ` ${waiting.from} has it, but it is ignored: ${waiting.why}. Review it with halting trust.`
  return `No MCP server named ${oneLine(name, 60)}.${why}`
}

/** Connects to each server as a session would, and disconnects again. */
async function connectServers(run: RunSettings, program: Program, only?: string): Promise<readonly ServerRow[]> {
  const { settings } = run
  const wanted = (settings.mcpServers ?? []).filter(({ name }) => only === undefined || name === only)
  if (wanted.length === 0) return []
  const ports = portsForRun(run, program)
  const toolbox = openToolbox(run, ports)
  await confineCommands(run, toolbox, ports)
  const entries = await serverEntries({}, { mcpServers: wanted }, ports, toolbox.workspace.env)
  const servers = openSessionServers({ entries, toolbox, settings, ports, contextWindow: undefined })
  try {
    const statuses = new Map((await servers.settled()).map((status) => [status.name, status]))
    return wanted.map(({ name, server, from }) => ({ name, server, from, status: statuses.get(name) }))
  } finally {
    await servers.end()
    await toolbox.workspace.dispose()
  }
}

function statusText(status: McpServerStatus | undefined): string {
  if (status === undefined) return 'unknown'
  const { name, status: how, problem, tools, leftOut = [] } = status
  const also =
    leftOut.length === 0 ? '' : ` (${many(leftOut.length, 'problem')}: see halting mcp get ${oneLine(name, 60)})`
  return how === 'connected'
    ? `connected, ${many(tools, 'tool')}${also}`
    : `${how}${problem === undefined ? '' : ` (${oneLine(problem, 300)})`}`
}

function serverTarget({ command, args, url }: JsonObject): string {
  if (typeof url === 'string') return url
  return [command, ...(Array.isArray(args) ? args : [])].filter((part) => typeof part === 'string').join(' ')
}

/** Hides values of variables and headers, which may be keys. */
function displayServer(server: JsonObject): JsonObject {
  const hidden = Object.entries(server).map(([field, value]) => {
    if ((field !== 'env' && field !== 'headers') || !isJsonObject(value)) return [field, value] as const
    return [field, Object.fromEntries(Object.keys(value).map((name) => [name, '(set)']))] as const
  })
  return Object.fromEntries(hidden)
}

function displayRow({ name, server, from, status }: ServerRow): object {
  return {
    name,
    server: displayServer(server),
    from,
    status: status?.status ?? 'failed',
    tools: status?.tools ?? 0,
    problem: status?.problem ?? null,
    ...(status?.leftOut !== undefined && { leftOut: status.leftOut }),
  }
}

async function add(
  parsed: McpArguments,
  [name, target, ...args]: readonly string[],
  program: Program,
): Promise<number> {
  if (name === undefined || target === undefined)
    throw new UsageError(
      'Usage: halting mcp add NAME COMMAND [ARGUMENT …], or halting mcp add NAME URL (see halting mcp add --help).',
    )
  const transport = parsed.transport ?? (isAddress(target) ? 'http' : 'stdio')
  const { env, headers, clientId, callbackPort } = parsed
  const oauth = { ...(clientId !== undefined && { clientId }), ...(callbackPort !== undefined && { callbackPort }) }
  const hasOauth = Object.keys(oauth).length > 0
  if (transport === 'stdio' && Object.keys(headers).length > 0)
    throw new UsageError('--header needs a server with a URL.')
  if (transport === 'stdio' && hasOauth)
    throw new UsageError('--client-id and --callback-port need a server with a URL.')
  if (transport !== 'stdio' && (args.length > 0 || Object.keys(env).length > 0))
    throw new UsageError('A server with a URL takes --header, but no arguments and no --env.')
  const server: JsonObject =
    transport === 'stdio'
      ? { type: transport, command: target, args, env }
      : {
          type: transport,
          url: target,
          ...(Object.keys(headers).length > 0 && { headers }),
          ...(hasOauth && { oauth }),
        }
  return addServer(parsed.scope ?? 'local', name, server, program)
}

async function addJson(parsed: McpArguments, words: readonly string[], program: Program): Promise<number> {
  const [name, json] = words
  if (name === undefined || json === undefined || words.length > 2)
    throw new UsageError('Usage: halting mcp add-json NAME JSON.')
  let server: unknown
  try {
    server = JSON.parse(json)
  } catch {
    throw new UsageError('The server is not valid JSON.')
  }
  if (!isJsonObject(server))
    throw new UsageError('The JSON must be an object, such as {"command": "npx", "args": ["-y", "a-server"]}.')
  return addServer(parsed.scope ?? 'local', name, server, program)
}

async function addServer(scope: McpScope, name: string, server: JsonObject, program: Program): Promise<number> {
  const { output } = program
  if (!/^[\w-]{1,60}$/.test(name) || validServerName(name) === '')
    throw new UsageError('Server names consist of at most 60 letters, digits, - and _.')
  // Variables are inserted when the server starts, so any value is valid here.
  const read = readMcpServer(server, new Proxy({}, { get: () => 'http://variable' }))
  if ('problem' in read) throw new UsageError(`Not a valid server: ${read.problem}.`)
  const owner = ownerOf(program)
  await changeMcpServers(scope, owner, (servers) => {
    if (Object.hasOwn(servers, name))
      throw new UsageError(
        `${mcpFile(scope, owner)} already has a server ${name}. Remove it with halting mcp remove --scope ${scope} ${name}.`,
      )
    return { ...servers, [name]: server }
  })
  output.out(`Added ${name} to ${mcpFile(scope, owner)}\n`)
  if (scope === 'project')
    output.err(
      programMessage('servers of a project are ignored until its folder is trusted. Review them with halting trust.'),
    )
  return 0
}

async function remove({ scope }: McpArguments, name: string, program: Program): Promise<number> {
  const owner = ownerOf(program)
  const scopes: McpScope[] = []
  for (const each of scope === undefined ? mcpScopes : [scope])
    if (Object.hasOwn(await mcpServersOf(each, owner), name)) scopes.push(each)
  const [found, ...others] = scopes
  if (found === undefined)
    throw new UsageError(
      `No MCP server named ${oneLine(name, 60)}${scope === undefined ? '' : ` in the scope ${scope}`}.${listHint}`,
    )
  if (others.length > 0) throw new UsageError(`${name} is in the scopes ${scopes.join(', ')}. Choose one with --scope.`)
  await changeMcpServers(found, owner, ({ [name]: _, ...left }) => left)
  program.output.out(`Removed ${name} from ${mcpFile(found, owner)}\n`)
  return 0
}

function ownerOf({ cwd, env }: Program): { readonly cwd: string; readonly env: Program['env']; readonly home: string } {
  return { cwd, env, home: homeFolder(env) }
}
