import { existsSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigurationError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import type { SessionStore } from '@halting/core/steps'
import { registerWorkingCopies, sessionsOf, sessionStoreSecrets, StoreWorkingCopies } from '@halting/journal'
import { findPackage } from '@halting/agent'
import { sessionScope } from '@halting/agent/session-settings'
import { programMessage } from '../io/figures.ts'
import type { Program, SessionStoreInUse } from '../program.ts'

// Loaded only if sessions are in a store.

/** An open session store. */
export interface OpenedStore {
  readonly copies: StoreWorkingCopies
  /** Closes the connection and stops writing to the store. */
  close(): Promise<void>
}

/** Stores the sessions of this process in the store. Connects on first use. */
export function openSessionStore(
  store: SessionStoreInUse,
  program: Pick<Program, 'cwd' | 'env' | 'output'>,
): OpenedStore {
  const copies = openWorkingCopies(store, program)
  const release = registerWorkingCopies(copies)
  return {
    copies,
    async close() {
      release()
      await copies.close()
    },
  }
}

/** Opens the store without registering it for the sessions of this process. */
export function openWorkingCopies(
  store: SessionStoreInUse,
  program: Pick<Program, 'cwd' | 'env' | 'output'>,
): StoreWorkingCopies {
  return new StoreWorkingCopies({
    base: sessionsOf(sessionScope(program)).base,
    name: store.name,
    connect: () => connect(store, program),
    redact: addressRedactor(store),
    onProblem: (problem) => program.output.err(programMessage(problem)),
  })
}

interface StorePackage {
  readonly name: string
  /** The name of the export that creates the store. */
  readonly make: string
  readonly options: (value: string) => Readonly<Record<string, unknown>>
}

const sqlite: StorePackage = {
  name: '@halting/store-sqlite',
  make: 'sqliteStore',
  options: (value) => ({ path: value.slice('sqlite:'.length) }),
}
const postgres: StorePackage = {
  name: '@halting/store-postgres',
  make: 'postgresStore',
  options: (value) => ({ connectionString: value }),
}

/** @throws ConfigurationError if the folder does not exist, or the package is not installed */
async function connect({ value, name, from }: SessionStoreInUse, { cwd }: Pick<Program, 'cwd'>): Promise<SessionStore> {
  // The store would create the folder, so a mistyped path would become an empty store.
  const folder = value.startsWith('sqlite:') ? dirname(value.slice('sqlite:'.length)) : undefined
  if (folder !== undefined && !existsSync(folder))
    throw new ConfigurationError(
      `The folder of ${name} does not exist (${from} names it). Create it, or correct the path.`,
    )
  const wanted = value.startsWith('sqlite:') ? sqlite : postgres
  const found = findPackage({ name: wanted.name, folders: [], cwd })
  try {
    const exported = (await import(pathToFileURL(realpathSync(found.file)).href)) as Readonly<Record<string, unknown>>
    const make = exported[wanted.make]
    if (typeof make !== 'function') throw new Error(`it has no export ${wanted.make}`)
    // This cast is safe: the package belongs to halting, and its export has this type.
    return (make as (options: unknown) => SessionStore)(wanted.options(value))
  } catch (thrown) {
    throw new ConfigurationError(
      `${wanted.name} ${found.version} in ${dirname(dirname(found.file))} cannot open ${name}: ${messageOf(thrown)}. Update it: ${found.update}`,
    )
  }
}

/** Removes the address and its password from texts. */
function addressRedactor({ value, name }: SessionStoreInUse): (text: string) => string {
  const secrets = sessionStoreSecrets(value)
  return (text) => secrets.reduce((shown, secret) => shown.replaceAll(secret, '***'), text.replaceAll(value, name))
}
