import { basename, resolve } from 'node:path'
import { isDirectory } from '@halting/policy/files'
import { type Manifest, ManifestError, readManifest } from './manifest.ts'
import { componentsOf } from './components.ts'
import type { Plugin, PluginProblem, Plugins } from './plugin.ts'

/** A plugin as named by the caller. */
export interface NamedPlugin {
  /** Path of the folder. */
  readonly path: string
  /** Whether the caller connects to the plugin's servers itself. */
  readonly skipsServers?: boolean
}

// Spec R-PLUGIN-4.
/**
 * Reads plugins. A broken plugin is reported and skipped; of a plugin with a broken part the rest is loaded. Only a
 * user or a host names plugin folders, never a project.
 */
export async function readPlugins(named: readonly NamedPlugin[], cwd: string): Promise<Plugins> {
  const all: Plugin[] = []
  const problems: PluginProblem[] = []
  const folders = new Map(named.map(({ path, skipsServers }) => [resolve(cwd, path), skipsServers === true]))
  for (const [at, [path, skipsServers]] of [...folders].entries()) {
    const read = await readPlugin(path)
    if (read.kind === 'refused') {
      problems.push({ plugin: `inline[${at}]`, ...read.problem, path })
      continue
    }
    const { plugin } = read
    if (all.some(({ name }) => name === plugin.name)) {
      const message = `another plugin has the name ${plugin.name}`
      problems.push({ plugin: `inline[${at}]`, type: 'generic-error', message, path })
      continue
    }
    all.push(skipsServers ? { ...plugin, servers: {} } : plugin)
    problems.push(
      ...read.notes.map((message): PluginProblem => ({ plugin: plugin.name, type: 'generic-error', message })),
    )
  }
  return { all, problems }
}

type Read =
  | { readonly kind: 'read'; readonly plugin: Plugin; readonly notes: readonly string[] }
  | { readonly kind: 'refused'; readonly problem: Pick<PluginProblem, 'type' | 'message'> }

async function readPlugin(path: string): Promise<Read> {
  if (!isDirectory(path)) return refused('path-not-found', 'the folder does not exist')
  if (/\p{C}/u.test(path)) return refused('generic-error', 'the name of its folder has control characters')
  let manifest: Manifest
  try {
    manifest = await readManifest(path)
  } catch (thrown) {
    if (!(thrown instanceof ManifestError)) throw thrown
    return refused('manifest-validation-error', thrown.message)
  }
  const { name = basename(path), version } = manifest
  if (!isPluginName(name))
    return refused(
      'manifest-validation-error',
      `${JSON.stringify(name)} is not a valid plugin name. Use letters, digits, "_", "-" and "."`,
    )
  const { notes, ...components } = await componentsOf(path, manifest)
  return {
    kind: 'read',
    plugin: { name, path, ...(version !== undefined && { version }), ...components },
    notes,
  }
}

function refused(type: PluginProblem['type'], message: string): Read {
  return { kind: 'refused', problem: { type, message } }
}

/** The name becomes the prefix of its components, followed by a colon. */
function isPluginName(name: string): boolean {
  return /^[\p{L}\p{N}_][\p{L}\p{N}_.-]{0,63}$/u.test(name)
}
