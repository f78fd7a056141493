import { dirname, isAbsolute, resolve } from 'node:path'
import type { JsonObject } from '@halting/core'
import { absolutePath } from '../files/paths.ts'
import type { AiSdkField, AiSdkModelField, AiSdkPackageField } from './fields.ts'
import type { EffectiveFile, RecordOrigin } from './effective-file.ts'
import type { ReadFile } from './read-files.ts'

/** The folders in which packages of a settings file are searched, before globally installed ones. */
interface PackageFolders {
  /** Folders that contain a `node_modules` folder, in order of the search. */
  readonly folders: readonly string[]
  /** The settings file. */
  readonly from: string
}

/** What settings say about a provider package of the AI SDK. */
export type AiSdkPackage = Omit<AiSdkPackageField, 'folder'> & PackageFolders

/** A model of a provider package, under a name that the person chose. */
export type AiSdkAlias = Omit<AiSdkModelField, 'folder' | 'price'> &
  PackageFolders & {
    /** Its price, as in `modelPrices`. */
    readonly price?: JsonObject
  }

/** The merged setting `aiSdk`: provider packages of the AI SDK that the program may load, and models by name. */
export interface AiSdkSettings {
  /** By alias. */
  readonly models: Readonly<Record<string, AiSdkAlias>>
  /** By package name. */
  readonly packages: Readonly<Record<string, AiSdkPackage>>
  /** Folders for packages that no setting names. */
  readonly folders: readonly string[]
  /** What restricts packages to the ones listed here, in words; absent if any package may be loaded. */
  readonly onlyNamedBy?: string
}

/** Aliases and packages of all files; for each name, the entry with the highest precedence. Undefined if no file has an alias or a package. */
export function mergeAiSdk(effective: readonly EffectiveFile[], recordOrigin: RecordOrigin): AiSdkSettings | undefined {
  const models: Record<string, AiSdkAlias> = {}
  const packages: Record<string, AiSdkPackage> = {}
  const folders: string[] = []
  const onlyNamed = effective.some(({ fields }) => fields.allowManagedProvidersOnly === true)
  for (const { file, fields } of effective) {
    const { aiSdk } = fields
    const own = foldersOf(aiSdk, file)
    if (aiSdk === undefined) continue
    folders.push(...own)
    if (aiSdk.folder !== undefined) recordOrigin('aiSdk.folder', aiSdk.folder, file)
    for (const [name, { folder, ...entry }] of Object.entries(aiSdk.models ?? {})) {
      if (Object.hasOwn(models, name)) continue
      models[name] = { ...entry, folders: folderOf(folder, own, file), from: file.name }
      // Shows only the name of the options, which may contain keys.
      recordOrigin(`aiSdk.models.${name}`, `ai-sdk:${entry.package}/${entry.model}`, file)
    }
    for (const [name, { folder, ...entry }] of Object.entries(aiSdk.packages ?? {})) {
      if (Object.hasOwn(packages, name)) continue
      packages[name] = { ...entry, folders: folderOf(folder, own, file), from: file.name }
      recordOrigin(`aiSdk.packages.${name}`, Object.keys(entry), file)
    }
  }
  if (!onlyNamed && effective.every(({ fields }) => fields.aiSdk === undefined)) return undefined
  return {
    models,
    packages,
    folders: [...new Set(folders)],
    ...(onlyNamed && {
      onlyNamedBy: "the administrator's settings set allowManagedProvidersOnly, and their aiSdk does not list it",
    }),
  }
}

/**
 * The folder that a file names, or else the folder of the file. Values of the command line have no such folder: it could be the working directory.
 */
function foldersOf(aiSdk: AiSdkField | undefined, file: ReadFile): readonly string[] {
  if (aiSdk?.folder !== undefined) return folderOf(aiSdk.folder, [], file)
  return file.level === 'flag' ? [] : [dirname(file.name)]
}

function folderOf(folder: string | undefined, own: readonly string[], file: ReadFile): readonly string[] {
  if (folder === undefined) return own
  if (file.level !== 'flag') return [absolutePath(folder, dirname(file.name))]
  if (isAbsolute(folder) || folder.startsWith('~')) return [absolutePath(folder, '/')]
  // JSON on the command line belongs to no folder.
  return file.name === '--settings' ? [] : [resolve(file.projectDirectory, dirname(file.name), folder)]
}
