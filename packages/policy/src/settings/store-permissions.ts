import { stat } from 'node:fs/promises'
import { ConfigurationError } from '@halting/core'
import { isJsonObject, type PermissionUpdate } from '@halting/core/adapters'
import { excludeFromGit } from '../git/exclude.ts'
import { isInside } from '../files/paths.ts'
import { realPath } from '@halting/journal/files'
import { ruleTexts } from '../permissions/rule-updates.ts'
import { folderTrust } from '../trust/folder-trust.ts'
import { changeTrust } from '../trust/trust-store.ts'
import { withoutText, withValue } from './json-edit.ts'
import { changeSettingsFile } from './settings-file.ts'
import { projectOffers } from './settings.ts'
import { type PlacesOptions, settingsPlaces } from './places.ts'

/** Options of `settingsWriter`. */
export interface SettingsWriterOptions extends PlacesOptions {
  /** What trusts the folder for this run. */
  readonly trustedBy?: string | false | undefined
}

type StoredDestination = 'userSettings' | 'localSettings' | 'projectSettings'

const levels = { userSettings: 'user', localSettings: 'local', projectSettings: 'project' } as const

/**
 * Stores what a person allowed in the settings file of its destination. The rest of the file is preserved as written, and after a crash the file is
 * either the old or the new one. In an untrusted folder nothing is stored that would loosen permissions, as it would have no effect.
 */
export function settingsWriter(
  options: SettingsWriterOptions,
): (updates: readonly PermissionUpdate[]) => Promise<void> {
  return async (updates) => {
    for (const destination of ['userSettings', 'localSettings', 'projectSettings'] as const) {
      const own = updates.filter((update) => update.destination === destination)
      if (own.length > 0) await storeIn(destination, own, options)
    }
  }
}

/**
 * Where to store a rule that a person allows with one key: in their local settings of the project. For the session only if those would have no
 * effect, or if there is no project.
 */
export async function suggestionDestination(options: SettingsWriterOptions): Promise<'localSettings' | 'session'> {
  if (!settingsPlaces(options).some(({ level }) => level === 'local')) return 'session'
  const { trusted } = await folderTrust({ ...options, once: options.trustedBy })
  return trusted ? 'localSettings' : 'session'
}

/** A rule in a settings file. */
export interface StoredRule {
  /** Whether it allows, asks or denies. */
  readonly behavior: 'allow' | 'ask' | 'deny'
  /** The rule. */
  readonly rule: string
  /** The settings file. */
  readonly path: string
  /** Whose file it is. */
  readonly level: 'user' | 'local' | 'project'
}

/**
 * Deletes a rule from its settings file. The rest of the file is preserved as written, and after a crash the file is either the old or the new one.
 * @returns Whether the file contained the rule.
 * @throws ConfigurationError for a file that cannot be changed, and for one of a project that is outside of it.
 */
export async function removeStoredRule(
  { behavior, rule, path, level }: StoredRule,
  { cwd }: Pick<SettingsWriterOptions, 'cwd'>,
): Promise<boolean> {
  if (level !== 'user') checkInProject(path, cwd)
  let isRemoved = false
  await changeSettingsFile(path, (text) => {
    const changed = withoutText(text, ['permissions', behavior], rule)
    isRemoved = changed !== text
    return changed
  })
  return isRemoved
}

async function storeIn(
  destination: StoredDestination,
  updates: readonly PermissionUpdate[],
  options: SettingsWriterOptions,
): Promise<void> {
  const path = await fileFor(destination, options)
  const changed = (text: string): string => updates.reduce(withUpdate, text)
  if (destination === 'userSettings') return changeSettingsFile(path, changed)
  await checkProject(destination, path, updates, options)
  // The file is personal and not part of the person's commits.
  if (destination === 'localSettings') await excludeFromGit(path)
  await changeSettingsFile(path, changed)
  await nameOffers(updates, options)
}

/** The existing file at the destination: our own file has precedence over files of other agents. If no file exists, the path of our own. */
async function fileFor(destination: StoredDestination, options: SettingsWriterOptions): Promise<string> {
  const paths = settingsPlaces(options).flatMap(({ level, path }) => (level === levels[destination] ? [path] : []))
  for (const path of paths) if ((await stat(path).catch(() => undefined)) !== undefined) return path
  const [first] = paths
  if (first === undefined)
    throw new ConfigurationError(
      'Your home folder is not a project. Store the permissions in your own settings (userSettings).',
    )
  return first
}

