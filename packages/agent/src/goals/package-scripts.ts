import { dirname, join } from 'node:path'
import type { JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { smallTextAt } from './file-hashes.ts'

type Texts = Readonly<Record<string, string>>

/** Returns the folder of the nearest package.json, in this folder or a parent. */
export function packageAbove(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (smallTextAt(join(at, 'package.json')) !== undefined) return at
    if (dirname(at) === at) return undefined
  }
}

/** The scripts of the package.json of a folder; undefined if it cannot be read. */
export function scriptsOf(folder: string): Texts | undefined {
  return textsOf(packageJson(folder)?.['scripts'])
}

/** The entry files of a package by its package.json: programs and imports. */
export function entriesOf(folder: string): readonly string[] {
  const { main, module, bin } = packageJson(folder) ?? {}
  return Object.values(textsOf({ main, module, ...(isJsonObject(bin) ? bin : { bin }) }) ?? {})
}

function packageJson(folder: string): JsonObject | undefined {
  try {
    const read: unknown = JSON.parse((smallTextAt(join(folder, 'package.json')) ?? '').replace(/^\uFEFF/, ''))
    return isJsonObject(read) ? read : undefined
  } catch {
    return undefined
  }
}

function textsOf(value: unknown): Texts | undefined {
  if (!isJsonObject(value)) return undefined
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
