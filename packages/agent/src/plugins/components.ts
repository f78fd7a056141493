import type { JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { Kind } from '../instructions/places.ts'
import { statOf } from '@halting/policy/files'
import { type Manifest, pathInside, readJson } from './manifest.ts'
import type { Plugin } from './plugin.ts'

type Components = Pick<Plugin, 'places' | 'hooks' | 'servers'> & {
  /** Ignored parts, and why they are ignored. */
  readonly notes: readonly string[]
}

/** Returns the components of a plugin: at the paths in its manifest, or at the usual paths. */
export async function componentsOf(root: string, manifest: Manifest): Promise<Components> {
  const notes: string[] = []
  const places = (kind: Kind): readonly string[] => placesOf(root, kind, manifest[kind], notes)
  return {
    places: { commands: places('commands'), skills: places('skills'), agents: places('agents') },
    hooks: (await objectsOf(root, 'hooks/hooks.json', manifest.hooks, notes)).map((one) => within(one, 'hooks')),
    servers: serversOf(await objectsOf(root, '.mcp.json', manifest.servers, notes), notes),
    notes,
  }
}

/** Named paths replace the usual folder. A usual folder that does not exist is not reported. */
function placesOf(root: string, kind: Kind, named: readonly string[] | undefined, notes: string[]): readonly string[] {
  return [...new Set(named ?? [`./${kind}`])].flatMap((namedPath) => {
    const inside = pathInside(root, namedPath)
    const isThere = inside.kind === 'inside' && statOf(inside.path) !== undefined
    if (isThere) return [inside.path]
    if (inside.kind === 'wrong') notes.push(`${kind}: ${JSON.stringify(namedPath)} ${inside.why}`)
    else if (named !== undefined) notes.push(`${kind}: ${JSON.stringify(namedPath)} does not exist`)
    return []
  })
}

/** Reads the usual file, then the files that the manifest names, then inline objects of the manifest. */
async function objectsOf(
  root: string,
  usual: string,
  named: readonly (string | JsonObject)[],
  notes: string[],
): Promise<readonly JsonObject[]> {
  const objects: JsonObject[] = []
  const paths = named.filter((one) => typeof one === 'string')
  for (const path of new Set([usual, ...paths.map((one) => one.replace(/^\.\//, ''))])) {
    const read = await readJson(root, path)
    if (read.kind === 'read') objects.push(read.value)
    else if (read.kind === 'wrong') notes.push(`${JSON.stringify(path)} ${read.why}`)
    else if (path !== usual) notes.push(`${JSON.stringify(path)} does not exist`)
  }
  return [...objects, ...named.filter((one) => typeof one !== 'string')]
}

/** Accepts the object with or without the name of the field around it. */
function within(object: JsonObject, field: string): JsonObject {
  const inner = object[field]
  return isJsonObject(inner) ? inner : object
}

function serversOf(objects: readonly JsonObject[], notes: string[]): Plugin['servers'] {
  const servers = new Map<string, JsonObject>()
  for (const object of objects)
    for (const [name, server] of Object.entries(within(object, 'mcpServers'))) {
      if (isJsonObject(server)) servers.set(name, server)
      else notes.push(`the MCP server ${JSON.stringify(name)} must be an object`)
    }
  return Object.fromEntries(servers)
}
