import { join } from 'node:path'
import { isJsonObject } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import { configFolder, realPath } from '@halting/journal/files'
import type { PlacesOptions, SettingsLevel } from './places.ts'

/** A file with MCP servers, other than the settings files. */
export interface McpPlace {
  readonly path: string
  readonly level: SettingsLevel
  /** The server objects in the file, the highest precedence first. */
  readonly serversIn: (content: JsonObject) => readonly unknown[]
}

/** `.mcp.json` of the project, which the authors of the project control. */
export function projectMcpFile(cwd: string): string {
  return join(cwd, '.mcp.json')
}

/** Where `halting mcp add` stores personal servers, for one project or for all. */
export function ownMcpFile(owner: PlacesOptions): string {
  return join(configFolder('halting', owner), 'mcp.json')
}

/** The folder in which the person's sign-ins at servers are stored: next to their settings, never in a project. */
export function signInsFolder(owner: Pick<PlacesOptions, 'cwd' | 'home' | 'env'>): string {
  return join(configFolder('halting', owner), 'mcp-sign-ins')
}

/** Personal servers, our file before that of Claude Code: those for this project, then those for all. */
function ownPlaces(owner: PlacesOptions): readonly McpPlace[] {
  const claude = owner.env['CLAUDE_CONFIG_DIR'] ? configFolder('claude', owner) : owner.home
  const paths = [ownMcpFile(owner), join(claude, '.claude.json')]
  const folder = realPath(owner.cwd)
  return paths.flatMap((path): readonly McpPlace[] => [
    { path, level: 'user', serversIn: ({ projects }) => [fieldOf(fieldOf(projects, folder), 'mcpServers')] },
    { path, level: 'user', serversIn: ({ mcpServers }) => [mcpServers] },
  ])
}

/** The highest precedence first: personal for this project, of the project, personal for all projects. */
export function mcpPlaces(owner: PlacesOptions): readonly McpPlace[] {
  const [ours, oursForAll, claudes, claudesForAll] = ownPlaces(owner)
  const project: McpPlace = {
    path: projectMcpFile(owner.cwd),
    level: 'project',
    serversIn: ({ mcpServers }) => [mcpServers],
  }
  return [ours, claudes, project, oursForAll, claudesForAll].filter((place) => place !== undefined)
}

function fieldOf(value: unknown, name: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}
