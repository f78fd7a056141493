import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ConfigurationError, type Json } from '@halting/core'
import { isJsonObject, messageOf, codeOf } from '@halting/core/adapters'
import { boundedBytes } from '../files/bounded-text.ts'
import { configFolder, realPath, makeDurableFolder, writeWhole } from '@halting/journal/files'
import { lockFile } from '../trust/trust-store.ts'
import { jsonTree, withValue } from './json-edit.ts'
import type { PlacesOptions } from './places.ts'

/** A settings file before a change; no text if it does not exist. */
export interface SettingsFileText {
  /** The real path of the file: writing to it preserves a link to a personal file. */
  readonly real: string
  /** The text of the file. */
  readonly text: string
  /** File mode, as in `stat`. */
  readonly mode: number
}

/** The path of the person's own settings of this program. */
export function ownSettingsFile(owner: PlacesOptions): string {
  return join(configFolder('halting', owner), 'settings.json')
}

/** Maximum size of a settings file. Larger files are not written by hand, and are rejected. */
const largestBytes = 1024 * 1024

/**
 * Reads a settings file that is to be changed.
 * @throws ConfigurationError for a file that is not a JSON object; it is not changed. The error does not quote the text, which may contain keys.
 */
export async function settingsFileText(path: string): Promise<SettingsFileText> {
  const real = realPath(path)
  const found = await boundedBytes(real, largestBytes)
  if (found.kind === 'absent') return { real, text: '', mode: 0o600 }
  if (found.kind === 'unfit') throw new ConfigurationError(`${path} ${found.why}. Nothing was changed.`)
  if (found.isCut) throw new ConfigurationError(`${path} is larger than 1 MB. Nothing was changed.`)
  const text = textOf(found.bytes, path)
  checkJson(text.replace(/^\uFEFF/, ''), path)
  return { real, text, mode: (await stat(real)).mode & 0o777 }
}

/** Preserves every byte, including a byte order mark. Rejects bytes that are not UTF-8, as they could not be written back. */
function textOf(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new ConfigurationError(`${path} is not valid UTF-8. Nothing was changed; fix or delete the file.`)
  }
}

/** Changes a settings file, one process at a time. After a crash the file is either the old or the new one. @throws ConfigurationError */
export async function changeSettingsFile(path: string, change: (text: string) => string): Promise<void> {
  const release = await lockSettings(path)
  try {
    const { real, text, mode } = await settingsFileText(path)
    const changed = change(text)
    if (changed === text) return
    const owner = await stat(real).catch(() => undefined)
    const own = process.getuid?.()
    if (owner !== undefined && own !== undefined && own !== 0 && owner.uid !== own)
      throw new ConfigurationError(`${path} belongs to another user (${owner.uid}). Nothing was changed.`)
    await writeWhole(real, changed, owner && { uid: owner.uid, gid: owner.gid, mode })
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) throw thrown
    throw new ConfigurationError(`${path} cannot be written (${codeOf(thrown) ?? messageOf(thrown)}).`)
  } finally {
    await release()
  }
}

/** @throws ConfigurationError if nothing can be written, for example in a read-only home folder. */
async function lockSettings(path: string): Promise<() => Promise<void>> {
  try {
    await makeDurableFolder(dirname(path))
    return await lockFile(`${realPath(path)}.lock`, 'the settings')
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) throw thrown
    throw new ConfigurationError(`${path} cannot be written (${codeOf(thrown) ?? messageOf(thrown)}).`)
  }
}

/** A value, and its path in the settings. */
export interface SettingsValue {
  /** Keys from the top. */
  readonly path: readonly string[]
  /** The value. */
  readonly value: Json
}

/** Sets these values in the text and preserves the rest as written. The text must be JSON with an object at the top, or empty. */
export function settingsTextWith(text: string, values: readonly SettingsValue[]): string {
  return values.reduce((changed, { path, value }) => withValue(changed, path, value), text)
}

function checkJson(text: string, path: string): void {
  if (text.trim() === '') return
  try {
    if (isJsonObject(JSON.parse(text))) return
  } catch {
    // The error below reports this: the message of V8 would quote the file.
  }
  const hint = /^\s*(?:\/\/|\/\*)/m.test(text) ? ' (comments are not allowed)' : ''
  throw new ConfigurationError(
    `${path} does not contain a JSON object${hint}. Nothing was changed; fix or delete the file.`,
  )
}

/** Settings whose texts are not secret and may be shown. */
const shownSettings: ReadonlySet<string> = new Set(['$schema', 'model', 'smallModel', 'modelPrices', 'permissions'])

/** The text for display. Of values that may contain a key, such as variables, headers and commands, only the names are shown. */
export function shownSettingsText(text: string): string {
  if (text.trim() === '') return ''
  let shown = text
  for (const { children: [key, value] = [] } of jsonTree(text).children?.toReversed() ?? []) {
    if (value === undefined || shownSettings.has(String(key?.value))) continue
    const masked = text
      .slice(value.offset, value.offset + value.length)
      .replaceAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g, (found, colon: string | undefined) =>
        colon === undefined ? '"(set)"' : found,
      )
    shown = shown.slice(0, value.offset) + masked + shown.slice(value.offset + value.length)
  }
  return shown
}
