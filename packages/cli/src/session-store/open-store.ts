import { existsSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigurationError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import type { SessionStore } from '@halting/core/steps'
import { registerWorkingCopies, sessionsOf, sessionStoreSecrets, StoreWorkingCopies } from '@halting/journal'
import { findPackage } from '@halting/agent'
import { whose } from '@halting/agent/session-settings'
import { told } from '../io/figures.ts'
import type { Program, SessionStoreInUse } from '../program.ts'

// Loaded where sessions are in a store, and only there.

/** A store that the program uses. */
export interface OpenedStore {
  readonly copies: StoreWorkingCopies
  /** Ends the connection, and has nobody write to it any more. */
  close(): Promise<void>
}

/** Has the sessions of this process kept in the store. It is connected to when something is first asked of it. */
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

/** The store, for who asks only the store itself. */
export function openWorkingCopies(
  store: SessionStoreInUse,
  program: Pick<Program, 'cwd' | 'env' | 'output'>,
): StoreWorkingCopies {
  return new StoreWorkingCopies({
    base: sessionsOf(whose(program)).base,
    name: store.name,
    connect: () => connect(store, program),
    redact: addressRedactor(store),
    onProblem: (problem) => program.output.err(told(problem)),
  })
}

interface StorePackage {
  readonly name: string
  /** The export that makes the store. */
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

/** @throws ConfigurationError for a folder that is not there, and for a package that is not installed, which says how to install it. */
async function connect({ value, name, from }: SessionStoreInUse, { cwd }: Pick<Program, 'cwd'>): Promise<SessionStore> {
  // The store would make the folder, and a path with a mistake in it would be an empty store.
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
    // The package is ours.
    return (make as (options: unknown) => SessionStore)(wanted.options(value))
  } catch (thrown) {
    throw new ConfigurationError(
      `${wanted.name} ${found.version} in ${dirname(dirname(found.file))} cannot open ${name}: ${messageOf(thrown)}. Update it: ${found.update}`,
    )
  }
}

/** Takes the address and its password out of texts. */
function addressRedactor({ value, name }: SessionStoreInUse): (text: string) => string {
  const secrets = sessionStoreSecrets(value)
  return (text) => secrets.reduce((shown, secret) => shown.replaceAll(secret, '***'), text.replaceAll(value, name))
}
