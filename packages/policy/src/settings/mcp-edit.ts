import { chmod, lstat, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ConfigurationError, type JsonObject } from '@halting/core'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import { realPath, makeDurableFolder, writeWhole } from '@halting/journal/files'
import { codeOf } from '@halting/core/adapters'
import { lockFile } from '../trust/trust-store.ts'
import { ownMcpFile, projectMcpFile } from './mcp-files.ts'
import type { PlacesOptions } from './places.ts'

/** `local`: personal, for this project; `project`: of the project, in `.mcp.json`; `user`: personal, for all projects. */
export const mcpScopes = ['local', 'project', 'user'] as const
/** Which settings file an MCP server is stored in. */
export type McpScope = (typeof mcpScopes)[number]

/** MCP servers by name, as in a settings file. */
export type Servers = Readonly<Record<string, JsonObject>>

/** The servers that a scope defines. @throws ConfigurationError for a file that cannot be read. */
export async function mcpServersOf(scope: McpScope, owner: PlacesOptions): Promise<Servers> {
  return serversIn(await contentOf(mcpFile(scope, owner)), scope, owner)
}

/** The file of a scope. */
export function mcpFile(scope: McpScope, owner: PlacesOptions): string {
  return scope === 'project' ? projectMcpFile(owner.cwd) : ownMcpFile(owner)
}

/** Changes the servers of a scope, and nothing else in its file. @throws ConfigurationError if that is impossible. */
export async function changeMcpServers(
  scope: McpScope,
  owner: PlacesOptions,
  change: (servers: Servers) => Servers,
): Promise<void> {
  const path = mcpFile(scope, owner)
  // Personal servers may contain keys, so only the person can read the file.
  const release = scope === 'project' ? undefined : await lockOwn(path)
  try {
    const mode = scope === 'project' ? await modeOfProjectFile(path) : undefined
    const content = await contentOf(path)
    const changed = change(serversIn(content, scope, owner))
    await writeServers(scope === 'project' ? path : realPath(path), withServers(content, scope, owner, changed), mode)
  } finally {
    await release?.()
  }
}

/**
 * The file mode of a project file, which everybody with access to the project may read. A link may lead
 * to a personal file, whose content would be copied into the project.
 */
async function modeOfProjectFile(path: string): Promise<number> {
  const found = await lstat(path).catch(() => undefined)
  if (found?.isSymbolicLink() === true)
    throw new ConfigurationError(
      `${path} is a link and was not changed. Replace it with a file, or edit the file it points to.`,
    )
  return (found?.mode ?? 0o666 & ~process.umask()) & 0o777
}

async function writeServers(path: string, content: JsonObject, mode: number | undefined): Promise<void> {
  try {
    await writeWhole(path, `${JSON.stringify(content, undefined, 2)}\n`)
    if (mode !== undefined) await chmod(path, mode)
  } catch (thrown) {
    throw new ConfigurationError(`${path} cannot be written: ${messageOf(thrown)}.`)
  }
}

async function lockOwn(path: string): Promise<() => Promise<void>> {
  await makeDurableFolder(dirname(path))
  return lockFile(`${path}.lock`, 'the MCP servers')
}

async function contentOf(path: string): Promise<JsonObject> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return {}
    throw new ConfigurationError(`${path} cannot be read: ${messageOf(thrown)}.`)
  }
  try {
    const content: unknown = JSON.parse(text.replace(/^\uFEFF/, ''))
    if (isJsonObject(content)) return content
  } catch {
    // The error below reports this: the message of V8 would quote the file.
  }
  throw new ConfigurationError(`${path} does not contain a JSON object. Fix or delete the file.`)
}

function serversIn(content: JsonObject, scope: McpScope, owner: PlacesOptions): Servers {
  const holder = scope === 'local' ? objectIn(objectIn(content, 'projects'), realPath(owner.cwd)) : content
  const servers = Object.entries(objectIn(holder, 'mcpServers'))
  return Object.fromEntries(
    servers.flatMap(([name, server]) => (isJsonObject(server) ? [[name, server] as const] : [])),
  )
}

function withServers(content: JsonObject, scope: McpScope, owner: PlacesOptions, mcpServers: Servers): JsonObject {
  if (scope !== 'local') return { ...content, mcpServers }
  const folder = realPath(owner.cwd)
  const projects = objectIn(content, 'projects')
  return { ...content, projects: { ...projects, [folder]: { ...objectIn(projects, folder), mcpServers } } }
}

function objectIn(content: JsonObject, name: string): JsonObject {
  const value = Object.hasOwn(content, name) ? content[name] : undefined
  return isJsonObject(value) ? value : {}
}
