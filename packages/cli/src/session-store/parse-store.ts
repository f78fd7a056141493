import { resolve } from 'node:path'
import { homeFolder } from '@halting/policy/files'
import { isPostgresAddress, sessionStoreName } from '@halting/journal'
import type { Program, SessionStoreInUse } from '../program.ts'
import { UsageError } from '../usage-error.ts'

/** The home directory; undefined if it is unknown, which code that needs it reports. */
export function homeFolderIfKnown(env: Program['env']): string | undefined {
  try {
    return homeFolder(env)
  } catch {
    return undefined
  }
}

/**
 * Parses the store that a flag, a variable or a setting (`from`) names; undefined for files. The message never repeats
 * the value, which may contain a password.
 * @throws UsageError
 */
export function parseSessionStore(
  given: string,
  from: string,
  { cwd, env }: Pick<Program, 'cwd' | 'env'>,
): SessionStoreInUse | undefined {
  const text = given.trim()
  if (text === 'files') return undefined
  const path = /^sqlite:(.+)$/.exec(text)?.[1]
  if (path !== undefined) {
    const value = `sqlite:${path.startsWith('~/') ? resolve(homeFolder(env), path.slice(2)) : resolve(cwd, path)}`
    return { value, name: value, from }
  }
  if (isPostgresAddress(text)) return { value: text, name: sessionStoreName(text), from }
  throw new UsageError(
    `${from} must be sqlite:PATH, an address such as postgres://user@host/database, or files (the value is not shown: it may contain a password).`,
  )
}