/** @throws ConfigurationError for updates that must not be written, or would have no effect. */
async function checkProject(
  destination: StoredDestination,
  path: string,
  updates: readonly PermissionUpdate[],
  options: SettingsWriterOptions,
): Promise<void> {
  checkInProject(path, options.cwd)
  const tightens = updates.every((update) => update.type === 'addRules' && update.behavior !== 'allow')
  if (destination === 'localSettings' && tightens) return
  const { trusted, folder } = await folderTrust({ ...options, once: options.trustedBy })
  if (trusted) return
  throw new ConfigurationError(
    `${folder} is not trusted, so a rule in its settings would be ignored. Trust it with halting trust, or store the rule in your own settings (userSettings).`,
  )
}

/** @throws ConfigurationError for a link in a repository that would redirect the write. */
export function checkInProject(path: string, cwd: string): void {
  if (!isInside(realPath(path), realPath(cwd)))
    throw new ConfigurationError(`${path} is a link to a file outside the project. Nothing was changed.`)
}

/** Records what a person has just allowed as trusted by name, so that the trust question does not ask again. */
async function nameOffers(updates: readonly PermissionUpdate[], options: SettingsWriterOptions): Promise<void> {
  const updateKeys = new Set(updates.flatMap(offersAddedBy))
  const added = (await projectOffers(options)).filter(({ setting, text }) => updateKeys.has(`${setting} ${text}`))
  if (added.length === 0) return
  const folder = realPath(options.cwd)
  await changeTrust(options, (records) => {
    const record = records.get(folder)
    // A trust record without named offers is not extended.
    if (record?.trusted !== true) return
    records.set(folder, { ...record, offers: [...new Set([...record.offers, ...added.map(({ id }) => id)])] })
  })
}

function offersAddedBy(update: PermissionUpdate): readonly string[] {
  switch (update.type) {
    case 'addRules':
    case 'replaceRules':
      return update.behavior === 'allow' ? ruleTexts(update).map((rule) => `permissions.allow ${rule}`) : []
    case 'addDirectories':
      return update.directories.map((path) => `permissions.additionalDirectories ${path}`)
    case 'setMode':
      return [`permissions.defaultMode ${update.mode}`]
    default:
      return []
  }
}

function withUpdate(text: string, update: PermissionUpdate): string {
  switch (update.type) {
    case 'setMode':
      return withValue(text, ['permissions', 'defaultMode'], update.mode)
    case 'addDirectories':
      return withList(text, 'additionalDirectories', (list) => union(list, update.directories))
    case 'removeDirectories':
      return withList(text, 'additionalDirectories', (list) =>
        list.filter((path) => !isAmong(update.directories, path)),
      )
    case 'addRules':
      return withList(text, update.behavior, (list) => union(list, ruleTexts(update)))
    case 'replaceRules':
      return withList(text, update.behavior, () => ruleTexts(update))
    case 'removeRules':
      return withList(text, update.behavior, (list) => list.filter((rule) => !isAmong(ruleTexts(update), rule)))
  }
}

type Entry = string | number | boolean | null | object

function isAmong(texts: readonly string[], entry: Entry): boolean {
  return texts.some((text) => text === entry)
}

function union(list: readonly Entry[], more: readonly string[]): readonly Entry[] {
  return [...list, ...more.filter((text) => !list.includes(text))]
}

function withList(text: string, name: string, change: (list: readonly Entry[]) => readonly Entry[]): string {
  const content: unknown = text.trim() === '' ? {} : JSON.parse(text.replace(/^\uFEFF/, ''))
  const permissions = isJsonObject(content) ? content['permissions'] : undefined
  if (permissions !== undefined && !isJsonObject(permissions))
    throw new ConfigurationError(
      'permissions in the settings file is not an object. Nothing was changed; fix it first.',
    )
  const found = permissions?.[name]
  if (found !== undefined && !Array.isArray(found))
    throw new ConfigurationError(
      `permissions.${name} in the settings file is not a list. Nothing was changed; fix it first.`,
    )
  // This cast is safe: the entries come from JSON.
  const list = (found ?? []) as readonly Entry[]
  const next = change(list)
  if (next.length === list.length && next.every((entry, index) => entry === list[index])) return text
  return withValue(text, ['permissions', name], next as never)
}
