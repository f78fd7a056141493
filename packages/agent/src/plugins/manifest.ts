import { join } from 'node:path'
import type { JsonObject } from '@halting/core'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import { boundedText, isInside } from '@halting/policy/files'
import { realPath } from '@halting/journal/files'

/** The content of `plugin.json`: the name, and the paths of the components. */
export interface Manifest {
  readonly name?: string
  readonly version?: string
  /** Paths that replace the usual folders. */
  readonly commands?: readonly string[]
  readonly agents?: readonly string[]
  readonly skills?: readonly string[]
  /** Files in addition to the usual one, or inline objects. */
  readonly hooks: readonly (string | JsonObject)[]
  readonly servers: readonly (string | JsonObject)[]
}

/** Why a plugin is not loaded at all. */
export class ManifestError extends Error {}

const manifestPath = '.claude-plugin/plugin.json'

/**
 * Reads the manifest. Without the file, all components are at their usual paths.
 * @throws ManifestError
 */
export async function readManifest(root: string): Promise<Manifest> {
  const read = await readJson(root, manifestPath)
  if (read.kind === 'wrong') throw new ManifestError(`${manifestPath} ${read.why}`)
  const fields: JsonObject = read.kind === 'absent' ? {} : read.value
  const { name, version } = fields
  const paths = (field: string): { readonly [name: string]: readonly string[] } => {
    const value = listIn(field, fields[field])
    if (value === undefined) return {}
    return { [field]: value.map((one) => (typeof one === 'string' ? one : wrong(field))) }
  }
  return {
    ...textIn('name', name),
    ...textIn('version', version),
    ...paths('commands'),
    ...paths('agents'),
    ...paths('skills'),
    hooks: listIn('hooks', fields['hooks']) ?? [],
    servers: listIn('mcpServers', fields['mcpServers']) ?? [],
  }
}

function textIn(field: string, value: unknown): { readonly [name: string]: string } {
  if (value === undefined) return {}
  if (typeof value !== 'string' || value.length > 1_000) throw new ManifestError(`its ${field} must be a short string`)
  return { [field]: value }
}

function listIn(field: string, value: unknown): readonly (string | JsonObject)[] | undefined {
  if (value === undefined) return undefined
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length > 1_000) throw new ManifestError(`its ${field} has more than 1000 paths`)
  return list.map((one) => (typeof one === 'string' || isJsonObject(one) ? one : wrong(field)))
}

function wrong(field: string): never {
  throw new ManifestError(`its ${field} must be a path, or a list of paths`)
}

type Inside = { readonly kind: 'inside'; readonly path: string } | { readonly kind: 'wrong'; readonly why: string }

// Spec R-PLUGIN-3.
/** Returns the absolute form of a path in a plugin, or why it is refused: the path is outside the plugin. */
export function pathInside(root: string, path: string): Inside {
  if (path.startsWith('/') || path.split('/').includes('..') || /[\0\\]/.test(path))
    return { kind: 'wrong', why: 'is rejected: a path of a plugin must be relative and stay in its folder' }
  const whole = join(root, path)
  return isInside(realPath(whole), realPath(root))
    ? { kind: 'inside', path: whole }
    : { kind: 'wrong', why: 'is rejected: it is a symbolic link that leaves the plugin' }
}

const maxBytes = 1024 * 1024

export type ReadJson =
  | { readonly kind: 'read'; readonly value: JsonObject }
  | { readonly kind: 'absent' }
  | { readonly kind: 'wrong'; readonly why: string }

/** The object in a JSON file of a plugin. */
export async function readJson(root: string, path: string): Promise<ReadJson> {
  const inside = pathInside(root, path)
  if (inside.kind === 'wrong') return inside
  const read = await boundedText(inside.path, maxBytes)
  if (read.kind === 'absent') return { kind: 'absent' }
  if (read.kind === 'unfit') return { kind: 'wrong', why: read.why }
  if (read.isCut) return { kind: 'wrong', why: `is longer than ${maxBytes} bytes` }
  try {
    const value: unknown = JSON.parse(read.text)
    return isJsonObject(value) ? { kind: 'read', value } : { kind: 'wrong', why: 'is not an object' }
  } catch (thrown) {
    return { kind: 'wrong', why: `is not valid JSON (${messageOf(thrown)})` }
  }
}
